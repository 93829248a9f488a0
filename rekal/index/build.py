"""Bringing index.db up to the ledger: in a copy that is renamed in, so no reader ever meets half an index.

A small change appends to a copy of the file. Whatever makes the copy untrustworthy leads to a full build from the
ledger: no index yet, one that is damaged, made by another version of the analysis or from another store, or a ledger
from which something was forgotten. A full build is also what erases forgotten text from the file: DuckDB only marks
deleted rows.
"""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from rekal.errors import StoreBusy, StoreDamaged, StoreUnwritable
from rekal.git import Repo
from rekal.index import freshness, index_tables
from rekal.index.facets import changed_sessions, copy_opened, read_facets, replace_facets, write_speakers
from rekal.index.freshness import KNOWLEDGE
from rekal.index.knowledge import Scrub, Warn, knowledge_part, refresh_knowledge
from rekal.index.vectors import prune_vectors, write_chunks
from rekal.index.writer import SMALL, USUAL, BuildLimits, Doc, Writer, read_number
from rekal.store.database import MEMORY, ROW_GROUP_SIZE, SMALL_MEMORY, Connection, duckdb, quote_path, translated_errors
from rekal.store.guard import note_own_file
from rekal.store.layout import Layout
from rekal.store.ledger import Ledger, open_ledger
from rekal.store.locks import hold_lock

_BATCH = 4096
_SORTING = 5  # bytes of memory for each byte of text that is sorted
_BUILDING = ".building-"


class Indexed(msgspec.Struct, frozen=True):
    """Result of an update. ``reason`` says why it was a full build, and is empty otherwise."""

    full: bool
    reason: str
    turns: int
    sessions: int
    position: int


#: Another layer of the index (memories, vectors, knowledge): called with the ledger, the new index's connection and the
#: ledger position the index covered before, -1 for a full build. It runs in the same transaction as everything else.
Part = Callable[[Ledger, Connection, int], None]


def refresh_index(
    layout: Layout, repo: Repo, scrub: Scrub, warn: Warn, *, full: bool = False, wait: float = 60.0
) -> Indexed:
    """Bring the index of a store up to its ledger and to HEAD, or build it anew, under the index's lock.

    ``scrub`` is for passages of tracked prose; ``warn`` gets a sentence when the prose could not be indexed. Raises the
    store's errors; the old index then stays.
    """
    lock = hold_lock(layout.index_lock, wait=wait, purpose="indexing")
    with lock, open_ledger(layout.data, read_only=True, wait=wait) as ledger:
        done = update_index(ledger, layout.index, full=full, parts=[knowledge_part(repo, scrub, warn)])
        # The prose of a HEAD that moved while nothing new was captured.
        tree = freshness.head_tree(repo)
        if freshness.read_index_state(ledger.con, layout.index).get(KNOWLEDGE) != tree:
            with replace_index(ledger, layout.index, copy=True) as con:
                refresh_knowledge(con, repo, tree, scrub, warn)
        note_own_file(layout.index, layout.run)
    if done.full:
        # A full build is what follows when something was forgotten.
        prune_vectors(layout.index, layout.vectors)
    return done


def refresh_documents(layout: Layout, *, changed: bool, wait: float = 60.0) -> None:
    """Bring the index of documents up to their ledger. ``changed``: something was taken out, so vectors may be stale.

    Raises the store's errors; the old index then stays.
    """
    with (
        hold_lock(layout.index_lock, wait=wait, purpose="indexing"),
        open_ledger(layout.data, read_only=True, wait=wait) as ledger,
    ):
        update_index(ledger, layout.index, limits=SMALL)
    if changed:
        prune_vectors(layout.index, layout.vectors)


def update_index(
    ledger: Ledger,
    index_path: Path,
    *,
    full: bool = False,
    parts: Sequence[Part] = (),
    limits: BuildLimits = USUAL,
) -> Indexed:
    """Make index.db at ``index_path`` cover ``ledger``, ``parts`` included. The caller holds the index lock.

    Raises :class:`StoreUnwritable` when the directory or disk does not allow it; the old index is then still there.
    """
    _sweep(index_path)
    if full:
        return _build(ledger, index_path, "asked for", parts, limits)
    if not index_path.exists():
        return _build(ledger, index_path, "there is no index yet", parts, limits)
    try:
        state = freshness.read_index_state(ledger.con, index_path)
        reason = freshness.reason_for_full(ledger, state)
        if not reason:
            return _append_changes(ledger, index_path, int(state["position"]), parts, limits)
    except StoreDamaged:
        reason = "the index is damaged"
    return _build(ledger, index_path, reason, parts, limits)


def _sweep(index_path: Path) -> None:
    """Remove what an interrupted build left: whoever made it is gone, since the caller holds the lock."""
    for left in index_path.parent.glob(f"{index_path.name}{_BUILDING}*"):
        left.unlink(missing_ok=True)


@contextmanager
def _no_collection() -> Iterator[None]:
    """Without looking for cycles: a full build makes a million tuples and no cycle, and looking takes a tenth of it."""
    on = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if on:
            gc.enable()


def _build(ledger: Ledger, index_path: Path, reason: str, parts: Sequence[Part], limits: BuildLimits) -> Indexed:
    with translated_errors(ledger.path):
        ids = list(_read_ids(ledger.con.execute("SELECT id FROM sessions ORDER BY id")))
    with replace_index(ledger, index_path, copy=False, small=limits.small) as con, _no_collection():
        index_tables.create_tables(con)
        return _cover(ledger, con, ids, reason, parts, after=-1, limits=limits)


def _read_ids(rows: Connection) -> Iterator[str]:
    while some := rows.fetchmany(_BATCH):
        yield from (str(row[0]) for row in some)


def _append_changes(
    ledger: Ledger, index_path: Path, covered: int, parts: Sequence[Part], limits: BuildLimits
) -> Indexed:
    if covered == ledger.position():
        return Indexed(False, "", 0, 0, covered)
    with translated_errors(ledger.path):
        changed = changed_sessions(ledger.con, covered)
        sql = "SELECT id FROM sessions WHERE list_contains(?, id) ORDER BY id"
        ids = list(_read_ids(ledger.con.execute(sql, [changed])))
    with replace_index(ledger, index_path, copy=True, small=limits.small) as con:
        return _cover(ledger, con, ids, "", parts, after=covered, limits=limits)


def _cover(
    ledger: Ledger,
    con: Connection,
    ids: list[str],
    reason: str,
    parts: Sequence[Part],
    *,
    after: int,
    limits: BuildLimits,
) -> Indexed:
    """Write all layers of an open index and what it then covers."""
    position = ledger.position()
    turns = _write_sessions(ledger, con, ids, after, limits)
    for part in parts:
        part(ledger, con, after)
    stamps = {
        "schema_version": str(index_tables.SCHEMA_VERSION),
        "analysis": freshness.analysis_id(),
        "store_id": ledger.meta("store_id") or "",
        "position": str(position),
        "built_at": datetime.now(UTC).isoformat(timespec="seconds"),
    }
    index_tables.write_state(con, stamps)
    return Indexed(after < 0, reason, turns, len(ids), position)


@contextmanager
def replace_index(ledger: Ledger, index_path: Path, *, copy: bool, small: bool = False) -> Iterator[Connection]:
    """A connection to a new file that takes the index's place when the block succeeds and vanishes otherwise.

    ``copy``: it starts as a copy of the index, else empty. ``small``: in little memory. The block begins in a
    transaction and ends in one. The caller holds the lock.
    """
    building = index_path.with_name(f"{index_path.name}{_BUILDING}{os.getpid()}")
    try:
        # In a new file a missing table is a mistake of ours, in a copy it is damage.
        with freshness.name_damage(index_path) if copy else translated_errors(index_path):
            if copy:
                shutil.copyfile(index_path, building)
            with _attached(ledger.con, building, small=small) as con:
                yield con
        building.replace(index_path)
    except PermissionError as error:
        # Where an open file cannot be replaced, a reader is what stands in the way.
        raise StoreBusy(f"{index_path.name} cannot be replaced ({error.strerror})", "try again in a moment") from None
    except OSError as error:
        raise StoreUnwritable(f"{index_path.name} cannot be written ({error.strerror})", "free some space") from None
    finally:
        _sweep(index_path)


@contextmanager
def _attached(ledger: Connection, path: Path, *, small: bool) -> Iterator[Connection]:
    """A transaction on the file at ``path``, whole in that file when the block ends well."""
    # Beside the ledger: a database of its own would take 25 ms to open and close, a quarter of a small update.
    # Blocks of 64 KiB instead of 256 make the file a fifth smaller, and appending wastes less.
    groups = f", ROW_GROUP_SIZE {ROW_GROUP_SIZE}" if small else ""
    ledger.execute(f"ATTACH {quote_path(path)} AS building (READ_WRITE, BLOCK_SIZE 65536{groups})")
    # Committed straight into the file: by way of a log everything would be written and synced twice.
    ledger.execute("SET wal_autocheckpoint = '0KB'")
    con = ledger.cursor()
    try:
        con.execute("USE building")
        con.execute("BEGIN")
        yield con
        con.execute("COMMIT")
        con.execute("CHECKPOINT building")
    except BaseException:
        con.close()
        with suppress(duckdb.Error):  # what went wrong first is what counts
            ledger.execute("DETACH building")
        raise
    con.close()
    ledger.execute("DETACH building")


def _memory_to_sort(ledger: Connection, after: int) -> int:
    """Megabytes of memory in which the database can sort what is newer than ``after`` of any batch of sessions."""
    sql = f"""SELECT max(size) FROM (SELECT sum(size) AS size FROM
        (SELECT sum(strlen(content)) AS size, (row_number() OVER (ORDER BY session_id) - 1) // {_BATCH} AS batch
         FROM turns WHERE pos > ? GROUP BY session_id) GROUP BY batch)"""
    largest = ledger.execute(sql, [after]).fetchall()[0][0] or 0
    return max(SMALL_MEMORY, min(MEMORY, int(largest) * _SORTING >> 20))


def _write_sessions(ledger: Ledger, con: Connection, ids: list[str], after: int, limits: BuildLimits) -> int:
    """Index what is newer than ``after`` in the sessions ``ids``, in order; returns the number of turns added."""
    if limits.small:
        with translated_errors(ledger.path):
            ledger.con.execute(f"SET memory_limit = '{_memory_to_sort(ledger.con, after)}MB'")
            ledger.con.execute("SET threads = 1")  # each has buffers of its own
    writer = Writer(con, limits)
    first = writer.next
    turns = 0
    numbers: list[int] = []
    # Some sessions at a time: a store of documents has hundreds of thousands, which are not held at once.
    for some in _numbered_batches(con, ids, after):
        for docs in _new_turns(ledger, some, after, limits.batch):
            turns += len(writer.add(docs))
        numbers += some.ordinals.values()
    for some in _numbered_batches(con, ids, after, limits.batch):
        with translated_errors(ledger.path):
            facets = read_facets(ledger.con, some.ids)
        writer.add(replace_facets(con, facets, some.ordinals, some.stored))
    writer.flush()
    write_chunks(con, first)
    for at in range(0, len(numbers), _BATCH):
        write_speakers(con, numbers[at : at + _BATCH])
    with translated_errors(ledger.path):
        copy_opened(ledger.con, con, after)
    return turns


class _Batch(msgspec.Struct, frozen=True):
    """Some sessions with the number of each; ``stored`` are the numbers that have rows already."""

    ids: list[str]
    ordinals: dict[str, int]
    stored: list[int]


def _numbered_batches(con: Connection, ids: list[str], after: int, size: int = _BATCH) -> Iterator[_Batch]:
    """Yield the sessions in order, each with the number that it has, or the next: the same each time it is called."""
    following = read_number(con, "SELECT coalesce(max(session_ord) + 1, 0) FROM facets")
    for at in range(0, len(ids), size):
        some = ids[at : at + size]
        known = _stored_ordinals(con, some) if after >= 0 else {}
        fresh = [session_id for session_id in some if session_id not in known]
        numbered = known | {session_id: following + place for place, session_id in enumerate(fresh)}
        following += len(fresh)
        yield _Batch(some, numbered, list(known.values()))


def _stored_ordinals(con: Connection, ids: list[str]) -> dict[str, int]:
    sql = "SELECT session_id, session_ord FROM facets WHERE list_contains(?, session_id)"
    return {str(session_id): int(number) for session_id, number in con.execute(sql, [ids]).fetchall()}


def _new_turns(ledger: Ledger, some: _Batch, after: int, at_once: int) -> Iterator[list[Doc]]:
    """Yield the turns newer than ``after`` of ``some`` sessions, in order, ``at_once`` at a time.

    A turn without a time has its session's.
    """
    with translated_errors(ledger.path):
        rows = ledger.con.execute(
            """SELECT t.session_id, seq, role, content, epoch_us(coalesce(occurred_at, s.started_at))
               FROM turns t JOIN sessions s ON s.id = t.session_id
               WHERE t.pos > ? AND t.session_id BETWEEN ? AND ? ORDER BY t.session_id, seq""",
            [after, some.ids[0], some.ids[-1]],
        )
        while batch := rows.fetchmany(at_once):
            yield [
                Doc("turn", content, some.ordinals[owner], owner, seq, role, occurred_us=at)
                for owner, seq, role, content, at in batch
            ]
