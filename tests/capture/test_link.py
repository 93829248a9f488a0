"""Which turns led to which commit, with real git and transcripts in the real shape."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from tests.conftest import git
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession

START = datetime(2026, 3, 2, 9, tzinfo=UTC)


def commit(root: Path, when: datetime, message: str, *extra: str) -> str:
    """Commit everything at a given time. The hook leaves its event; the test runs the worker itself."""
    stamp = when.strftime("%Y-%m-%dT%H:%M:%S+00:00")
    os.environ.update(GIT_COMMITTER_DATE=stamp, GIT_AUTHOR_DATE=stamp)
    try:
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", message, *extra)
    finally:
        del os.environ["GIT_COMMITTER_DATE"], os.environ["GIT_AUTHOR_DATE"]
    return git(root, "rev-parse", "HEAD").strip()


def work(root: Path, name: str, text: str) -> Path:
    path = root / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def links(rekal: Rekal) -> dict[str, list[tuple[str, int, int, str]]]:
    """Commit subject -> (native id, first, last, evidence)."""
    sql = """SELECT c.subject, s.native_id, k.first_seq, k.last_seq, k.evidence FROM checkpoints c
             JOIN checkpoint_sessions k ON k.checkpoint_id = c.id JOIN sessions s ON s.id = k.session_id
             ORDER BY ALL"""
    out: dict[str, list[Any]] = {}
    for subject, *rest in rekal("query", "--json", sql).json["rows"]:
        out.setdefault(subject, []).append(tuple(rest))
    return out


def test_two_sessions_at_once_are_told_apart_by_their_files(rekal: Rekal, home: Path) -> None:
    root = rekal.root
    one = ClaudeSession(home, root, "one", start=START)
    two = ClaudeSession(home, root, "two", start=START)
    one.human("Make the queue durable").edits(work(root, "queue.py", "durable\n"), "durable line of code")
    two.human("Colour the log").edits(work(root, "log.py", "colour\n"), "colour line of code")
    (root / "log.py").rename(root.parent / "log.py")
    commit(root, START + timedelta(minutes=5), "queue")
    (root.parent / "log.py").rename(root / "log.py")
    commit(root, START + timedelta(minutes=6), "log")
    assert rekal("_worker").code == 0
    found = links(rekal)
    assert [r[0] for r in found["queue"]] == [one.session_id]
    assert [r[0] for r in found["log"]] == [two.session_id]
    assert {r[3] for rows in found.values() for r in rows} == {"edited"}


def test_an_edit_that_waits_for_its_commit_is_linked_to_it_later(rekal: Rekal, home: Path) -> None:
    root = rekal.root
    s = ClaudeSession(home, root, "one", start=START)
    s.human("Change both").edits(work(root, "a.py", "alpha\n"), "alpha line here").edits(
        work(root, "b.py", "beta\n"), "beta line here"
    )
    (root / "b.py").rename(root.parent / "b.py")
    commit(root, START + timedelta(minutes=5), "a")
    rekal("_worker")
    (root.parent / "b.py").rename(root / "b.py")
    s.human("Now commit b as well")
    commit(root, START + timedelta(minutes=9), "b")
    rekal("_worker")
    found = links(rekal)
    assert [r[0] for r in found["a"]] == [r[0] for r in found["b"]] == [s.session_id]


def test_edits_by_shell_go_to_the_one_active_session(rekal: Rekal, home: Path) -> None:
    root = rekal.root
    s = ClaudeSession(home, root, "one", start=START).human("Rename it with sed").runs("sed -i s/a/b/ a.py")
    work(root, "a.py", "b\n")
    commit(root, START + timedelta(minutes=5), "sed")
    rekal("_worker")
    assert [(r[0], r[3]) for r in links(rekal)["sed"]] == [(s.session_id, "active")]


def test_two_active_sessions_without_edits_are_ambiguous_and_said_to_be(rekal: Rekal, home: Path) -> None:
    root = rekal.root
    for name in ("one", "two"):
        ClaudeSession(home, root, name, start=START).human("Work").runs("make")
    work(root, "a.py", "b\n")
    commit(root, START + timedelta(minutes=5), "unclear")
    rekal("_worker")
    assert links(rekal) == {}
    reasons = rekal("status", "--json").json["coverage"]["reasons"]
    assert any("several sessions" in reason for reason in reasons)


def test_turns_after_the_commit_are_not_part_of_it(rekal: Rekal, home: Path) -> None:
    root = rekal.root
    s = ClaudeSession(home, root, "one", start=START)
    s.human("Make it durable").edits(work(root, "queue.py", "durable\n"), "durable line of code")
    commit(root, START + timedelta(minutes=5), "queue")
    s.now = START + timedelta(minutes=30)
    s.human("Something else entirely")
    rekal("_worker")
    rows = links(rekal)["queue"]
    turns = rekal("query", "--json", "SELECT seq, content FROM turns ORDER BY seq").json["rows"]
    last = rows[0][2]
    assert "Something else entirely" in [content for seq, content in turns if seq > last]


def test_a_subagents_edit_counts_for_its_parent(rekal: Rekal, home: Path) -> None:
    root = rekal.root
    parent = ClaudeSession(home, root, "parent", start=START).human("Have a helper write it")
    child = ClaudeSession(home, root, "child", start=START)
    child.human("Write queue.py").edits(work(root, "queue.py", "durable\n"), "durable line of code")
    folder = parent.path.with_suffix("") / "subagents"
    folder.mkdir(parents=True)
    lines = child.path.read_text("utf-8").replace(child.session_id, parent.session_id)
    lines = lines.replace('"isSidechain":false', '"isSidechain":true,"agentId":"a1b2c3"')
    (folder / "agent-a1b2c3.jsonl").write_text(lines, encoding="utf-8")
    child.path.unlink()
    commit(root, START + timedelta(minutes=5), "queue")
    rekal("_worker")
    found = [r[0] for r in links(rekal)["queue"]]
    assert len(found) == 2
    assert parent.session_id in found


def test_an_amended_commit_keeps_its_sessions(rekal: Rekal, home: Path) -> None:
    root = rekal.root
    s = ClaudeSession(home, root, "one", start=START)
    s.human("Make it durable").edits(work(root, "queue.py", "durable\n"), "durable line of code")
    old = commit(root, START + timedelta(minutes=5), "queue")
    rekal("_worker")
    new = commit(root, START + timedelta(minutes=7), "queue, said better", "--amend")
    rekal("_worker")
    assert old != new
    assert [r[0] for r in links(rekal)["queue, said better"]] == [s.session_id]
    log = rekal("log").out
    assert new[:10] in log
    assert old[:10] not in log
    assert rekal("status", "--json").json["coverage"]["unlinked"] == 0


def test_back_fill_links_past_commits_by_files_and_time(rekal: Rekal, home: Path) -> None:
    root = rekal.root
    s = ClaudeSession(home, root, "one", start=START)
    s.human("Make it durable").edits(work(root, "queue.py", "durable\n"), "durable line of code")
    commit(root, START + timedelta(minutes=5), "queue")
    for event in rekal.layout.spool.glob("*.json"):
        event.unlink()  # as if rekal had been installed later
    done = rekal("checkpoint", "--all", "--json")
    assert done.code == 0, done.err
    assert [(r[0], r[3]) for r in links(rekal)["queue"]] == [(s.session_id, "backfill")]
    again = rekal("checkpoint", "--all", "--json").json
    assert (again["sessions"], again["turns"]) == (0, 0)
