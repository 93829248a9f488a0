"""Refs of teammates cannot keep others out, be counted through for ever, or drown out what is known."""

from __future__ import annotations

from pathlib import Path

import pytest
from msgspec.structs import replace

from rekal import ids
from rekal.model import SessionRange
from rekal.transport import arrivals
from rekal.transport.departures import Sent
from rekal.transport.receive import MAX_RANGE, MOST_NOTES
from tests.conftest import git
from tests.transport.team import Clone, bare, commit_of, talk


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return bare(tmp_path)


@pytest.fixture
def mara(tmp_path: Path, remote: Path) -> Clone:
    return Clone(tmp_path / "mara", remote, "mara")


@pytest.fixture
def noor(tmp_path: Path, remote: Path) -> Clone:
    return Clone(tmp_path / "noor", remote, "noor")


def test_an_id_that_is_somebody_elses_does_not_keep_them_out(tmp_path: Path, remote: Path, noor: Clone) -> None:
    theirs = talk("mara", "queue")
    commit = commit_of(theirs, "queue")
    thief = Clone(tmp_path / "abe", remote, "abe")  # their ref is read first
    own = talk("abe", "thief", "Why is the queue gone?", "Because it was moved.")
    claimed = replace(own, id=theirs.id)
    thief.publish(claimed, replace(commit_of(own, "queue"), id=commit.id))
    noor.receive()
    Clone(tmp_path / "mara", remote, "mara").publish(theirs, commit)

    received = noor.receive()

    assert (received.imported.sessions, received.imported.foreign) == (1, 0)
    assert noor.rows("SELECT author_email FROM sessions") == [("mara@example.com",)]
    assert noor.rows("SELECT author_email FROM checkpoints") == [("mara@example.com",)]


def test_a_range_of_more_turns_than_any_session_has_is_left_out(mara: Clone, noor: Clone) -> None:
    session = talk("mara", "queue")
    huge = SessionRange(session.id, -1, 2**31 - 2, "edited")
    good = commit_of(session, "queue")
    mara.publish(session, replace(good, sessions=(huge, *good.sessions)))

    received = noor.receive()

    assert noor.rows(f"SELECT max(last_seq - first_seq) < {MAX_RANGE} FROM checkpoint_sessions") == [(True,)]
    assert "ranges of more turns than a session has" in " ".join(received.notes)


def test_a_range_is_walked_by_what_left_and_not_by_its_numbers() -> None:
    sent = Sent(set(), {"s": {0, 1, 4, 2**31 - 3}})

    gaps = list(sent.gaps(SessionRange("s", -1, 2**31 - 2, "edited")))

    assert gaps == [(-1, -1), (2, 3), (5, 2**31 - 4), (2**31 - 2, 2**31 - 2)]
    assert list(sent.gaps(SessionRange("t", 3, 5, "edited"))) == [(3, 5)]
    assert list(sent.gaps(SessionRange("s", 0, 1, "edited"))) == []


def test_known_refs_come_first_when_there_are_too_many(
    mara: Clone, noor: Clone, remote: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mara.publish(talk("mara", "old"))
    noor.receive()
    monkeypatch.setattr(arrivals, "MAX_REFS", 2)
    tip = git(remote, "for-each-ref", "--format=%(objectname)", "refs/rekal").split()[0]
    for number in range(4):
        git(remote, "update-ref", f"refs/rekal/aaa{number}/0000000001", tip)
    mara.publish(talk("mara", "new"))

    received = noor.receive()

    assert received.imported.sessions == 1
    assert "3 refs past the 2 that are read were left out, the oldest of them" in received.notes


def test_many_names_for_one_commit_are_one_note_and_its_authors_ref_is_read(
    mara: Clone, noor: Clone, remote: Path
) -> None:
    session = talk("mara", "queue")
    mara.publish(session)
    tip = git(remote, "for-each-ref", "--format=%(objectname)", "refs/rekal").split()[0]
    for number in range(20):
        git(remote, "update-ref", f"refs/rekal/aaa{number}/0000000001", tip)

    received = noor.receive()

    assert "20 refs that copy another one were left out" in received.notes
    assert len(received.notes) <= MOST_NOTES
    assert noor.rows("SELECT id, origin LIKE 'mara-example-com/%' FROM sessions") == [(session.id, True)]


def test_so_many_notes_are_given_as_somebody_reads(tmp_path: Path, remote: Path, noor: Clone) -> None:
    for number in range(8):
        clone = Clone(tmp_path / f"c{number}", remote, f"c{number}")
        own = talk(f"c{number}", "talk")
        clone.publish(replace(own, id=ids.derive("x", str(number))))

    received = noor.receive()

    assert len(received.notes) == MOST_NOTES
    assert received.notes[-1] == "4 more refs of which something was left out"
