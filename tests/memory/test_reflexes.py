"""Acts and plain words that propose memories: trailers, reverts, deleted branches, a person's no."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from rekal.app import memory_reflexes
from rekal.app.context import App
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


ALTERNATIVES = [
    ("No, we don't want a second queue in Redis. Use the Postgres one.", "Use the Postgres one"),
    ("We should use Postgres instead of Redis for the queue.", "use Postgres"),
    ("Don't use mocks here, use the real store", "use the real store"),
    ("Don't do that in the hook; let's do it in the worker.", "let's do it in the worker"),
    ("No, we don't want that. Can you explain why it is there?", None),
    ("No, we don't want that. The office closes at six.", None),
    ("This is too complicated for what it does, revert it.", None),
]


@pytest.mark.parametrize(("turn", "instead"), ALTERNATIVES, ids=[turn[:40] for turn, _ in ALTERNATIVES])
def test_a_no_carries_what_the_person_wants_instead(turn: str, instead: str | None) -> None:
    found = find_statements(turn)
    assert (found[0].kind, found[0].instead) == ("dead_end", instead)
    assert instead is None or instead in turn


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


def _choose(home: Path, reflexes: str) -> None:
    (home / "rekal").mkdir(exist_ok=True)
    (home / "rekal" / "config.yml").write_text(f"memory: {{reflexes: {reflexes}}}\n", encoding="utf-8")


def test_a_persons_trailer_is_accepted_and_an_agents_is_proposed(rekal: Rekal) -> None:
    first = _commit(rekal, "Move\n\nDecided: jobs live in Postgres because one backup", a="a\n")
    _commit(rekal, "Move\n\nRuled-out: Redis as a queue\n\nCo-Authored-By: Claude <noreply@x.example>", b="b\n")
    found = _worked(rekal)
    kept = found["jobs live in Postgres"]
    assert (kept["state"], kept["source"], kept["because"]) == ("accepted", first, "one backup")
    assert (found["Redis as a queue"]["state"], found["Redis as a queue"]["type"]) == ("proposed", "dead_end")


def test_a_revert_rules_out_what_was_reverted(rekal: Rekal, home: Path) -> None:
    _choose(home, "true")
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


def test_a_no_without_an_alternative_takes_what_the_agent_then_did(rekal: Rekal, home: Path) -> None:
    session = ClaudeSession(home, rekal.root, "q", start=datetime.now(UTC), step=timedelta(milliseconds=1))
    session.human("No, we don't want a second queue in Redis.")
    path = rekal.root / "q.py"
    path.write_text("postgres\n", encoding="utf-8")
    session.writes(path, "postgres\n", text="Understood. I'll use the Postgres queue instead. Here it is.")
    _commit(rekal, "Add the queue")
    (one,) = _worked(rekal).values()
    assert (one["type"], one["instead"]) == ("dead_end", "I'll use the Postgres queue instead.")


def _abandons(session: ClaudeSession, path: Path, *, failed: bool = True, back: str = "git checkout -- a.py") -> None:
    """Edit, test, put back, with the agent's word about it."""
    session.human("Make the cache faster")
    session.writes(path, "cache\n", text="I keep the cache in a global table.")
    session.runs("pytest tests/test_cache.py", "1 failed", error=failed)
    session.says("The global table breaks the fork tests, so I am reverting it.")
    session.runs(back, "")
    session.writes(path.with_name("b.py"), "the other way\n", text="Done.")


@pytest.mark.parametrize(
    ("failed", "back", "proposed"),
    [
        (True, "git checkout -- a.py", True),
        (True, "git restore . && git status", True),
        (True, "git reset -q --hard", True),
        (True, "git stash push -u", True),
        (False, "git checkout -- a.py", False),
        (True, "git checkout -- other.py", False),
        (True, "git restore --staged a.py", False),
        (True, "git stash list", False),
        (True, "git checkout -b next", False),
    ],
)
def test_an_approach_that_failed_its_tests_and_was_put_back(
    rekal: Rekal, home: Path, failed: bool, back: str, proposed: bool
) -> None:
    _choose(home, "[abandoned]")
    session = ClaudeSession(home, rekal.root, "cache", start=datetime.now(UTC), step=timedelta(milliseconds=1))
    _abandons(session, rekal.root / "a.py", failed=failed, back=back)
    (rekal.root / "b.py").write_text("the other way\n", encoding="utf-8")
    _commit(rekal, "Make the cache faster")
    found = _worked(rekal)
    if not proposed:
        assert found == {}
        return
    (one,) = found.values()
    assert (one["text"], one["type"], one["actor"], one["state"]) == (
        *("The global table breaks the fork tests, so I am reverting it.", "dead_end"),
        *("abandoned", "proposed"),
    )
    assert one["because"] == "`pytest tests/test_cache.py` failed and a.py was put back"
    session_id, _, turn = one["source"].partition("#")
    shown = rekal("show", session_id, "--json").json["session"]["turns"]
    assert one["quote"] in next(t["content"] for t in shown if t["seq"] == int(turn))


def test_reverts_deleted_branches_and_abandoned_work_are_off_until_chosen(rekal: Rekal, home: Path) -> None:
    session = ClaudeSession(home, rekal.root, "cache", start=datetime.now(UTC), step=timedelta(milliseconds=1))
    _abandons(session, rekal.root / "a.py")
    bad = _commit(rekal, "Keep the queue in Redis", b="the other way\n")
    git(rekal.root, "revert", "--no-edit", bad)
    assert _worked(rekal) == {}


def test_a_branch_deleted_unmerged_is_proposed_and_a_merged_one_is_not(rekal: Rekal, home: Path) -> None:
    _choose(home, "[branches]")
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


def test_a_commit_is_read_once_unless_the_note_of_it_is_gone(
    rekal: Rekal, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[list[str]] = []
    original = memory_reflexes._read_messages

    def noting(app: App, shas: Iterable[str]) -> list[Any]:
        asked.append(list(shas))
        return original(app, asked[-1])

    monkeypatch.setattr(memory_reflexes, "_read_messages", noting)
    _session(rekal, home, "one", "Make the queue durable")
    first = _commit(rekal, "Keep jobs", one="the work of one\n")
    _worked(rekal)
    _session(rekal, home, "two", "Make the cache smaller")
    second = _commit(rekal, "Drop entries", two="the work of two\n")
    _worked(rekal)
    assert asked == [[first], [second]]
    next(rekal.root.glob(".git/rekal/reflexes-checked")).unlink()  # as a worker that was killed leaves it
    _worked(rekal)
    assert sorted(asked[2]) == sorted([first, second])


def test_what_was_forgotten_is_not_proposed_again(rekal: Rekal, home: Path) -> None:
    _choose(home, "true")
    bad = _commit(rekal, "Keep the queue in Redis", a="redis\n")
    git(rekal.root, "revert", "--no-edit", bad)
    one = _worked(rekal)["Keep the queue in Redis"]
    assert rekal("forget", one["id"], "-y").code == 0
    git(rekal.root, "revert", "--no-edit", "HEAD")
    git(rekal.root, "revert", "--no-edit", bad)
    assert "Keep the queue in Redis" not in _worked(rekal)


def test_reflexes_can_be_switched_off(rekal: Rekal, home: Path) -> None:
    _choose(home, "false")
    bad = _commit(rekal, "Keep the queue in Redis", a="redis\n")
    git(rekal.root, "revert", "--no-edit", bad)
    assert _worked(rekal) == {}


@pytest.mark.parametrize(
    ("listed", "texts"), [("trailers", {"jobs live in Postgres"}), ("reverts", {"Keep the queue"})]
)
def test_each_reflex_can_be_switched_off_by_itself(rekal: Rekal, home: Path, listed: str, texts: set[str]) -> None:
    _choose(home, f"[{listed}]")
    bad = _commit(rekal, "Keep the queue\n\nDecided: jobs live in Postgres", a="redis\n")
    git(rekal.root, "revert", "--no-edit", bad)
    assert set(_worked(rekal)) == texts
