"""Receiving from teammates' refs over a real remote."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from msgspec.structs import replace

from rekal import ids
from rekal.git import Repo
from rekal.git.repo import read_measured_objects
from rekal.model import LOCAL, Rewrite, SessionRange, Tombstone
from rekal.store.ledger import open_ledger
from rekal.transport.refs import publish_segments
from rekal.wire.segment import Record, encode_segments
from tests.conftest import git
from tests.transport.team import Clone, at, bare, commit_of, stamped, talk


@pytest.fixture
def remote(tmp_path: Path) -> Path:
    return bare(tmp_path)


@pytest.fixture
def mara(tmp_path: Path, remote: Path) -> Clone:
    return Clone(tmp_path / "mara", remote, "mara")


@pytest.fixture
def noor(tmp_path: Path, remote: Path) -> Clone:
    return Clone(tmp_path / "noor", remote, "noor")


def test_what_one_published_the_other_has_with_numbers_times_and_names(mara: Clone, noor: Clone) -> None:
    session = talk("mara", "queue")
    mara.publish(session, commit_of(session, "a"), Rewrite("1" * 40, "2" * 40, "amend"))

    received = noor.receive()

    assert (received.refs, received.imported.sessions, received.imported.turns) == (1, 1, 2)
    assert received.notes == ()
    assert noor.rows("SELECT id, origin, author_email, title FROM sessions") == [
        (session.id, mara.origin, "mara@example.com", session.title)
    ]
    assert noor.rows("SELECT seq, uid, content FROM turns ORDER BY seq") == [
        (t.seq, t.uid, t.content) for t in session.turns
    ]
    assert noor.rows("SELECT tool, path, outcome FROM tool_calls") == [("Edit", "queue.py", "ok")]
    assert noor.rows("SELECT path, line_hashes FROM edits") == [("queue.py", [1 << 40])]
    assert noor.rows("SELECT session_id, first_seq, last_seq FROM checkpoint_sessions") == [(session.id, 0, 1)]
    assert noor.rows("SELECT old_sha, new_sha, how FROM rewrites") == [("1" * 40, "2" * 40, "amend")]
    assert noor.rows("SELECT signature FROM received") == [("N",)]


def test_receiving_again_adds_nothing_and_costs_no_transaction(mara: Clone, noor: Clone) -> None:
    mara.publish(talk("mara", "queue"))
    noor.receive()
    before, position = noor.holds(), noor.rows("SELECT value FROM meta WHERE key = 'position'")

    assert noor.receive().refs == 0
    assert noor.rows("SELECT value FROM meta WHERE key = 'position'") == position

    with open_ledger(noor.layout.data, read_only=False) as ledger:
        ledger.con.execute("DELETE FROM received")
    again = noor.receive()
    assert (again.refs, again.imported.turns, again.changed) == (1, 0, False)
    assert noor.holds() == before


def test_only_what_is_new_is_read(mara: Clone, noor: Clone, monkeypatch: pytest.MonkeyPatch) -> None:
    mara.publish(*(talk("mara", f"old {i}") for i in range(5)))
    noor.receive()
    mara.publish(talk("mara", "new"))
    read: list[int] = []

    def counted(repo: Repo, known: dict[str, int]) -> Iterator[tuple[str, bytes]]:
        for oid, data in read_measured_objects(repo, known):
            read.extend([1] if data.startswith(b"RKL") else [])
            yield oid, data

    monkeypatch.setattr("rekal.transport.receive.read_measured_objects", counted)
    assert noor.receive().imported.sessions == 1
    assert len(read) == 1


def test_the_order_of_segments_makes_no_difference(tmp_path: Path, remote: Path, mara: Clone) -> None:
    sessions = [talk("mara", f"s{i}") for i in range(4)]
    checkpoints = [commit_of(session, session.native_id) for session in sessions]
    heads = [stamped(s, turns=(), tool_calls=(), edits=()) for s in sessions]
    parts = [part for s in sessions for part in encode_segments([s])]
    # A segment a record, so that heads, parts and checkpoints come in the order of their hashes.
    segments = [
        *parts,
        *(one for head in heads for one in encode_segments([head])),
        *(s for c in checkpoints for s in encode_segments([c])),
    ]
    publish_segments(mara.repo, mara.ref, segments)
    mara.push()
    whole, pieces = Clone(tmp_path / "whole", remote, "w"), Clone(tmp_path / "pieces", remote, "p")
    whole.receive()
    from rekal.transport.import_queue import Budget

    pieces.receive(Budget(batch=1))
    assert whole.holds() == pieces.holds()
    assert len(whole.texts()) == 8


def test_turns_read_before_their_session_are_not_lost(mara: Clone, noor: Clone) -> None:
    from rekal.transport.import_queue import Budget
    from rekal.wire.session_parts import SessionPart

    sessions = [talk("mara", f"s{i}") for i in range(6)]
    records: list[Record] = [
        *(SessionPart(s.id, s.turns, s.tool_calls, s.edits) for s in sessions),
        *(stamped(s, turns=(), tool_calls=(), edits=()) for s in sessions),
    ]
    publish_segments(mara.repo, mara.ref, [segment for record in records for segment in encode_segments([record])])
    mara.push()
    received = noor.receive(Budget(batch=1))
    assert received.imported.turns == 12
    assert received.notes == ()


def test_a_grown_session_gets_its_new_turns(mara: Clone, noor: Clone) -> None:
    session = talk("mara", "queue", "one", "two", "three", "four")
    mara.publish(stamped(session, turns=session.turns[:2]))
    noor.receive()
    mara.publish(stamped(session, turns=session.turns[2:]))
    assert noor.receive().imported.turns == 2
    assert noor.texts() == ["one", "two", "three", "four"]


def test_ones_own_ref_is_left_alone(mara: Clone) -> None:
    mara.publish(talk("mara", "queue"))
    assert mara.receive().refs == 0
    assert mara.texts() == []


def test_one_teammate_through_two_remotes_is_one(tmp_path: Path, mara: Clone, noor: Clone) -> None:
    mara.publish(talk("mara", "queue"))
    fork = tmp_path / "fork.git"
    git(tmp_path, "clone", "-q", "--mirror", str(tmp_path / "remote.git"), str(fork))
    git(noor.root, "remote", "add", "fork", str(fork))
    git(noor.root, "fetch", "-q", "fork", "+refs/rekal/*:refs/rekal-remote/fork/*")
    git(noor.root, "fetch", "-q")
    from rekal.transport.receive import receive_refs

    received = receive_refs(noor.layout, noor.repo, ["origin", "fork"])
    assert (received.refs, received.imported.sessions, received.notes) == (2, 1, ())
    assert noor.rows("SELECT DISTINCT origin FROM sessions") == [(mara.origin,)]


def test_a_remote_that_is_not_allowed_is_not_read(mara: Clone, noor: Clone) -> None:
    from rekal.transport.receive import receive_refs

    mara.publish(talk("mara", "queue"))
    git(noor.root, "fetch", "-q")
    assert receive_refs(noor.layout, noor.repo, ["elsewhere"]).refs == 0


def test_a_session_under_anothers_name_is_marked(mara: Clone, noor: Clone) -> None:
    stolen = talk("ines", "queue")
    mara.publish(stolen, talk("mara", "own"))
    noor.receive()
    assert noor.rows("SELECT native_id, origin FROM sessions ORDER BY native_id") == [
        ("own", mara.origin),
        ("queue", f"unverified:{mara.origin}"),
    ]


@pytest.mark.parametrize("first", ["author", "other"])
def test_an_authors_own_ref_decides_whatever_came_first(tmp_path: Path, remote: Path, first: str) -> None:
    ines, mara, noor = (Clone(tmp_path / name, remote, name) for name in ("ines", "mara", "noor"))
    real = talk("ines", "queue", "what Ines said")
    forged = stamped(real, turns=talk("ines", "queue", "what Ines never said").turns)
    for one in (ines, mara) if first == "author" else (mara, ines):
        one.publish(real if one is ines else forged)
        noor.receive()
    assert noor.texts() == ["what Ines said"]
    assert noor.rows("SELECT origin FROM sessions") == [(ines.origin,)]


def test_nobody_adds_to_what_is_anothers(mara: Clone, noor: Clone) -> None:
    own = talk("noor", "mine", "my own words")
    with open_ledger(noor.layout.data, read_only=False) as ledger, ledger.transaction():
        ledger.append(own, keep_seq=True)
        ledger.add_checkpoint(commit_of(own, "mine"))
    before = noor.holds()
    more = stamped(own, turns=talk("noor", "mine", "a", "b", "words put into my mouth").turns[2:])
    link = replace(commit_of(own, "theirs", email="mara@example.com"), files=())
    mara.publish(
        more,
        replace(commit_of(own, "mine"), subject="another subject", sessions=(SessionRange(own.id, 0, 99, "edited"),)),
        link,
        Rewrite(commit_of(own, "mine").git_sha, "3" * 40, "amend"),
        Tombstone(own.id, "no", "Mara", at(5)),
        Tombstone(own.turns[0].uid, "no", "Mara", at(5)),
        Tombstone(ids.content_hash("my own words"), "no", "Mara", at(5)),
    )

    received = noor.receive()

    assert [row[0] for row in noor.rows("SELECT content FROM turns")] == ["my own words"]
    assert noor.rows(f"SELECT subject FROM checkpoints WHERE origin = '{LOCAL}'") == [("commit mine",)]
    assert noor.rows("SELECT count(*) FROM checkpoint_sessions") == [(1,)]
    assert noor.rows("SELECT count(*) FROM rewrites") == [(0,)]
    assert received.imported.erased == 0
    assert "not theirs to add to" in received.notes[0]
    for table in ("sessions", "turns", "tool_calls", "edits"):
        assert noor.holds()[table] == before[table]


def test_a_teammates_tombstone_does_not_keep_ones_own_work_out(mara: Clone, noor: Clone) -> None:
    own = talk("noor", "mine", "my own words")
    mara.publish(Tombstone(own.id, "no", "Mara", at(5)), Tombstone(own.turns[0].uid, "no", "Mara", at(5)))
    noor.receive()
    with open_ledger(noor.layout.data, read_only=False) as ledger, ledger.transaction():
        assert ledger.append(own).turns == 1


def test_what_was_forgotten_here_does_not_come_back(mara: Clone, noor: Clone) -> None:
    kept, gone = talk("mara", "kept"), talk("mara", "gone")
    with open_ledger(noor.layout.data, read_only=False) as ledger, ledger.transaction():
        ledger.add_tombstone(Tombstone(gone.id, "asked", "Noor", at(1)))
    mara.publish(kept, gone, commit_of(gone, "g"), commit_of(kept, "k"))
    received = noor.receive()
    assert [row[0] for row in noor.rows("SELECT native_id FROM sessions")] == ["kept"]
    assert noor.rows("SELECT subject FROM checkpoints") == [("commit k",)]
    assert received.imported.forgotten == 3
    assert received.notes == ()


def test_a_tombstone_of_the_owner_takes_out_and_keeps_out(mara: Clone, noor: Clone) -> None:
    session, other = talk("mara", "queue", "keep this", "a pasted password"), talk("mara", "other")
    mara.publish(session, other, commit_of(session, "q"))
    noor.receive()
    assert b"a pasted password" in noor.layout.data.read_bytes() or "a pasted password" in noor.texts()
    stones = [
        Tombstone(session.turns[1].uid, "turn", "Mara", at(7)),
        Tombstone(ids.content_hash("a pasted password"), "turn", "Mara", at(7)),
    ]
    mara.publish(*stones)

    received = noor.receive()

    assert received.imported.erased == 1
    assert "a pasted password" not in noor.texts()
    assert b"a pasted password" not in b"".join(p.read_bytes() for p in noor.layout.directory.rglob("*") if p.is_file())
    with open_ledger(noor.layout.data, read_only=False) as ledger:
        ledger.con.execute("DELETE FROM received")
    assert noor.receive().imported.turns == 0
    assert "a pasted password" not in noor.texts()
