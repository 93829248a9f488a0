"""Who reads a source, and how often: content decides, not the name; what cannot be read is not tried for ever."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from rekal.agents.formats import sqlite
from rekal.app.context import App
from rekal.capture import read_sources
from rekal.git import find_repo
from tests.agents.opencode_store_maker import Store, said
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession, folder_of
from tests.support.conversations import STORES, Conversation, Round


@pytest.fixture(autouse=True)
def _default_places(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name)


def misfiled(home: Path, root: Path, store: str) -> Path:
    """A conversation of one agent's in a place where another's are looked for."""
    STORES[store](
        Conversation(home, root, f"misfiled {store}", [Round("Where am I?", root / "a.py", "a line here\n", "Here.")])
    )
    (file,) = (path for path in home.rglob("*.json*") if "misfiled" in path.read_text("utf-8"))
    if store == "claude":
        target = home / ".codex/sessions/2026/03/02/rollout-2026-03-02T09-00-00-x.jsonl"
    elif file.suffix == ".jsonl":
        target = home / ".claude/projects" / folder_of(root) / "0a0a0a0a-0000-4000-8000-000000000001.jsonl"
    else:
        target = home / ".config/Code/User/workspaceStorage/w/chatSessions/x.json"
        target.parent.mkdir(parents=True)
        target.parents[1].joinpath("workspace.json").write_text(f'{{"folder": "{root.as_uri()}"}}', encoding="utf-8")
    target.parent.mkdir(parents=True, exist_ok=True)
    return file.rename(target)


@pytest.mark.parametrize("store", ["claude", "codex", "copilot cli", "cursor transcript"])
def test_a_misfiled_conversation_is_read_by_whose_it_is(rekal: Rekal, home: Path, store: str) -> None:
    path = misfiled(home, rekal.root, store)
    done = rekal("checkpoint", "--json")
    assert (done.code, done.json["sessions"], done.json["warnings"]) == (0, 1, [])
    agent = store.split()[0]
    sql = "SELECT s.agent, t.content, f.agent FROM sessions s, turns t, source_state f WHERE t.role = 'human'"
    assert rekal("query", "--json", sql).json["rows"] == [[agent, "Where am I?", agent]]
    path.write_bytes(path.read_bytes() + b"\n")
    again = rekal("checkpoint", "--json")
    assert (again.json["sessions"], again.json["warnings"]) == (0, [])


def test_a_file_of_its_own_agent_is_sniffed_by_no_other(rekal: Rekal, home: Path) -> None:
    ClaudeSession(home, rekal.root).human("Hello")
    app = App(find_repo(rekal.root), home, {})
    job = app.job()
    ((adapter, source),) = read_sources.find_changed_sources(job, {})

    class Nosy:
        name = "nosy"

        def sniff(self, head: bytes) -> bool:
            raise AssertionError(head)

    asked = read_sources.Job(job.where, [adapter, Nosy()], job.make_scrubber, job.author)  # type: ignore[list-item]
    (session,) = read_sources.read_source(asked, adapter, source, None).sessions
    assert session.agent == "claude"


def test_what_cannot_be_read_is_tried_once_until_it_changes(rekal: Rekal, home: Path) -> None:
    bad = ClaudeSession(home, rekal.root).path
    bad.write_bytes(bytes(range(0x80, 0xE3)) * 5 + b"gone\n")  # a whole line: one without its end may be going on
    assert len(rekal("checkpoint", "--json").json["warnings"]) == 1
    assert rekal("checkpoint", "--json").json["warnings"] == []
    assert rekal("status", "--json").json["sources"][0]["unreadable"] == 1
    bad.write_bytes(bad.read_bytes() + b"more")
    assert len(rekal("checkpoint", "--json").json["warnings"]) == 1
    ClaudeSession(home, rekal.root).human("Mended now")
    bad.write_bytes(bad.read_bytes()[504:])
    assert rekal("checkpoint", "--json").json["warnings"] == []
    assert rekal("status", "--json").json["sources"][0]["unreadable"] == 0


def test_what_is_locked_is_tried_again(rekal: Rekal, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sqlite, "_COPY_LIMIT", 0)
    monkeypatch.setattr(sqlite, "_BUSY_MS", 1)
    store = Store(home / ".local/share/opencode/opencode.db")
    store.session("ses_1", str(rekal.root))
    store.message("ses_1", "m1", "user", said("Is it locked?"))
    with closing(sqlite3.connect(store.path, isolation_level=None)) as live:
        live.execute("PRAGMA journal_mode=delete")
        live.execute("BEGIN EXCLUSIVE")
        for _ in range(2):
            (warning,) = rekal("checkpoint", "--json").json["warnings"]
            assert "in use" in warning
        live.execute("ROLLBACK")
    done = rekal("checkpoint", "--json").json
    assert (done["turns"], done["warnings"]) == (1, [])
    assert rekal("status", "--json").json["sources"][0]["unreadable"] == 0


def test_what_vanishes_while_it_is_read_leaves_no_trace(rekal: Rekal, home: Path) -> None:
    session = ClaudeSession(home, rekal.root).human("Hello")
    job = App(find_repo(rekal.root), home, {}).job()
    ((adapter, source),) = read_sources.find_changed_sources(job, {})
    session.path.unlink()
    reading = read_sources.read_source(job, adapter, source, None)
    assert (reading.state, reading.sessions) == (None, ())
    assert reading.warning and session.path.name in reading.warning
