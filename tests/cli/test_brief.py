"""The hand-over says what was done, decided and left open on a branch, and how to go on."""

from __future__ import annotations

from tests.conftest import git
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession


def work(rekal: Rekal, name: str, branch: str, ask: str, answer: str) -> ClaudeSession:
    session = ClaudeSession(rekal.home, rekal.root, name, branch=branch)
    session.human(ask).says("Looking around first.").says(answer)
    return session


def test_a_brief_has_the_last_sessions_of_the_branch(rekal: Rekal) -> None:
    work(rekal, "one", "main", "Make the queue durable. It loses jobs.", "It is in Postgres now. More words follow.")
    work(rekal, "two", "spike", "Try the other parser.", "The other parser is slower.")
    rekal("checkpoint")
    brief = rekal("brief", "--json").json
    assert [(s["asked"], s["came_to"], s["uncommitted"]) for s in brief["did"]] == [
        ("Make the queue durable.", "It is in Postgres now.", True)
    ]
    assert any("went on after its last commit" in sentence for sentence in brief["open"])
    git(rekal.root, "checkout", "-q", "-b", "spike")
    assert [s["asked"] for s in rekal("brief", "--json").json["did"]] == ["Try the other parser."]
    git(rekal.root, "checkout", "-q", "-b", "new")
    assert len(rekal("brief", "--json").json["did"]) == 2  # a branch without a session shows all


def test_a_brief_has_what_was_decided_here_and_what_waits(rekal: Rekal) -> None:
    assert rekal("remember", "Jobs live in Postgres.", "--type", "decision").code == 0
    assert rekal("rule-out", "Redis", "--because", "one more service", "--branch", "spike").code == 0
    brief = rekal("brief", "--json").json
    assert [(m["text"], m["state"]) for m in brief["decided"]] == [("Jobs live in Postgres.", "accepted")]
    assert "DECIDED" in rekal("brief").out


def test_a_brief_of_nothing_says_so(rekal: Rekal) -> None:
    ran = rekal("brief")
    assert ran.code == 1
    assert "nothing is known yet" in ran.out


def test_resume_prints_the_command_and_starts_nothing(rekal: Rekal) -> None:
    session = work(rekal, "one", "main", "Make the queue durable.", "It is in Postgres now.")
    rekal("checkpoint")
    ran = rekal("resume")
    assert ran.code == 0
    assert ran.out.splitlines()[0] == f"claude --resume {session.session_id}"
    assert rekal("resume", "--agent", "codex", "--json").json == {"session_id": None, "agent": None, "command": None}
