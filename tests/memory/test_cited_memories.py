"""Decisions beside what they rest on: in why, in report and in log."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.conftest import git
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession


def _story(rekal: Rekal, home: Path) -> tuple[str, str]:
    """A session that wrote a file, its commit; the session's id and the commit."""
    session = ClaudeSession(home, rekal.root, "one", start=datetime.now(UTC), step=timedelta(milliseconds=1))
    session.human("Make the queue durable in Postgres")
    (rekal.root / "queue.py").write_text("durable = 'postgres queue'\n", encoding="utf-8")
    session.writes(rekal.root / "queue.py", "durable = 'postgres queue'\n", text="One backup covers it.")
    git(rekal.root, "add", "-A")
    git(rekal.root, "commit", "-q", "-m", "queue")
    assert rekal("_worker").code == 0
    (row,) = rekal("query", "--json", "SELECT id FROM sessions").json["rows"]
    return row[0], git(rekal.root, "rev-parse", "HEAD").strip()


def test_a_decision_stands_beside_the_turn_that_it_cites(rekal: Rekal, home: Path) -> None:
    session, commit = _story(rekal, home)
    before = [rekal(*words).out for words in (("why", "queue.py:1"), ("report", "HEAD~1..HEAD"), ("log", "--json"))]
    assert not any("DECIDED" in out or '"memories"' in out for out in before)
    rekal("decide", "jobs live in Postgres", "--because", "one backup", "--from", f"{session}#0")
    rekal("remember", "a note that is no decision", "--from", f"{session}#0")
    assert rekal("decide", "from nowhere", "--from", "nothing:3").err.count("names no session, commit or file") == 1
    for words in (("why", "queue.py:1"), ("why", commit), ("report", "HEAD~1..HEAD"), ("log",)):
        assert rekal(*words).out.count("DECIDED") == 1, words
    why = rekal("why", "queue.py:1", "--json").json
    assert [(m["label"], m["text"], m["source"]) for m in why["memories"]] == [
        ("DECIDED", "jobs live in Postgres", f"{session}#0")
    ]


def test_words_of_a_memory_bring_no_markdown_into_a_report(rekal: Rekal, home: Path) -> None:
    session, _ = _story(rekal, home)
    rekal("decide", "see [this](http://evil.example) @everyone", "--from", session)
    shown = rekal("report", "HEAD~1..HEAD", "--format", "markdown").out
    assert "[this](" not in shown
    assert "\\[this\\]" in shown


def test_an_agents_memory_cites_its_session(rekal: Rekal, home: Path, monkeypatch: object) -> None:
    import os

    session, _ = _story(rekal, home)
    native = rekal("query", "--json", "SELECT native_id FROM sessions").json["rows"][0][0]
    os.environ["CLAUDE_CODE_SESSION_ID"] = native
    try:
        made = rekal("decide", "retries are durable in Postgres", "--json").json["memory"]
    finally:
        del os.environ["CLAUDE_CODE_SESSION_ID"]
    assert (made["source"], made["actor_type"]) == (session, "agent")
    assert f"[{session}:1]" in rekal("recall", "where are retries durable in Postgres").out


def test_a_session_that_no_capture_has_seen_is_cited_by_its_transcript(
    rekal: Rekal, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    _story(rekal, home)
    monkeypatch.setenv("CLAUDECODE", "1")  # a host that does not name its session
    talk = ClaudeSession(home, rekal.root, "new", start=datetime.now(UTC))
    talk.human("Where do retries live?").says("In Postgres.")
    made = rekal("remember", "retries are durable", "--json").json["memory"]
    named = rekal("remember", "retries are slow", "--from", f"{made['source'][:10]}:1", "--json").json["memory"]
    monkeypatch.setenv("CLAUDE_CODE_SESSION_ID", talk.session_id)
    by_host = rekal("remember", "retries are fair", "--from", f"{talk.session_id}:0", "--json").json["memory"]
    monkeypatch.delenv("CLAUDECODE")
    monkeypatch.delenv("CLAUDE_CODE_SESSION_ID")
    rekal("checkpoint", "--json")
    captured = rekal("query", "--json", f"SELECT id FROM sessions WHERE native_id = '{talk.session_id}'").json["rows"][
        0
    ][0]
    assert [made["source"], named["source"], by_host["source"]] == [captured, f"{captured}#1", f"{captured}#0"]


def test_an_agent_without_a_transcript_here_cites_nothing(
    rekal: Rekal, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    ClaudeSession(home, home / "elsewhere", "other", start=datetime.now(UTC)).human("Something else").says("Yes.")
    monkeypatch.setenv("CLAUDECODE", "1")
    assert "source" not in rekal("remember", "retries are durable", "--json").json["memory"]


def test_evidence_is_named_by_the_first_characters_of_an_id(rekal: Rekal, home: Path) -> None:
    session, commit = _story(rekal, home)
    for given, kept in (
        (f"{session[:10]}:0", f"{session}#0"),
        (session[:12], session),
        (commit[:9], commit),
        ("queue.py", "queue.py"),
    ):
        made = rekal("remember", f"rests on {given}", "--from", given, "--json").json["memory"]
        assert made["source"] == kept
