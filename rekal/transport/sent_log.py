"""The ledger's account of everything that left this clone."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import msgspec

from rekal.model import LOCAL, Checkpoint, SessionRange, Tombstone
from rekal.store import queries
from rekal.store.database import insert_rows, make_record, with_zone, without_zone
from rekal.store.ledger import Ledger
from rekal.transport.mainline import RULE_VERSION, Mainline, Why

Mark = tuple[str, str]
"""Kind and id of something sent: ``checkpoint``, ``head``, ``turns`` (``session:first:last``), ``rewrite``,
``tombstone``, ``event``."""


class Sent(msgspec.Struct):
    """Marks of everything sent, and the turns of each session among them."""

    marks: set[Mark]
    turns: dict[str, set[int]]

    def gaps(self, r: SessionRange) -> Iterator[tuple[int, int]]:
        """The stretches of a range that have not left, first and last turn of each."""
        # By the turns that left and not by the numbers of the range: a teammate may claim one of two thousand million.
        first = r.first_seq
        for seq in sorted(seq for seq in self.turns.get(r.session_id, ()) if r.first_seq <= seq <= r.last_seq):
            if first < seq:
                yield first, seq - 1
            first = seq + 1
        if first <= r.last_seq:
            yield first, r.last_seq

    def mark_range(self, session_id: str, first: int, last: int) -> Mark:
        """Note that turns are being sent; returns their mark."""
        self.turns.setdefault(session_id, set()).update(range(first, last + 1))
        mark = ("turns", f"{session_id}:{first}:{last}")
        self.marks.add(mark)
        return mark


def read_sent(ledger: Ledger) -> Sent:
    """Return the marks of everything sent so far."""
    marks: set[Mark] = {(str(k), str(i)) for k, i in ledger.con.execute("SELECT kind, id FROM shipped").fetchall()}
    turns: defaultdict[str, set[int]] = defaultdict(set)
    for kind, name in marks:
        if kind == "turns":
            session_id, first, last = name.split(":")
            turns[session_id].update(range(int(first), int(last) + 1))
    return Sent(marks, dict(turns))


def start_over(ledger: Ledger, store_id: str) -> None:
    """Take ``store_id`` for this clone's from now on, under which nothing has left yet. Inside a transaction."""
    ledger.con.execute("UPDATE meta SET value = ? WHERE key = 'store_id'", [store_id])
    ledger.con.execute("DELETE FROM shipped")


def mark_sent(ledger: Ledger, marks: Iterable[Mark], segment: str) -> None:
    """Remember marks of things that left, with the first segment they left in. Inside a transaction."""
    insert_rows(ledger.con, "shipped", [(kind, name, segment) for kind, name in marks])


def read_verdicts(ledger: Ledger, mainline: Mainline | None) -> dict[str, Why]:
    """Return verdicts of the merge gate kept for this very tip, by commit."""
    if mainline is None:
        return {}
    rows = ledger.con.execute(
        "SELECT git_sha, verdict FROM merge_verdicts WHERE target_tip = ? AND rule_version = ?",
        [mainline.tip, RULE_VERSION],
    ).fetchall()
    return {str(sha): Why[str(name)] for sha, name in rows}


def checkpoints_sent(ledger: Ledger) -> list[Checkpoint]:
    """Return the checkpoints that left, to whichever remote."""
    return queries.read_checkpoints(
        ledger.con, "id IN (SELECT id FROM shipped WHERE kind IN ('checkpoint', 'summary'))", []
    )


def own_tombstones(ledger: Ledger) -> list[Tombstone]:
    """Return the tombstones made in this clone, oldest first."""
    rows = ledger.con.execute(
        "SELECT target, reason, actor, recorded_at FROM tombstones WHERE origin = ? ORDER BY recorded_at, target",
        [LOCAL],
    ).fetchall()
    return [Tombstone(target, reason, actor, _required_time(at)) for target, reason, actor, at in rows]


def _required_time(at: datetime) -> datetime:
    when = with_zone(at)
    assert when is not None
    return when


class Push(msgspec.Struct, frozen=True):
    """One departure, as ``audit`` lists it. ``bytes`` counts the segments added."""

    ref: str
    tip: str
    remote: str
    url: str
    pushed_at: datetime
    checkpoints: int
    sessions: int
    bytes: int


def record_push(ledger: Ledger, push: Push) -> None:
    """Remember a departure. Inside a transaction."""
    row = (
        push.ref,
        push.tip,
        push.remote,
        push.url,
        without_zone(push.pushed_at),
        push.checkpoints,
        push.sessions,
        push.bytes,
    )
    insert_rows(ledger.con, "pushes", [row])


def list_pushes(ledger: Ledger) -> Sequence[Push]:
    """Return all departures, newest first."""
    rows = ledger.con.execute(
        """SELECT ref, tip, remote, url, pushed_at, checkpoints, sessions, bytes FROM pushes
           ORDER BY pushed_at DESC, remote"""
    ).fetchall()
    return [make_record(Push, (*row[:4], _required_time(row[4]), *row[5:])) for row in rows]
