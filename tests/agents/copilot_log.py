"""Hand-written Copilot events and chat requests in the real shape."""

from __future__ import annotations

from itertools import count
from typing import Any

Json = dict[str, Any]

SESSION = "5b6c0000-0000-4000-8000-000000000001"
T0 = 1_770_000_000_000
_IDS = count(1)


def event(kind: str, agent: str | None = None, **data: Any) -> Json:
    """One event; each has an id of its own and is a second younger than the one before."""
    place = next(_IDS)
    stamp = f"2026-05-01T{10 + place // 3600 % 12:02d}:{place // 60 % 60:02d}:{place % 60:02d}.000Z"
    own = {"agentId": agent} if agent is not None else {}
    return {"type": kind, "data": data, "id": f"ev-{place}", "timestamp": stamp, "parentId": None, **own}


def start(cwd: str = "/w/app", **more: Any) -> Json:
    return event(
        "session.start",
        sessionId=SESSION,
        version=1,
        producer="copilot-agent",
        copilotVersion="1.0.74",
        startTime="2026-05-01T10:00:00.000Z",
        selectedModel="model-a",
        context={"cwd": cwd, "gitRoot": cwd, "branch": "main", "repository": "owner/app"},
        **more,
    )


def user(content: str, agent: str | None = None, **more: Any) -> Json:
    return event("user.message", agent, content=content, transformedContent=f"<now>{content}", attachments=[], **more)


def says(content: str, *requests: Json, agent: str | None = None) -> Json:
    return event("assistant.message", agent, content=content, model="model-b", toolRequests=list(requests))


def request(key: str, name: str, arguments: Any) -> Json:
    return {"toolCallId": key, "name": name, "arguments": arguments, "type": "function"}


def runs(key: str, name: str, arguments: Any, agent: str | None = None) -> Json:
    return event("tool.execution_start", agent, toolCallId=key, toolName=name, arguments=arguments)


def ran(key: str, content: str = "done", agent: str | None = None) -> Json:
    result = {"content": content, "detailedContent": content}
    return event("tool.execution_complete", agent, toolCallId=key, success=True, result=result)


def failed(key: str, message: str) -> Json:
    return event(
        "tool.execution_complete", toolCallId=key, success=False, error={"message": message, "code": "failure"}
    )


def file_uri(path: str) -> Json:
    return {"$mid": 1, "fsPath": path, "path": path, "scheme": "file"}


def asked(key: str, prompt: str, *response: Json, rounds: list[Json] | None = None, **more: Any) -> Json:
    """One request of a chat session, answered unless ``result`` says otherwise."""
    results: Json = {made["id"]: {"content": []} for turn in rounds or [] for made in turn["toolCalls"]}
    metadata = {"toolCallRounds": rounds or [], "toolCallResults": results}
    return {
        "requestId": f"request_{key}",
        "responseId": f"response_{key}",
        "timestamp": T0 + 1000,
        "message": {"text": prompt, "parts": [{"kind": "text", "text": prompt}]},
        "variableData": {"variables": []},
        "response": list(response),
        "modelId": "copilot/model-a",
        "result": {"metadata": metadata, "timings": {}},
        **more,
    }


def turn(*calls: Json) -> Json:
    return {"id": "round", "response": "", "toolCalls": list(calls)}


def made(key: str, name: str, arguments: str) -> Json:
    return {"id": key, "name": name, "arguments": arguments}


def state(*requests: Json, **more: Any) -> Json:
    return {
        "version": 3,
        "sessionId": SESSION,
        "creationDate": T0,
        "customTitle": "Tidy up",
        "requests": list(requests),
        "inputState": {"inputText": "an unsent draft"},
        **more,
    }
