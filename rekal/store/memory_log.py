"""The rows of ``memory_events``: append and read. What they mean is the memory room's."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from typing import Any

from rekal.model import MemoryEvent
from rekal.store.database import Connection
from rekal.store.forgotten_words import read_forgotten_words
from rekal.store.ledger import Ledger
from rekal.store.rows import insert_rows, without_zone

_COLUMNS = "id, memory_id, kind, payload, actor, actor_type, occurred_at, recorded_at, source, origin"


def append_events(ledger: Ledger, events: Sequence[MemoryEvent]) -> int:
    """Add events whose ids are not stored yet; returns how many. Inside a transaction of ``ledger``."""
    ids = [event.id for event in events]
    known = "SELECT id FROM memory_events WHERE id IN (SELECT unnest(?::VARCHAR[]))"
    stored = {str(row[0]) for row in ledger.con.execute(known, [ids]).fetchall()}
    rows = []
    words = read_forgotten_words(ledger.con)
    for event in events:
        if words.are_in(event.payload) or words.are_in(event.source):
            continue
        if event.id not in stored:
            stored.add(event.id)
            head = (event.id, event.memory_id, event.kind, event.payload, event.actor, event.actor_type)
            times = (without_zone(event.occurred_at), without_zone(event.recorded_at))
            rows.append((*head, *times, event.source, event.origin, ledger.pos))
    insert_rows(ledger.con, "memory_events", rows)
    return len(rows)


def read_events(con: Connection, memory_id: str | None = None) -> list[MemoryEvent]:
    """All events, or those of one memory, in the order they were stored here."""
    where, values = ("WHERE memory_id = ?", [memory_id]) if memory_id is not None else ("", [])
    rows = con.execute(f"SELECT {_COLUMNS} FROM memory_events {where} ORDER BY pos, rowid", values).fetchall()
    return _make_records(rows)


def _make_records(rows: Sequence[tuple[Any, ...]]) -> list[MemoryEvent]:
    return [
        MemoryEvent(
            id_, memory, kind, payload, actor, who, said.replace(tzinfo=UTC), stored.replace(tzinfo=UTC), source, origin
        )
        for id_, memory, kind, payload, actor, who, said, stored, source, origin in rows
    ]


def read_related(
    con: Connection, words: Sequence[str], phrases: Sequence[str], fewest: int, types: Sequence[str] = ()
) -> list[MemoryEvent]:
    """All events of the memories that say one of ``phrases``, or at least ``fewest`` of ``words``, whatever the case.

    With ``types`` words count in memories of these types alone, and in those that were ever amended. It is what a new
    memory is compared with: to read the whole log for it would cost more than writing it.
    """
    counted = " + ".join("contains(low, ?)::INTEGER" for _ in words) or "0"
    whole = " OR ".join("contains(low, ?)" for _ in phrases) or "false"
    # A ruled-out approach has an event of its own kind; elsewhere the payload names the type, and an amendment may.
    amended = "memory_id IN (SELECT memory_id FROM memory_events WHERE kind = 'amend')"
    typed = f"{amended} OR (kind = 'rule_out' AND ?) OR regexp_matches(payload, ?)"
    named = f'"type"\\s*:\\s*"({"|".join(types)})"'
    rows = con.execute(
        f"""SELECT memory_id FROM (SELECT memory_id, kind, payload, lower(payload) AS low FROM memory_events
            WHERE kind IN ('assert', 'rule_out', 'amend'))
            WHERE ({whole}) OR ((? OR {typed}) AND ({counted}) >= ?)""",
        [
            *(one.lower() for one in phrases), not types, "dead_end" in types, named,
            *(one.lower() for one in words), max(1, fewest),
        ],
    ).fetchall()  # fmt: skip
    ids = sorted({str(row[0]) for row in rows})
    where = "WHERE memory_id IN (SELECT unnest(?::VARCHAR[]))"
    return _make_records(
        con.execute(f"SELECT {_COLUMNS} FROM memory_events {where} ORDER BY pos, rowid", [ids]).fetchall()
    )


def has_events(con: Connection) -> bool:
    """True if anything was ever remembered here."""
    return con.execute("SELECT 1 FROM memory_events LIMIT 1").fetchone() is not None
