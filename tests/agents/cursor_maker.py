"""Cursor's stores in their real shape, made by hand, and what the adapter reads from them."""

from __future__ import annotations

import hashlib
import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from rekal.agents.contract import Parsed, Resume, Source, Where
from rekal.agents.cursor.adapter import ADAPTER
from rekal.model import Transcript

T0 = 1_760_000_000_000
NOWHERE = Where(home=Path("/nowhere"), roots=())


def user_folder(home: Path) -> Path:
    return home / ".config/Cursor/User"


def put(database: Path, table: str, **rows: object) -> None:
    """Put JSON values under keys of ``table`` (``cursorDiskKV`` or ``ItemTable``)."""
    put_all(database, table, rows)


def put_all(database: Path, table: str, rows: dict[str, Any]) -> None:
    database.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(database)) as live, live:
        live.execute("PRAGMA synchronous=off")
        live.execute(f"CREATE TABLE IF NOT EXISTS {table} (key TEXT UNIQUE ON CONFLICT REPLACE, value BLOB)")
        values = [(key, value if isinstance(value, str | bytes) else json.dumps(value)) for key, value in rows.items()]
        live.executemany(f"INSERT INTO {table} VALUES (?, ?)", values)


class Ide:
    """The IDE's global database."""

    def __init__(self, home: Path) -> None:
        self.path = user_folder(home) / "globalStorage/state.vscdb"
        put(self.path, "cursorDiskKV", other="x")
        put_all(self.path, "ItemTable", {"cursorAuth/accessToken": "sentinel"})

    def composer(self, composer: str, *bubbles: dict[str, Any], **head: Any) -> None:
        """Write a composer whose bubbles are ``<composer>-0``, ``<composer>-1``..."""
        order = [{"bubbleId": f"{composer}-{n}", "type": bubble["type"]} for n, bubble in enumerate(bubbles)]
        value = {
            "_v": 10, "composerId": composer, "name": "Tidy the parser", "createdAt": T0, "lastUpdatedAt": T0 + 1,
            "status": "completed", "modelConfig": {"modelName": "default"}, "fullConversationHeadersOnly": order,
        }  # fmt: skip
        rows: dict[str, Any] = {f"composerData:{composer}": value | head}
        for n, bubble in enumerate(bubbles):
            rows[f"bubbleId:{composer}:{composer}-{n}"] = {"_v": 3, "bubbleId": f"{composer}-{n}", **bubble}
        put_all(self.path, "cursorDiskKV", rows)


def human(text: str, folder: str | None = "/w/app", **more: Any) -> dict[str, Any]:
    uris = {"workspaceUris": [f"file://{folder}"]} if folder else {}
    return {"type": 1, "text": text, "createdAt": "2025-10-09T08:53:20.500Z", **uris, **more}


def answer(text: str, **more: Any) -> dict[str, Any]:
    return {"type": 2, "text": text, "createdAt": "2025-10-09T08:53:21.000Z", **more}


def tool(name: str, given: dict[str, Any], status: str = "completed", **more: Any) -> dict[str, Any]:
    data = {"tool": 1, "name": name, "toolCallId": "call_x", "status": status, "rawArgs": json.dumps(given), **more}
    return {"type": 2, "text": "", "capabilityType": 15, "toolFormerData": data}


def line(role: str, *blocks: dict[str, Any] | str) -> bytes:
    """One line of an agent transcript; a string stands for a text block."""
    content = [{"type": "text", "text": block} if isinstance(block, str) else block for block in blocks]
    return json.dumps({"role": role, "message": {"content": content}}).encode() + b"\n"


def use(name: str, **given: Any) -> dict[str, Any]:
    return {"type": "tool_use", "name": name, "input": given}


def transcript_file(home: Path, project: str, name: str, *lines: bytes) -> Path:
    path = home / ".cursor/projects" / project / "agent-transcripts" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(b"".join(lines))
    return path


def chat(home: Path, cwd: str, chat_id: str, messages: list[dict[str, Any]], *, root: bool = True) -> Path:
    """A command-line chat whose root blob lists ``messages`` and names ``cwd`` as its workspace."""
    path = home / ".cursor/chats" / hashlib.md5(cwd.encode()).hexdigest() / chat_id / "store.db"
    path.parent.mkdir(parents=True, exist_ok=True)
    blobs = [json.dumps(message).encode() for message in messages]
    names = [hashlib.sha256(blob) for blob in blobs]
    index = b"".join(b"\x0a\x20" + name.digest() for name in names)
    uri = f"file://{cwd}".encode()
    index += b"\x4a" + bytes([len(uri)]) + uri
    top = hashlib.sha256(index).hexdigest()
    meta = {
        "agentId": chat_id,
        "latestRootBlobId": top,
        "name": "Shell chat",
        "createdAt": T0,
        "lastUsedModel": "model-a",
    }
    rows = [(name.hexdigest(), blob) for name, blob in zip(names, blobs, strict=True)]
    with closing(sqlite3.connect(path)) as live, live:
        live.execute("PRAGMA synchronous=off")
        live.execute("CREATE TABLE IF NOT EXISTS blobs (id TEXT PRIMARY KEY, data BLOB)")
        live.execute("CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT)")
        live.executemany("INSERT OR IGNORE INTO blobs VALUES (?, ?)", [*rows, (top, index)] if root else rows)
        live.execute("INSERT OR REPLACE INTO meta VALUES ('0', ?)", (json.dumps(meta).encode().hex(),))
    return path


def where(home: Path, root: str = "/w/app", **env: str) -> Where:
    return Where(home=home, roots=(Path(root),), env=env)


def sources(home: Path, root: str = "/w/app", **env: str) -> list[Source]:
    return list(ADAPTER.discover(where(home, root, **env)))


def parsed(home: Path, source: Source, resume: Resume | None = None, root: str = "/w/app") -> Parsed:
    return ADAPTER.parse(source, resume, where(home, root))


def only(home: Path) -> Transcript:
    (source,) = sources(home)
    (transcript,) = parsed(home, source).transcripts
    return transcript


def lines(transcript: Transcript) -> list[tuple[str, str]]:
    return [(turn.role, turn.content) for turn in transcript.turns]


def as_source(path: Path) -> Source:
    return Source("cursor", str(path), path, path.stat().st_size, 0)
