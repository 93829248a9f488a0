"""Bringing index.db up to the ledger: in a copy that is renamed in, so no reader ever meets half an index.

A small change appends to a copy of the file. Whatever makes the copy untrustworthy leads to a full build from the
ledger: no index yet, one that is damaged, made by another version of the analysis or from another store, or a ledger
from which something was forgotten. A full build is also what erases forgotten text from the file: DuckDB only marks
deleted rows.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from rekal.errors import StoreBusy, StoreDamaged, StoreUnwritable
from rekal.index import schema
from rekal.index.facets import changed_sessions, read_facets, read_opened, write_facets, write_opened
from rekal.index.standing import damage_named, quoted, state_of, why_full
from rekal.index.text import analysis_id
from rekal.index.vectors import write_chunks
from rekal.index.writer import Doc, Writer, remove_docs
from rekal.store.connect import Connection, connect, translated
from rekal.store.engine import duckdb
from rekal.store.ledger import Ledger

_BATCH = 4096
_BUILDING = ".building-"


class Indexed(msgspec.Struct, frozen=True):
    """What an update did. ``reason`` says why it was a full build, and is empty otherwise."""

    full: bool
    reason: str
    turns: int
    sessions: int
    position: int


#: Another layer of the index (memories, vectors, knowledge): called with the ledger, the new index's connection and the
#: ledger position the index covered before, -1 for a full build. It runs in the same transaction as everything else.
Part = Callable[[Ledger, Connection, int], None]


def update(ledger: Ledger, index_path: Path, *, full: bool = False, parts: Sequence[Part] = ()) -> Indexed:
    """Make index.db at ``index_path`` cover ``ledger``, ``parts`` included. The caller holds the index lock.

    Raises :class:`StoreUnwritable` when the directory or disk does not allow it; the old index is then still there.
    """
    _sweep(index_path)
    if full:
        return _build(ledger, index_path, "asked for", parts)
    if not index_path.exists():
        return _build(ledger, index_path, "there is no index yet", parts)
    try:
        state = state_of(ledger.con, index_path)
        reason = why_full(ledger, state)
        if not reason:
            return _append(ledger, index_path, int(state["position"]), parts)
    except StoreDamaged:
        reason = "the index is damaged"
    return _build(ledger, index_path, reason, parts)


def _sweep(index_path: Path) -> None:
    """Remove what an interrupted build left: whoever made it is gone, since the caller holds the lock."""
    for left in index_path.parent.glob(f"{index_path.name}{_BUILDING}*"):
        left.unlink(missing_ok=True)


def _build(ledger: Ledger, index_path: Path, reason: str, parts: Sequence[Part]) -> Indexed:
    with translated(ledger.path):
        ids = [str(row[0]) for row in ledger.con.execute("SELECT id FROM sessions ORDER BY id").fetchall()]
    with replacing(index_path, copy=False) as con:
        schema.create(con)
        turns = _write(ledger, con, ids, after=-1)
        for part in parts:
            part(ledger, con, -1)
    return Indexed(True, reason, turns, len(ids), ledger.position())


def _append(ledger: Ledger, index_path: Path, covered: int, parts: Sequence[Part]) -> Indexed:
    if covered == ledger.position():
        return Indexed(False, "", 0, 0, covered)
    with translated(ledger.path):
        ids = changed_sessions(ledger.con, covered)
    with replacing(index_path, copy=True) as con:
        turns = _write(ledger, con, ids, after=covered)
        for part in parts:
            part(ledger, con, covered)
    return Indexed(False, "", turns, len(ids), ledger.position())


def _allocate(path: Path) -> None:
    """An empty database of 64 KiB blocks: a fifth smaller than with the default of 256, and appending wastes less."""
    con = duckdb.connect()
    con.execute(f"ATTACH {quoted(path)} (BLOCK_SIZE 65536)")
    con.close()


@contextmanager
def replacing(index_path: Path, *, copy: bool) -> Iterator[Connection]:
    """A connection to a new file that takes the index's place when the block succeeds and vanishes otherwise.

    ``copy``: it starts as a copy of the index, else empty. The block is one transaction. The caller holds the lock.
    """
    building = index_path.with_name(f"{index_path.name}{_BUILDING}{os.getpid()}")
    try:
        # In a new file a missing table is a mistake of ours, in a copy it is damage.
        with damage_named(index_path) if copy else translated(index_path):
            if copy:
                shutil.copyfile(index_path, building)
            else:
                _allocate(building)
            con = connect(building, read_only=False)
            try:
                con.execute("BEGIN")
                yield con
                con.execute("COMMIT")
                con.execute("CHECKPOINT")
            finally:
                con.close()
        building.replace(index_path)
    except PermissionError as error:
        # Where an open file cannot be replaced, a reader is what stands in the way.
        raise StoreBusy(f"{index_path.name} cannot be replaced ({error.strerror})", "try again in a moment") from None
    except OSError as error:
        raise StoreUnwritable(f"{index_path.name} cannot be written ({error.strerror})", "free some space") from None
    finally:
        _sweep(index_path)


def _write(ledger: Ledger, con: Connection, ids: list[str], after: int) -> int:
    """Index what is newer than ``after`` in the sessions ``ids``; returns the number of turns added."""
    with translated(ledger.path):
        facets = [row for at in range(0, len(ids), _BATCH) for row in read_facets(ledger.con, ids[at : at + _BATCH])]
        opened = read_opened(ledger.con)
    ordinals = _ordinals(con, [row.session_id for row in facets])
    writer = Writer(con)
    turns = 0
    for batch in _new_turns(ledger, ordinals, after):
        turns += len(writer.add(batch))
    if after >= 0:
        remove_docs(con, "facet", "list_contains(?, session_ord)", [list(ordinals.values())])
    writer.add(write_facets(con, facets, ordinals))
    writer.flush()
    write_chunks(con)
    write_opened(con, opened)
    _stamp(ledger, con)
    return turns


def _ordinals(con: Connection, ids: list[str]) -> dict[str, int]:
    """A number for each session: the one it has, or the next."""
    known = {str(i): int(n) for i, n in con.execute("SELECT session_id, session_ord FROM facets").fetchall()}
    following = max(known.values(), default=-1) + 1
    fresh = [session_id for session_id in ids if session_id not in known]
    numbers = known | {session_id: following + at for at, session_id in enumerate(fresh)}
    return {session_id: numbers[session_id] for session_id in ids}


def _new_turns(ledger: Ledger, ordinals: dict[str, int], after: int) -> Iterator[list[Doc]]:
    """Turns newer than ``after``, session by session. A turn without a time has its session's."""
    with translated(ledger.path):
        rows = ledger.con.execute(
            """SELECT t.session_id, seq, role, content, epoch_us(coalesce(occurred_at, s.started_at))
               FROM turns t JOIN sessions s ON s.id = t.session_id WHERE t.pos > ? ORDER BY t.session_id, seq""",
            [after],
        )
        while batch := rows.fetchmany(_BATCH):
            yield [
                Doc("turn", content, ordinals[owner], owner, seq, role, occurred_us=at)
                for owner, seq, role, content, at in batch
            ]


def _stamp(ledger: Ledger, con: Connection) -> None:
    stamps = {
        "schema_version": str(schema.SCHEMA_VERSION),
        "analysis": analysis_id(),
        "store_id": ledger.meta("store_id") or "",
        "position": str(ledger.position()),
        "built_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    schema.write_state(con, stamps)
