"""Ten clones push to one remote all the time: nothing is lost, nothing is refused, nothing forced, little is added."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.bench_writers import Writer, interleave, payload, size, team
from rekal.git import find_repo
from rekal.git.repo import read_measured_objects
from rekal.store.ledger import open_ledger
from rekal.transport.arrivals import find_readable, list_segments
from rekal.transport.receive import receive_refs
from rekal.wire.segment import decode_segments
from tests.conftest import git


def check(parent: Path, writers: int, pushes: int) -> float:
    """Let a team push, check what arrived; how much larger the remote is than what was sent."""
    members = team(parent, writers)
    remote = members[0].remote

    # The remote refuses whatever is no fast-forward; a push that it refuses raises.
    done = list(interleave(members, pushes))

    assert all(one.sent and one.checkpoints == 1 and not one.held and not one.notes for one in done)
    git(remote, "gc", "-q")
    for member in members:
        assert git(remote, "rev-list", "--count", member.ref.name).strip() == str(pushes)
        assert git(remote, "rev-list", "--merges", member.ref.name) == ""
        assert texts_at(remote, member.ref.name) == sorted(member.said)
    assert sum(one.bytes for one in done) == sum(payload(remote).values())
    check_reader(members[0], [text for member in members[1:] for text in member.said])
    return size(remote) / sum(payload(remote).values())


def texts_at(remote: Path, ref: str) -> list[str]:
    """What all turns on a ref say."""
    repo = find_repo(remote)
    blobs = find_readable(repo, list_segments(repo, ref, None).segments)
    records, report = decode_segments(data for _, data in read_measured_objects(repo, dict(blobs.values())))
    assert report.skips == ()
    return sorted(turn.content for record in records for turn in getattr(record, "turns", ()))


def check_reader(member: Writer, texts: list[str]) -> None:
    """One member fetches and has what all the others said."""
    member.fetch()
    received = receive_refs(member.layout, member.repo, ["origin"])
    assert received.notes == ()
    with open_ledger(member.layout.data, read_only=True) as ledger:
        sql = "SELECT content FROM turns t JOIN sessions s ON s.id = t.session_id WHERE s.origin <> 'local'"
        assert sorted(row[0] for row in ledger.con.execute(sql).fetchall()) == sorted(texts)


def test_writers_at_the_same_time_lose_nothing(tmp_path: Path) -> None:
    check(tmp_path, writers=3, pushes=4)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_ten_writers_with_two_hundred_pushes_each_fit_into_little_more_than_they_sent(tmp_path: Path) -> None:
    assert check(tmp_path, writers=10, pushes=200) <= 1.3
