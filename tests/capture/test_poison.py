"""One commit or one event that cannot be worked on costs itself, is named, and keeps nothing else out."""

from __future__ import annotations

import os
from datetime import UTC, datetime, timedelta

import pytest

from rekal.capture import link, read_sources
from rekal.store import spool
from tests.conftest import git
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession

LATIN = os.fsdecode(b"caf\xe9.txt")


def record_commit(rekal: Rekal, subject: str) -> str:
    """Make a commit, which the hook notes; its name."""
    git(rekal.root, "add", "-A")
    git(rekal.root, "commit", "-qm", subject)
    return git(rekal.root, "rev-parse", "HEAD").strip()


def talk(rekal: Rekal, name: str, path: str, text: str) -> None:
    start = datetime.now(UTC) - timedelta(minutes=1)
    session = ClaudeSession(rekal.home, rekal.root, name, start=start, step=timedelta(seconds=1))
    session.human(f"Why the pool of {name}?").writes(path, text).says("Because bursts are short.")
    (rekal.root / path).write_text(text)


@pytest.mark.skipif(os.name == "nt", reason="names of files are text on Windows")
def test_a_name_that_is_not_utf8_costs_at_most_that_name(rekal: Rekal) -> None:
    (rekal.root / LATIN).write_text("x\n")
    record_commit(rekal, "One with a name in Latin-1")
    talk(rekal, "ibis", "i.py", "ibis_pool = 12\n")
    sha = record_commit(rekal, "A common one")
    done = rekal("checkpoint", "--json")
    assert done.code == 0, done.err
    assert sha[:10] in rekal("log").out
    assert spool.count_events(rekal.layout.spool) == (0, 0)


@pytest.mark.skipif(os.name == "nt", reason="names of files are text on Windows")
@pytest.mark.parametrize(
    "verb", ["why", "log --file", "recall --file", "forget --dry-run --path", "show", "find", "recall"]
)
def test_such_a_name_can_be_asked_about(rekal: Rekal, verb: str) -> None:
    (rekal.root / LATIN).write_text("x\n")
    talk(rekal, "ibis", "i.py", "ibis_pool = 12\n")
    record_commit(rekal, "One with a name in Latin-1")
    assert rekal("checkpoint").code == 0
    done = rekal(*verb.split(), LATIN)
    assert "unexpected" not in done.err, done
    assert not (rekal.layout.run / "rekal-error.md").exists()


def test_an_event_that_fails_twice_is_set_aside_and_named(rekal: Rekal, monkeypatch: pytest.MonkeyPatch) -> None:
    (rekal.root / "a.py").write_text("a = 1\n")
    poison = record_commit(rekal, "Nobody can work on this")
    talk(rekal, "ibis", "i.py", "ibis_pool = 12\n")
    sha = record_commit(rekal, "A common one")
    known = link.link_commit

    def fail(ledger, commits, *args, **more):  # type: ignore[no-untyped-def]
        if any(facts.commit.sha == poison for facts in commits):
            raise ZeroDivisionError
        return known(ledger, commits, *args, **more)

    monkeypatch.setattr(link, "link_commit", fail)
    first = rekal("checkpoint", "--json")
    assert first.code == 0, first.err
    assert any("tried once more" in warning for warning in first.json["warnings"])
    assert sha[:10] in rekal("log").out
    second = rekal("checkpoint", "--json")
    assert any("set aside" in warning for warning in second.json["warnings"])
    assert spool.count_events(rekal.layout.spool) == (0, 1)
    (name,) = spool.list_set_aside(rekal.layout.spool)
    assert any(name in problem for problem in rekal("status", "--json").json["problems"])
    assert rekal("checkpoint", "--json").json["warnings"] == []


def test_trouble_that_is_no_events_fault_sets_none_aside(rekal: Rekal, monkeypatch: pytest.MonkeyPatch) -> None:
    (rekal.root / "a.py").write_text("a = 1\n")
    record_commit(rekal, "One")
    before = spool.count_events(rekal.layout.spool)

    def fail(*args: object) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr(read_sources, "find_changed_sources", fail)
    for _ in range(3):
        assert rekal("checkpoint").code == 1
    assert spool.count_events(rekal.layout.spool) == before
