"""Hand-written Gemini CLI chats in the real shape."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

Json = dict[str, Any]
SESSION = "c0ffee00-0000-4000-8000-000000000001"
META: Json = {"sessionId": SESSION, "projectHash": "h", "startTime": "2026-05-01T10:00:00.000Z", "kind": "main"}


def message(key: str, kind: str, content: Any, **more: Any) -> Json:
    return {"id": key, "timestamp": "2026-05-01T10:00:01.000Z", "type": kind, "content": content, **more}


def user(key: str, words: str, **more: Any) -> Json:
    return message(key, "user", [{"text": words}], **more)


def model(key: str, words: str, *calls: Json) -> Json:
    return message(key, "gemini", words, model="model-a", thoughts=[], **({"toolCalls": list(calls)} if calls else {}))


def call(key: str, name: str, args: Json, status: str | None = "success", output: str | None = "fine") -> Json:
    made: Json = {"id": key, "name": name, "args": args, "timestamp": "2026-05-01T10:00:02.000Z"}
    if status is not None:
        kind = "error" if status == "error" else "output"
        made["status"] = status
        made["result"] = [{"functionResponse": {"id": key, "name": name, "response": {kind: output}}}]
    return made


def document(*messages: Json, **more: Any) -> Json:
    return {**META, "lastUpdated": "2026-05-01T10:09:00.000Z", "messages": list(messages), **more}


def write(path: Path, value: Json) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(value, indent=2), encoding="utf-8")
    return path
