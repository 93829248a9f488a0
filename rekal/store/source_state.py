"""Where reading of this machine's transcripts and documents stopped, and what is stored of a document."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Collection, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from rekal.store.database import Connection, insert_rows, make_record
from rekal.store.erase import erase
from rekal.store.ledger import Ledger
from rekal.store.tombstones import read_forgotten_words


class SourceState(msgspec.Struct, frozen=True):
    """One source as it was when last read.

    ``belongs`` is false for a source of another repository: it is remembered so that it is not read again until it
    changes. ``error`` is why nothing of it could be read; it is tried again when size or time move.
    """

    source: str
    agent: str
    size: int
    mtime_ns: int
    offset: int = 0
    prefix_hash: str = ""
    session_id: str | None = None
    belongs: bool = True
    skipped_bytes: int = 0
    drift: Mapping[str, int] = msgspec.field(default_factory=dict)
    error: str | None = None


class SourceSummary(msgspec.Struct, frozen=True):
    """Sums over one agent's sources, as ``status`` shows them."""

    agent: str
    sources: int
    skipped_bytes: int
    drift: Mapping[str, int]
    unreadable: int


def read_states(con: Connection) -> dict[str, SourceState]:
    """All sources known, by key."""
    rows = con.execute(
        """SELECT source, agent, size, mtime_ns, "offset", prefix_hash, session_id, belongs, skipped_bytes, drift, error
           FROM source_state"""
    )
    states: dict[str, SourceState] = {}
    nothing: dict[str, int] = {}  # of almost every source: one for all of them
    while batch := rows.fetchmany(1000):  # there may be 200,000, whose rows need not all be in memory beside the states
        for row in batch:
            drift = nothing if row[9] == "{}" else msgspec.json.decode(row[9])
            states[row[0]] = make_record(SourceState, (row[0], sys.intern(row[1]), *row[2:9], drift, row[10]))
    return states


def save_states(con: Connection, found: Sequence[SourceState]) -> None:
    """Remember sources, each once, in place of what was known of them."""
    words = read_forgotten_words(con)
    # Errors quote what could not be read.
    plain = [replace(state, error=None) if words.are_in(state.error) else state for state in found]
    insert_rows(con, "source_state", [_state_row(state) for state in plain], replace=True)


def delete_states(con: Connection, sources: Sequence[str]) -> None:
    """Forget that sources were ever read."""
    con.execute("DELETE FROM source_state WHERE list_contains(?::VARCHAR[], source)", [list(sources)])


def _state_row(state: SourceState) -> tuple[object, ...]:
    import json  # 1 ms that only a capture needs

    drift = json.dumps(dict(sorted(state.drift.items())))
    place = (state.source, state.agent, state.size, state.mtime_ns, state.offset, state.prefix_hash)
    return (*place, state.session_id, state.belongs, state.skipped_bytes, drift, state.error)


def summarise_sources(con: Connection) -> list[SourceSummary]:
    """Per agent: sources of this repository, bytes skipped, unknown record types, unreadable sources."""
    found: dict[str, list[SourceState]] = {}
    for state in read_states(con).values():
        if state.belongs or state.error:
            found.setdefault(state.agent, []).append(state)
    return [_sum_up(agent, found[agent]) for agent in sorted(found)]


def _sum_up(agent: str, group: list[SourceState]) -> SourceSummary:
    drift: Counter[str] = Counter()
    for state in group:
        drift.update(state.drift)
    skipped = sum(state.skipped_bytes for state in group)
    return SourceSummary(agent, len(group), skipped, dict(drift), sum(state.error is not None for state in group))


ERASED = "erased_at"
"""Key in ``meta``: the position at which sessions were last taken out without a tombstone, as documents are."""


def list_source_sessions(con: Connection, source_id: str) -> set[str]:
    """List the sessions of a source; their native ids begin with ``source_id`` and ``#``."""
    rows = con.execute("SELECT id FROM sessions WHERE starts_with(native_id, ?)", [f"{source_id}#"]).fetchall()
    return {str(row[0]) for row in rows}


def erase_sessions(ledger: Ledger, session_ids: Collection[str]) -> int:
    """Delete sessions, without a tombstone: the same text may come back. Inside a transaction; returns their number.

    An index that covers less than this transaction is then built anew.
    """
    erased = erase(ledger.con, session_ids)
    if erased.sessions:
        ledger.con.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", [ERASED, str(ledger.pos)])
    return erased.sessions


def read_chunks(con: Connection, source_id: str) -> list[tuple[str, int, str, str]]:
    """Read the chunks of a source in order: session, number, text, place."""
    rows = con.execute(
        """SELECT t.session_id, t.seq, t.content, coalesce(c.command, '')
           FROM sessions s JOIN turns t ON t.session_id = s.id
           LEFT JOIN tool_calls c ON c.session_id = t.session_id AND c.turn_seq = t.seq
           WHERE starts_with(s.native_id, ?)
           QUALIFY row_number() OVER (PARTITION BY t.session_id, t.seq ORDER BY c.seq) = 1
           ORDER BY s.started_at, t.session_id, t.seq""",
        [f"{source_id}#"],
    ).fetchall()
    return [(str(session), int(seq), str(text), str(place)) for session, seq, text, place in rows]


class ChunkPlace(msgspec.Struct, frozen=True):
    """Location of a chunk: its file as shown, the place in it, the format's name."""

    path: str
    place: str
    kind: str


def read_places(con: Connection, session_ids: Sequence[str]) -> dict[tuple[str, int], ChunkPlace]:
    """Read the places of the chunks of sessions, by session and number."""
    rows = con.execute(
        """SELECT c.session_id, c.turn_seq, c.path, c.command, s.agent FROM tool_calls c
           JOIN sessions s ON s.id = c.session_id WHERE list_contains(?::VARCHAR[], c.session_id)
           -- The call of a chunk that was left out passes to the one before it, whose own comes first.
           ORDER BY c.session_id, c.seq DESC""",
        [list(session_ids)],
    ).fetchall()
    return {
        (str(one), int(seq)): ChunkPlace(str(path), str(place or ""), str(kind)) for one, seq, path, place, kind in rows
    }


class SourceCount(msgspec.Struct, frozen=True):
    """Sessions and chunks held of one source, or of one format."""

    name: str
    kind: str
    sessions: int
    chunks: int


def count_sources(con: Connection) -> list[SourceCount]:
    """Count sessions and chunks by file, the largest first."""
    rows = con.execute(
        """SELECT coalesce(s.cwd, ''), s.agent, count(DISTINCT s.id), count(t.uid)
           FROM sessions s JOIN turns t ON t.session_id = s.id GROUP BY ALL ORDER BY 4 DESC, 1, 2"""
    ).fetchall()
    return [make_record(SourceCount, row) for row in rows]
