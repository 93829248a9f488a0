"""Kiro's four stores in their real shape, made by hand, and what the adapter reads from them."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from rekal.agents.contract import Parsed, Resume, Source, Where
from rekal.agents.kiro.adapter import ADAPTER
from rekal.model import Transcript

T0 = 1_783_571_400_000


def put(path: Path, value: object) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")
    return path


def put_lines(path: Path, *records: object) -> Path:
    return put(path, "".join(json.dumps(record) + "\n" for record in records))


# -- the database


def prompt(words: str, answer: dict[str, Any] | None = None, cwd: str = "/w/app") -> dict[str, Any]:
    return _item({"Prompt": {"prompt": words}}, answer, cwd, "2026-07-09T10:00:16.195641701+05:30")


def results(*found: dict[str, Any], answer: dict[str, Any] | None = None) -> dict[str, Any]:
    return _item({"ToolUseResults": {"tool_use_results": list(found)}}, answer, "/w/app", None)


def _item(content: dict[str, Any], answer: dict[str, Any] | None, cwd: str, when: str | None) -> dict[str, Any]:
    context = {"env_state": {"operating_system": "linux", "current_working_directory": cwd}}
    user = {"content": content, "env_context": context, "timestamp": when, "images": None}
    return {
        "user": user,
        "assistant": answer,
        "request_metadata": {"stream_end_timestamp_ms": T0, "model_id": "auto"},
    }


def response(message_id: str, words: str) -> dict[str, Any]:
    return {"Response": {"message_id": message_id, "content": words}}


def uses(message_id: str, words: str, *tools: tuple[str, str, dict[str, Any]]) -> dict[str, Any]:
    found = [{"id": key, "name": name, "orig_name": name, "args": args} for key, name, args in tools]
    return {"ToolUse": {"message_id": message_id, "content": words, "tool_uses": found}}


def result(key: str, content: object = "done", status: str = "Success") -> dict[str, Any]:
    part = {"Text": content} if isinstance(content, str) else {"Json": content}
    return {"tool_use_id": key, "content": [part], "status": status}


def database(home: Path) -> Path:
    path = home / ".local/share/kiro-cli/data.sqlite3"
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        with closing(sqlite3.connect(path)) as live, live:
            live.executescript(
                "PRAGMA synchronous=off; CREATE TABLE conversations(key TEXT PRIMARY KEY, value TEXT);"
                "CREATE TABLE conversations_v2(key TEXT, conversation_id TEXT, value TEXT, created_at INTEGER,"
                " updated_at INTEGER, PRIMARY KEY(key, conversation_id));"
                "CREATE TABLE auth_kv(key TEXT, value TEXT); INSERT INTO auth_kv VALUES ('token', 'sentinel');"
            )
    return path


def converse(
    home: Path, name: str, history: list[Any] | str, key: str = "/w/app", updated: int = T0, **more: Any
) -> Path:
    """Write one row of ``conversations_v2``."""
    path = database(home)
    value = history if isinstance(history, str) else json.dumps({"conversation_id": name, "history": history} | more)
    with closing(sqlite3.connect(path)) as live, live:
        live.execute("PRAGMA synchronous=off")
        live.execute("INSERT OR REPLACE INTO conversations_v2 VALUES (?, ?, ?, ?, ?)", (key, name, value, T0, updated))
    return path


# -- flat logs


def flat(kind: str, message_id: str, *content: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"version": "v1", "kind": kind, "data": {"message_id": message_id, "content": list(content)} | more}


def words(said: str) -> dict[str, Any]:
    return {"kind": "text", "data": said}


def flat_use(key: str, name: str, **given: Any) -> dict[str, Any]:
    return {"kind": "toolUse", "data": {"toolUseId": key, "name": name, "input": given}}


def flat_result(key: str, said: str, status: str = "success") -> dict[str, Any]:
    return {
        "kind": "toolResult",
        "data": {"toolUseId": key, "content": [{"kind": "text", "data": said}], "status": status},
    }


def flat_session(home: Path, name: str, *records: object, cwd: str = "/w/app", **more: Any) -> Path:
    meta = {"session_id": name, "cwd": cwd, "title": "Tidy up", "created_at": "2026-07-09T10:01:00.000000000Z"} | more
    folder = home / ".kiro/sessions/cli"
    put(folder / f"{name}.json", meta)
    return put_lines(folder / f"{name}.jsonl", *records)


# -- shared logs


def event(message_id: str, name: str, second: int = 1, **payload: Any) -> dict[str, Any]:
    stamp = f"2026-09-03T10:00:{second:02d}.000Z"
    return {"id": message_id, "timestamp": stamp, "payload": {"type": name, **payload}}


def shared_session(home: Path, name: str, *records: object, cwd: str = "/w/app", **more: Any) -> Path:
    folder = home / ".kiro/sessions" / hashlib.sha256(cwd.encode()).hexdigest()[:16] / name
    meta = {"id": name, "title": "Add probes", "modelId": "auto", "workspacePaths": [cwd], "rootPaths": [cwd]}
    put(folder / "session.json", meta | {"createdAt": "2026-09-03T10:00:00.000Z"} | more)
    return put_lines(folder / "messages.jsonl", *records)


# -- the IDE before 1.0


def ide_folder(home: Path) -> Path:
    return home / ".config/Kiro/User/globalStorage/kiro.kiroagent"


def ide_session(home: Path, name: str, *history: object, cwd: str = "/w/app") -> Path:
    folder = ide_folder(home) / "workspace-sessions" / cwd.strip("/").replace("/", "_")
    entry = {
        "sessionId": name,
        "title": "Fix login",
        "dateCreated": str(T0),
        "workspaceDirectory": cwd,
        "hidden": False,
    }
    index = folder / "sessions.json"
    known = json.loads(index.read_text()) if index.is_file() else []
    put(index, [*[other for other in known if other["sessionId"] != name], entry])
    value = {"history": list(history), "title": "Fix login", "workspacePath": cwd, "sessionId": name}
    return put(folder / f"{name}.json", value)


def said(role: str, text: str, message_id: str, execution: str | None = None) -> dict[str, Any]:
    content: object = [{"type": "text", "text": text}] if role == "user" else text
    item: dict[str, Any] = {"message": {"role": role, "content": content, "id": message_id}}
    return item | ({"executionId": execution} if execution else {})


def execution(
    home: Path, name: str, *actions: dict[str, Any], status: str = "succeed", cwd: str = "/w/app", start: int = T0
) -> Path:
    folder = ide_folder(home) / hashlib.sha256(cwd.encode()).hexdigest()[:32] / "414d1636299d2b9e4ce7e17fb11f63e9"
    value = {"executionId": name, "chatSessionId": "s1", "status": status, "startTime": start, "actions": list(actions)}
    return put(folder / f"file-{name}", value)


def action(
    key: str, kind: str, state: str = "Success", given: dict[str, Any] | None = None, **output: Any
) -> dict[str, Any]:
    return {"actionId": key, "actionType": kind, "actionState": state, "input": given or {}, "output": output}


# -- the adapter


def where(home: Path, root: str = "/w/app", **env: str) -> Where:
    return Where(home=home, roots=(Path(root),), env=env)


def sources(home: Path, root: str = "/w/app", **env: str) -> list[Source]:
    return list(ADAPTER.discover(where(home, root, **env)))


def parsed(home: Path, source: Source, resume: Resume | None = None) -> Parsed:
    return ADAPTER.parse(source, resume, where(home))


def only(home: Path) -> Transcript:
    (source,) = sources(home)
    (transcript,) = parsed(home, source).transcripts
    return transcript


def lines(transcript: Transcript) -> list[tuple[str, str]]:
    return [(turn.role, turn.content) for turn in transcript.turns]


def as_source(path: Path) -> Source:
    return Source("kiro", str(path), path, path.stat().st_size, 0)
