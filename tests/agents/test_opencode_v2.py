"""Databases of OpenCode 2: new tables, alone or beside those of version 1."""

from __future__ import annotations

import json
import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from rekal.agents.contract import Where
from rekal.agents.opencode.adapter import ADAPTER
from rekal.model import Transcript
from tests.agents.opencode_store_maker import T0, Store, said

SCHEMA = """
CREATE TABLE session_v2 (id text PRIMARY KEY, project_id text NOT NULL, parent_id text, fork_session_id text,
  slug text NOT NULL, directory text NOT NULL, title text, version text NOT NULL, revert text, agent text,
  time_created integer NOT NULL, time_updated integer NOT NULL);
CREATE TABLE session_message (id text PRIMARY KEY, session_id text NOT NULL, type text NOT NULL, seq integer NOT NULL,
  time_created integer NOT NULL, time_updated integer NOT NULL, data text NOT NULL);
"""
MESSAGES: list[tuple[str, dict[str, Any]]] = [
    ("user", {"text": "why is the cache write-through", "time": {"created": T0}}),
    (
        "assistant",
        {
            "agent": "build",
            "model": {"id": "m", "providerID": "p"},
            "time": {"created": T0 + 1, "completed": T0 + 5},
            "content": [
                {"type": "text", "text": "making it write-through"},
                {
                    "type": "tool",
                    "id": "call_1",
                    "name": "write",
                    "state": {
                        "status": "completed",
                        "input": {"filePath": "/w/app/cache.py", "content": "cache = 1\n"},
                        "content": [{"type": "text", "text": "Wrote file"}],
                    },
                },
                {"type": "text", "text": "because readers crash on stale pages"},
            ],
        },
    ),
]


def upgrade(path: Path, *messages: tuple[str, dict[str, Any]]) -> None:
    """Add the tables of version 2 with one session."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with closing(sqlite3.connect(path)) as live, live:
        live.executescript(SCHEMA)
        live.execute(
            "INSERT INTO session_v2 VALUES (?,?,NULL,NULL,?,?,?,?,NULL,NULL,?,?)",
            ("ses_new", "p1", "s2", "/w/app", "The cache", "2.0.12", T0, T0),
        )
        for seq, (kind, data) in enumerate(messages):
            row = (f"msg_{seq}", "ses_new", kind, seq, T0 + seq, T0 + seq, json.dumps(data))
            live.execute("INSERT INTO session_message VALUES (?,?,?,?,?,?,?)", row)


def read_all(home: Path) -> dict[str, Transcript]:
    where = Where(home=home, roots=(Path("/w/app"),))
    found = [ADAPTER.parse(source, None, where) for source in ADAPTER.discover(where)]
    return {one.native_id: one for parsed in found for one in parsed.transcripts}


@pytest.fixture
def database(tmp_path: Path) -> Path:
    return tmp_path / ".local/share/opencode/opencode.db"


def test_a_database_of_version_2_alone(tmp_path: Path, database: Path) -> None:
    upgrade(database, *MESSAGES)
    found = read_all(tmp_path)["ses_new"]
    assert [(turn.role, turn.content) for turn in found.turns] == [
        ("human", "why is the cache write-through"),
        ("assistant", "making it write-through"),
        ("assistant", "because readers crash on stale pages"),
    ]
    (call,) = found.calls
    assert (call.tool, call.path, call.outcome, call.wrote) == ("write", "/w/app/cache.py", "ok", ("cache = 1",))
    assert (found.title, found.model, found.cwds) == ("The cache", "m", ("/w/app",))


def test_an_upgraded_database_gives_the_sessions_of_both(tmp_path: Path, database: Path) -> None:
    old = Store(database)
    old.session("ses_old")
    old.message("ses_old", "m1", "user", said("an older question"))
    upgrade(database, *MESSAGES)
    assert set(read_all(tmp_path)) == {"ses_old", "ses_new"}


def test_a_new_message_moves_the_revision(tmp_path: Path, database: Path) -> None:
    upgrade(database, MESSAGES[0])
    where = Where(home=tmp_path, roots=(Path("/w/app"),))
    (before,) = ADAPTER.discover(where)
    with closing(sqlite3.connect(database)) as live, live:
        row = ("msg_9", "ses_new", "assistant", 9, T0 + 9, T0 + 9, json.dumps(MESSAGES[1][1]))
        live.execute("INSERT INTO session_message VALUES (?,?,?,?,?,?,?)", row)
    (after,) = ADAPTER.discover(where)
    assert (before.size, before.mtime_ns) != (after.size, after.mtime_ns)


def test_a_kind_of_message_that_is_not_known_is_counted(tmp_path: Path, database: Path) -> None:
    upgrade(database, *MESSAGES, ("oracle", {"text": "hm"}))
    where = Where(home=tmp_path, roots=(Path("/w/app"),))
    (source,) = ADAPTER.discover(where)
    assert dict(ADAPTER.parse(source, None, where).drift) == {"role oracle": 1}
