"""Stores in OpenCode's shape, made by hand, and what its adapter reads from them."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from rekal.agents.contract import Parsed, Source, Where
from rekal.agents.opencode.adapter import ADAPTER
from rekal.model import Transcript

T0 = 1_760_000_000_000

SCHEMA = """
CREATE TABLE IF NOT EXISTS project (id text PRIMARY KEY, worktree text NOT NULL);
CREATE TABLE IF NOT EXISTS session (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, slug text,
  directory text NOT NULL, title text NOT NULL, version text, revert text,
  time_created integer NOT NULL, time_updated integer NOT NULL);
CREATE TABLE IF NOT EXISTS message (id text PRIMARY KEY, session_id text NOT NULL, time_created integer NOT NULL,
  time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE IF NOT EXISTS part (id text PRIMARY KEY, message_id text NOT NULL, session_id text NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
CREATE TABLE IF NOT EXISTS account (id text PRIMARY KEY, refresh_token text);
"""


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": text, **more}


def tool(name: str, call: str, given: dict[str, Any], status: str = "completed", **state: Any) -> dict[str, Any]:
    return {"type": "tool", "tool": name, "callID": call, "state": {"status": status, "input": given, **state}}


class Store:
    """A database in OpenCode's shape, written to the way OpenCode writes."""

    def __init__(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self.path = path
        self.clock = T0
        with closing(sqlite3.connect(path)) as live, live:
            live.executescript("PRAGMA journal_mode=wal;" + SCHEMA)
            live.execute("INSERT OR IGNORE INTO project VALUES ('p1', '/w/app')")

    def run(self, sql: str, *values: object) -> None:
        with closing(sqlite3.connect(self.path)) as live, live:
            live.execute("PRAGMA synchronous=off")
            live.execute(sql, values)

    def session(
        self, sid: str, directory: str = "/w/app", title: str = "Tidy the parser", parent: str | None = None
    ) -> None:
        row = (sid, "p1", parent, "slug", directory, title, "1.2.0", None, self.clock, self.clock)
        self.run("INSERT INTO session VALUES (?,?,?,?,?,?,?,?,?,?)", *row)

    def message(self, sid: str, mid: str, role: str, *parts: dict[str, Any], **info: Any) -> None:
        self.clock += 1000
        head: dict[str, Any] = {"role": role, "time": {"created": self.clock}}
        if role == "assistant":
            head |= {"modelID": "model-a", "providerID": "lab", "path": {"cwd": "/w/app", "root": "/w/app"}}
            head["time"]["completed"] = self.clock + 500
        head |= info
        self.run("INSERT INTO message VALUES (?,?,?,?,?)", mid, sid, self.clock, self.clock, json.dumps(head))
        for n, part in enumerate(parts):
            data = json.dumps(part)
            self.run(
                "INSERT INTO part VALUES (?,?,?,?,?,?)", f"{mid}-{n}", mid, sid, self.clock + n, self.clock + n, data
            )


def where(tmp_path: Path, root: str = "/w/app", **env: str) -> Where:
    return Where(home=tmp_path / "home", roots=(Path(root),), env=env)


def sources(tmp_path: Path, root: str = "/w/app", **env: str) -> list[Source]:
    return list(ADAPTER.discover(where(tmp_path, root, **env)))


def parsed(source: Source) -> Parsed:
    return ADAPTER.parse(source, None, Where(home=Path("/nowhere"), roots=()))


def only(tmp_path: Path, root: str = "/w/app") -> Transcript:
    (source,) = sources(tmp_path, root)
    (transcript,) = parsed(source).transcripts
    return transcript


def lines(transcript: Transcript) -> list[tuple[str, str]]:
    return [(turn.role, turn.content) for turn in transcript.turns]


def tree_session(data: Path, sid: str, directory: str = "/w/app", text: str = "from the tree") -> Path:
    def put(path: Path, value: object) -> Path:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(value), encoding="utf-8")
        return path

    storage = data / "storage"
    user = {"id": f"{sid}_m1", "sessionID": sid, "role": "user", "time": {"created": T0 + 1}}
    answer = {
        "id": f"{sid}_m2",
        "sessionID": sid,
        "role": "assistant",
        "time": {"created": T0 + 2, "completed": T0 + 3},
    }
    put(storage / "message" / sid / f"{sid}_m1.json", user)
    put(storage / "message" / sid / f"{sid}_m2.json", answer)
    put(storage / "part" / f"{sid}_m1" / "prt_1.json", {"id": "prt_1", "messageID": f"{sid}_m1", **said(text)})
    put(storage / "part" / f"{sid}_m2" / "prt_2.json", {"id": "prt_2", "messageID": f"{sid}_m2", **said("Read.")})
    info = {
        "id": sid,
        "projectID": "p1",
        "directory": directory,
        "title": "Tree",
        "time": {"created": T0, "updated": T0},
    }
    return put(storage / "session" / "p1" / f"{sid}.json", info)


def export(path: Path) -> Path:
    info = {"id": "ses_e", "directory": "/w/app", "title": "Exported", "time": {"created": T0}, "projectID": "p1"}
    question = {"info": {"id": "m1", "role": "user", "time": {"created": T0 + 1}}, "parts": [said("exported")]}
    head = {"id": "m2", "role": "assistant", "time": {"created": T0 + 2, "completed": T0 + 3}, "modelID": "model-a"}
    answer = {"info": head, "parts": [said("Yes."), tool("bash", "c1", {"command": "ls"}, output="a")]}
    path.write_text(json.dumps({"info": info, "messages": [question, answer]}, indent=2), encoding="utf-8")
    return path


def as_source(path: Path) -> Source:
    stat = path.stat()
    return Source("opencode", str(path), path, stat.st_size, 0)
