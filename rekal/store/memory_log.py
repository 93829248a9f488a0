"""The rows of ``memory_events``: append and read. What they mean is the memory room's."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC
from typing import Any

from rekal.model import MemoryEvent
from rekal.store.database import Connection, insert_rows, without_zone
from rekal.store.ledger import Ledger
from rekal.store.tombstones import read_forgotten_words

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
    rows = con.execute(*_candidates_query(words, phrases, fewest, types)).fetchall()
    ids = sorted({str(row[0]) for row in rows})
    where = "WHERE memory_id IN (SELECT unnest(?::VARCHAR[]))"
    return _make_records(
        con.execute(f"SELECT {_COLUMNS} FROM memory_events {where} ORDER BY pos, rowid", [ids]).fetchall()
    )


def _candidates_query(
    words: Sequence[str], phrases: Sequence[str], fewest: int, types: Sequence[str]
) -> tuple[str, list[object]]:
    """Query and parameters that name the memories of :func:`read_related`."""
    # Materialized: otherwise every comparison of a row lowers its payload anew, which doubles the cost.
    lowered = """WITH written AS MATERIALIZED (SELECT memory_id, kind, lower(payload) AS low FROM memory_events
                 WHERE kind IN ('assert', 'rule_out', 'amend'))"""
    whole = " OR ".join("contains(low, ?)" for _ in phrases) or "false"
    values: list[object] = [one.lower() for one in phrases]
    if not types:
        # Each word narrows what the next one is looked for in, so the longest and rarest comes first.
        tests = ["contains(low, ?)" for _ in words]
        enough = " AND ".join(tests) if fewest == len(words) else f"{_sum_of(tests)} >= {max(1, fewest)}"
        return f"{lowered} SELECT memory_id FROM written WHERE ({whole}) OR ({enough or 'false'})", [
            *values, *(one.lower() for one in words),
        ]  # fmt: skip
    # A ruled-out approach has an event of its own kind; elsewhere the payload names the type, unless it was amended.
    named = f'"type"\\s*:\\s*"({"|".join(types)})"'
    typed = """SELECT low, memory_id FROM written
               WHERE memory_id IN (SELECT memory_id FROM written WHERE kind = 'amend')
               OR (kind = 'rule_out' AND ?) OR (kind = 'assert' AND regexp_matches(low, ?))"""
    query = f"""{lowered}, typed AS MATERIALIZED ({typed})
                SELECT memory_id FROM written WHERE {whole}
                UNION SELECT memory_id FROM typed WHERE {_sum_of(["contains(low, ?)" for _ in words])} >= ?"""
    return query, ["dead_end" in types, named, *values, *(one.lower() for one in words), max(1, fewest)]


def _sum_of(tests: Sequence[str]) -> str:
    """An expression for how many of ``tests`` hold."""
    return " + ".join(f"{test}::INTEGER" for test in tests) or "0"


def has_events(con: Connection) -> bool:
    """True if anything was ever remembered here."""
    return con.execute("SELECT 1 FROM memory_events LIMIT 1").fetchone() is not None
