"""Acts and plain words that propose memories: trailers, reverts, deleted branches, a person's no."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rekal.memory.reflexes import find_statements, find_trailers, reverted_commits
from tests.conftest import git
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession

KINDS = [
    ("Let's use Postgres for the queue, not Redis.", "decision"),
    ("No, we don't want a second queue in Redis.", "dead_end"),
    ("This is too complicated for what it does, revert it.", "dead_end"),
    ("From now on always run the linter before a commit.", "preference"),
    ("Should we use Postgres for the queue?", None),
    ("Fix the failing test in queue.py please", None),
    ("yes", None),
    ("```\nwe should use redis here\n```", None),
    ("we should use redis. " * 80, None),
]


@pytest.mark.parametrize(("turn", "kind"), KINDS, ids=[turn[:30] for turn, _ in KINDS])
def test_only_plain_words_that_fix_something_are_statements(turn: str, kind: str | None) -> None:
    found = find_statements(turn)
    assert [one.kind for one in found] == ([kind] if kind else [])
    assert all(turn[one.start : one.stop].strip() == one.text for one in found)


def test_trailers_and_reverts_are_read_from_a_message() -> None:
    message = "Move the queue\n\nDecided: jobs live in Postgres because one backup\nruled-out: Redis\nDecidedly: no\n"
    assert [(t.kind, t.text, t.because) for t in find_trailers(message)] == [
        ("decision", "jobs live in Postgres", "one backup"),
        ("dead_end", "Redis", None),
    ]
    assert reverted_commits('Revert "x"\n\nThis reverts commit 0123abc.\n') == ["0123abc"]


def _commit(rekal: Rekal, message: str, **files: str) -> str:
    """Commit everything; the hook leaves its event for the worker."""
    for name, text in files.items():
        (rekal.root / f"{name}.py").write_text(text, encoding="utf-8")
    git(rekal.root, "add", "-A")
    git(rekal.root, "commit", "-q", "--allow-empty", "-m", message)
    return git(rekal.root, "rev-parse", "HEAD").strip()


def _worked(rekal: Rekal) -> dict[str, dict[str, Any]]:
    """Run the worker; memories by text."""
    assert rekal("_worker").code == 0
    return {one["text"]: one for one in rekal("memories", "--json").json["memories"]}


def _session(rekal: Rekal, home: Path, name: str, *said: str) -> None:
    session = ClaudeSession(home, rekal.root, name, start=datetime.now(UTC), step=timedelta(milliseconds=1))
    for text in said:
        session.human(text)
    path = rekal.root / f"{name}.py"
    path.write_text(f"the work of {name}\n", encoding="utf-8")
    session.writes(path, f"the work of {name}\n", text="Done.")


def test_a_persons_trailer_is_accepted_and_an_agents_is_proposed(rekal: Rekal) -> None:
    first = _commit(rekal, "Move\n\nDecided: jobs live in Postgres because one backup", a="a\n")
    _commit(rekal, "Move\n\nRuled-out: Redis as a queue\n\nCo-Authored-By: Claude <noreply@x.example>", b="b\n")
    found = _worked(rekal)
    kept = found["jobs live in Postgres"]
    assert (kept["state"], kept["source"], kept["because"]) == ("accepted", first, "one backup")
    assert (found["Redis as a queue"]["state"], found["Redis as a queue"]["type"]) == ("proposed", "dead_end")


def test_a_revert_rules_out_what_was_reverted(rekal: Rekal) -> None:
    bad = _commit(rekal, "Keep the queue in Redis", a="redis\n")
    git(rekal.root, "revert", "--no-edit", bad)
    found = _worked(rekal)["Keep the queue in Redis"]
    assert (found["type"], found["state"], found["actor_type"], found["source"]) == (
        "dead_end",
        "proposed",
        "derived",
        bad,
    )
    assert "Redis" not in rekal("recall", "where do we keep the queue in Redis").out


def test_a_persons_no_is_proposed_once_with_its_turn(rekal: Rekal, home: Path) -> None:
    _session(rekal, home, "queue", "Add a retry queue", "No, we don't want a second queue in Redis.")
    _commit(rekal, "Add the queue")
    found = _worked(rekal)
    (one,) = found.values()
    assert (one["text"], one["type"], one["quote"]) == (
        *("No, we don't want a second queue in Redis.", "dead_end"),
        one["text"],
    )
    session, _, turn = one["source"].partition("#")
    shown = rekal("show", session, "--json").json["session"]["turns"]
    assert next(t["content"] for t in shown if t["seq"] == int(turn)) == one["quote"]
    assert len(_worked(rekal)) == 1


def test_a_branch_deleted_unmerged_is_proposed_and_a_merged_one_is_not(rekal: Rekal, home: Path) -> None:
    for name, merged in (("spike", False), ("good", True)):
        git(rekal.root, "checkout", "-q", "-b", name)
        _session(rekal, home, name, f"Try the {name} approach")
        _commit(rekal, f"Try the {name} approach")
        assert rekal("_worker").code == 0
        git(rekal.root, "checkout", "-q", "main")
        if merged:
            git(rekal.root, "merge", "-q", "--squash", name)
            git(rekal.root, "commit", "-q", "-m", "squashed")
        git(rekal.root, "branch", "-q", "-D", name)
    (one,) = _worked(rekal).values()
    assert (one["text"], one["type"], one["actor"]) == ("Try the spike approach", "dead_end", "deleted branch")


def test_what_was_forgotten_is_not_proposed_again(rekal: Rekal) -> None:
    bad = _commit(rekal, "Keep the queue in Redis", a="redis\n")
    git(rekal.root, "revert", "--no-edit", bad)
    one = _worked(rekal)["Keep the queue in Redis"]
    assert rekal("forget", one["id"], "-y").code == 0
    git(rekal.root, "revert", "--no-edit", "HEAD")
    git(rekal.root, "revert", "--no-edit", bad)
    assert "Keep the queue in Redis" not in _worked(rekal)


def test_reflexes_can_be_switched_off(rekal: Rekal, home: Path) -> None:
    (home / "rekal").mkdir()
    (home / "rekal" / "config.yml").write_text("memory: {reflexes: false}\n", encoding="utf-8")
    bad = _commit(rekal, "Keep the queue in Redis", a="redis\n")
    git(rekal.root, "revert", "--no-edit", bad)
    assert _worked(rekal) == {}


@pytest.mark.parametrize(
    ("listed", "texts"), [("trailers", {"jobs live in Postgres"}), ("reverts", {"Keep the queue"})]
)
def test_each_reflex_can_be_switched_off_by_itself(rekal: Rekal, home: Path, listed: str, texts: set[str]) -> None:
    (home / "rekal").mkdir()
    (home / "rekal" / "config.yml").write_text(f"memory: {{reflexes: [{listed}]}}\n", encoding="utf-8")
    bad = _commit(rekal, "Keep the queue\n\nDecided: jobs live in Postgres", a="redis\n")
    git(rekal.root, "revert", "--no-edit", bad)
    assert set(_worked(rekal)) == texts
