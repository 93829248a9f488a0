"""Past requests to forget, as the ledger keeps them: one request is the tombstones that share a moment."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime

import msgspec

from rekal.ids import derive
from rekal.model import LOCAL
from rekal.store.database import Connection, insert_rows, with_zone, without_zone
from rekal.store.ledger import Ledger
from rekal.store.tombstones import forgotten, remove_forgotten_words

_ID_LENGTH = 8


class PastRequest(msgspec.Struct, frozen=True):
    """One request to forget. ``shipped`` says that its tombstones left this clone, so that it cannot be undone."""

    id: str
    reason: str
    actor: str
    recorded_at: datetime
    targets: int
    shipped: bool


def _request_id(at: datetime) -> str:
    # All tombstones of a request have its time: no column is needed to tell which belong together.
    return derive("forget", at.isoformat())[:_ID_LENGTH]


def list_requests(con: Connection) -> list[PastRequest]:
    """All requests to forget made in this clone, newest first."""
    rows = con.execute(
        """SELECT reason, actor, recorded_at, count(*),
               bool_or(target IN (SELECT id FROM shipped WHERE kind = 'tombstone'))
           FROM tombstones WHERE origin = ? GROUP BY ALL ORDER BY recorded_at DESC""",
        [LOCAL],
    ).fetchall()
    found = []
    for reason, actor, at, targets, shipped in rows:
        when = with_zone(at)
        assert when is not None  # the column is NOT NULL
        found.append(PastRequest(_request_id(when), reason, actor, when, int(targets), bool(shipped)))
    return found


def record_request(ledger: Ledger, targets: Collection[str], reason: str, actor: str) -> str:
    """Add the tombstones of one request. Inside a transaction; returns the request's id."""
    # A target keeps its first tombstone: undoing the second request must not free what the first one forgot.
    before = forgotten(ledger.con)
    at = without_zone(ledger.now)
    rows: list[tuple[object, ...]] = [(t, reason, actor, at, LOCAL, ledger.pos) for t in targets if t not in before]
    insert_rows(ledger.con, "tombstones", rows)
    return _request_id(ledger.now)


def delete_request(con: Connection, request: PastRequest) -> None:
    """Delete the tombstones of one request. Inside a transaction."""
    con.execute(
        "DELETE FROM tombstones WHERE origin = ? AND recorded_at = ?", [LOCAL, without_zone(request.recorded_at)]
    )
    remove_forgotten_words(con, request.id)


def reset_sources(con: Connection, sessions: Sequence[str]) -> None:
    """Have the sources of ``sessions`` read from their beginning; all sources when one session's is not known."""
    with_source = {str(row[0]) for row in con.execute("SELECT session_id FROM source_state").fetchall()}
    every = not sessions or not with_source.issuperset(sessions)
    # Size and time -1 belong to no file: the next sweep takes it for changed.
    con.execute(
        """UPDATE source_state SET size = -1, mtime_ns = -1, "offset" = 0, prefix_hash = ''
           WHERE belongs AND ($every OR list_contains($ids::VARCHAR[], session_id))""",
        {"every": every, "ids": list(sessions)},
    )
