"""Reading index.db: whole columns as numpy arrays, and the postings of a question's terms in one go.

A reader sees the file as it was when it opened, also when a newer one is renamed into its place meanwhile. Arrays
are read once and only when something asks for them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from rekal.errors import StoreDamaged, StoreError
from rekal.index import index_tables
from rekal.index.facets import NOBODY, UNKNOWN, Speakers
from rekal.index.freshness import ANALYSIS_VERSION
from rekal.index.index_tables import KINDS, Kind
from rekal.store.database import Connection, duckdb, make_record, open_database, translated_errors

Ints = NDArray[np.int32]
Longs = NDArray[np.int64]
Bools = NDArray[np.bool_]

_MOST_SELECTS = 64
_MOST_CACHED = 32  # results kept; a result is as long as the table of sessions at most

#: Microseconds that stand for "no time": earlier than anything, so "since" leaves it out by itself.
NO_TIME = -(1 << 62)


class Units(msgspec.Struct, frozen=True):
    """The documents of one kind, as parallel arrays of n units; a unit's *place* is its number in them.

    Turns are ordered by session, then place in it, so neighbours are adjacent; other kinds by document id. ``place``
    maps a document id to its place, -1 for documents of other kinds. ``session`` is a session number, -1 without one.
    """

    doc: Ints
    session: Ints
    seq: Ints
    length: Ints
    place: Ints

    def __len__(self) -> int:
        return len(self.doc)


class Sessions(msgspec.Struct, frozen=True):
    """Sessions by number: ids in order, parents' ids, ``rank`` (which settles ties), numbers by id.

    ``number_of`` is the number by ``session_ord``, the name of a session in the tables; -1 for none.
    """

    ids: tuple[str, ...]
    parents: tuple[str | None, ...]
    rank: Ints
    numbers: dict[str, int]
    number_of: Ints

    def __len__(self) -> int:
        return len(self.ids)

    def number(self, session_id: str) -> int | None:
        """The number of a session, None when the index does not have it."""
        return self.numbers.get(session_id)


class Postings(msgspec.Struct, frozen=True):
    """Occurrences of terms in documents of every kind, grouped by term: parallel arrays of one row a posting.

    ``term`` is an index into ``terms``, ``known`` says which terms the index has ever seen.
    """

    terms: tuple[str, ...]
    known: Bools
    term: Ints
    doc: Ints
    tf: Ints


class IndexedText(msgspec.Struct, frozen=True):
    """One document as it was said. ``occurred_us``: microseconds since 1970 UTC. ``key`` names what is no turn."""

    doc_id: int
    kind: Kind
    text: str
    session_id: str | None
    seq: int | None
    role: str | None
    key: str | None
    occurred_us: int | None


def _key(term: str) -> int:
    """Half of the term's MD5 as a number, equal to DuckDB's ``md5_number_lower``."""
    digest = hashlib.md5(term.encode("utf-8", "replace"), usedforsecurity=False).digest()
    return int.from_bytes(digest[8:], "little")


# Literals, not parameters: only they let row groups without a term be skipped. Terms come in order, so that sums
# over them round the same way in every build of the same data.
def _each_term(wanted: Sequence[tuple[int, int]]) -> str:
    """One scan a term: half the time of one scan for all while terms are few."""
    return " UNION ALL ".join(
        f"SELECT {number}::INTEGER AS term, doc_id, tf FROM postings WHERE term_id = {term_id}"
        for number, term_id in wanted
    )


def _all_terms(wanted: Sequence[tuple[int, int]]) -> str:
    numbers = ", ".join(f"({number}, {term_id})" for number, term_id in wanted)
    listed = ", ".join(str(term_id) for _, term_id in wanted)
    return f"""SELECT term, doc_id, tf FROM postings JOIN (VALUES {numbers}) AS asked(term, term_id) USING (term_id)
        WHERE term_id IN ({listed}) ORDER BY term"""


class IndexReader:
    """An open index. Use :func:`open_index`."""

    def __init__(self, con: Connection, path: Path) -> None:
        self.con = con
        self.path = path
        self.state = index_tables.read_state(con)
        self._units: dict[Kind, Units] = {}
        self._cached: dict[tuple[object, ...], list[tuple[Any, ...]]] = {}

    @property
    def position(self) -> int:
        """The ledger position that this index covers."""
        return int(self.state["position"])

    def columns(self, sql: str, values: Sequence[object] = ()) -> dict[str, NDArray[Any]]:
        """A query's result as arrays by column name."""
        with translated_errors(self.path):
            return self.con.execute(sql, list(values)).fetchnumpy()

    def rows(self, sql: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
        """A query's result as rows."""
        with translated_errors(self.path):
            return self.con.execute(sql, list(values)).fetchall()

    def cached_rows(self, sql: str, *values: object) -> list[tuple[Any, ...]]:
        """The rows of a query that is asked again and again: the last few are kept, asking costs 1 to 3 ms."""
        asked = (sql, *values)
        if asked not in self._cached:
            if len(self._cached) >= _MOST_CACHED:
                del self._cached[next(iter(self._cached))]
            self._cached[asked] = self.rows(sql, values)
        return self._cached[asked]

    @cached_property
    def sessions(self) -> Sessions:
        """All sessions."""
        # By id, not in the order in which the index got to know them: so an index that has grown and one that was
        # built at once have the same places, and sums over them round alike.
        found = sorted(self.rows("SELECT session_id, parent_id, session_ord FROM facets"))
        ids = tuple(str(row[0]) for row in found)
        ordinals = np.array([row[2] for row in found], np.int32)
        number_of = np.full(int(ordinals.max(initial=-1)) + 1, -1, np.int32)
        number_of[ordinals] = np.arange(len(ids), dtype=np.int32)
        numbers = {session_id: number for number, session_id in enumerate(ids)}
        return Sessions(ids, tuple(row[1] for row in found), np.arange(len(ids), dtype=np.int32), numbers, number_of)

    @cached_property
    def _docs(self) -> dict[str, NDArray[Any]]:
        return self.columns(
            """SELECT doc_id, enum_code(kind) AS kind, coalesce(session_ord, -1) AS session, coalesce(seq, -1) AS seq,
               length FROM docs"""
        )

    def units(self, kind: Kind) -> Units:
        """The documents of one kind."""
        if kind not in self._units:
            self._units[kind] = self._read_units(kind)
        return self._units[kind]

    def _read_units(self, kind: Kind) -> Units:
        docs = self._docs
        rows = np.flatnonzero(docs["kind"] == KINDS.index(kind))
        doc, session, seq = docs["doc_id"][rows], docs["session"][rows], docs["seq"][rows]
        # Nearly sorted as stored, so a stable sort costs next to nothing.
        named = session >= 0
        session[named] = self.sessions.number_of[session[named]]
        order = np.argsort(session.astype(np.int64) << 32 | seq if kind == "turn" else doc, kind="stable")
        place = np.full(int(docs["doc_id"].max(initial=-1)) + 1, -1, np.int32)
        place[doc[order]] = np.arange(len(order), dtype=np.int32)
        return Units(doc[order], session[order], seq[order], docs["length"][rows][order], place)

    @cached_property
    def speakers(self) -> Speakers:
        """Speakers of all turns; no names in a store of sessions without labels."""
        units = self.units("turn")
        rows = self.rows("SELECT doc_id, says, hears FROM speech ORDER BY doc_id")
        names = tuple(sorted({str(says) for _, says, _ in rows}))
        number = {name: at for at, name in enumerate(names)}
        says, hears = np.full(len(units), NOBODY, np.int64), np.full(len(units), UNKNOWN, np.int64)
        for doc, who, listener in rows:
            says[units.place[doc]] = number[str(who)]
            hears[units.place[doc]] = number.get(str(listener), UNKNOWN)
        return Speakers(names, says, hears)

    @cached_property
    def session_bounds(self) -> tuple[Ints, Ints]:
        """Places of the first and last turn of the session of each turn, by place."""
        turns = self.units("turn")
        starts = np.flatnonzero(np.diff(turns.session, prepend=-1)).astype(np.int32)
        sizes = np.diff(starts, append=len(turns))
        return np.repeat(starts, sizes), np.repeat(starts + sizes.astype(np.int32) - 1, sizes)

    @cached_property
    def turn_times(self) -> Longs:
        """When each turn was said, by place, in microseconds since 1970 UTC; :data:`NO_TIME` when unknown."""
        found = self.columns(
            "SELECT doc_id, coalesce(epoch_us(occurred_at), ?) AS micros FROM docs WHERE kind = 'turn'", [NO_TIME]
        )
        times = np.empty(len(self.units("turn")), np.int64)
        times[self.units("turn").place[found["doc_id"]]] = found["micros"]
        return times

    def turn_before(self, session_id: str, when: datetime) -> int | None:
        """The last turn of a session that was said by then; None when the index has none."""
        found = self.rows(
            "SELECT max(seq) FROM docs WHERE kind = 'turn' AND session_id = ? AND occurred_at <= ?",
            [session_id, when.astimezone(UTC).replace(tzinfo=None)],
        )
        return None if found[0][0] is None else int(found[0][0])

    def postings(self, terms: Sequence[str]) -> Postings:
        """Postings of distinct ``terms``."""
        ids = self._term_ids(terms)
        wanted = [(number, ids[term]) for number, term in enumerate(terms) if term in ids]
        known = np.array([term in ids for term in terms], np.bool_)
        if not wanted:
            nothing = np.empty(0, np.int32)
            return Postings(tuple(terms), known, nothing, nothing, nothing)
        rows = self.columns(_each_term(wanted) if len(wanted) <= _MOST_SELECTS else _all_terms(wanted))
        return Postings(tuple(terms), known, rows["term"], rows["doc_id"], rows["tf"])

    def stored_terms(self, terms: Sequence[str]) -> set[str]:
        """The ``terms`` that the index has ever seen, in documents of any kind."""
        return set(self._term_ids(list(dict.fromkeys(terms))))

    def turn_counts(self, terms: Sequence[str]) -> dict[str, int]:
        """Number of turns by term, for those of ``terms`` that any turn has."""
        ids = self._term_ids(list(dict.fromkeys(terms)))
        if not ids:
            return {}
        found = self.columns(_all_terms([(number, term_id) for number, term_id in enumerate(ids.values())]))
        inside = self.units("turn").place[found["doc_id"]] >= 0
        counts = np.bincount(found["term"][inside], minlength=len(ids)).tolist()
        return {term: count for term, count in zip(ids, counts, strict=True) if count}

    def _term_ids(self, terms: Sequence[str]) -> dict[str, int]:
        # By key alone: among 64-bit numbers two of a million terms do not meet, and reading the text to make sure
        # would more than double the time.
        keys = {_key(term): term for term in terms}
        found = self.rows(f"SELECT key, term_id FROM terms WHERE key IN ({', '.join(map(str, keys)) or 'NULL'})")
        return {keys[key]: int(term_id) for key, term_id in found}

    def texts(self, doc_ids: Sequence[int]) -> list[IndexedText]:
        """The documents with these ids, in the order given; ids without a document are left out."""
        wanted = ", ".join(str(int(doc_id)) for doc_id in doc_ids)
        # Through rowids only the texts asked for are read: 6 ms instead of 67 for ten of 200,000.
        rows = self.rows(f"{_TEXT} WHERE rowid IN (SELECT rowid FROM docs WHERE doc_id IN ({wanted or 'NULL'}))")
        by_id = {row[0]: make_record(IndexedText, row) for row in rows}
        return [by_id[doc_id] for doc_id in doc_ids if doc_id in by_id]


_TEXT = """SELECT doc_id, kind::VARCHAR, text, session_id, seq, role::VARCHAR, key, epoch_us(occurred_at) FROM docs"""


@contextmanager
def open_index(path: Path, *, wait: float = 5.0) -> Iterator[IndexReader]:
    """Open index.db for reading and close it after.

    Within one process, a second reader opened while a first is still open sees the first one's file, even when a
    newer one has been renamed in: who keeps a reader closes it before opening the next.

    Raises :class:`StoreError` when there is none or another version made it, :class:`StoreDamaged` when it is no
    complete index; an update puts all three right.
    """
    if not path.exists():
        raise StoreError("there is no index yet", "run `rekal index`")
    con = open_database(path, read_only=True, wait=wait)
    try:
        yield _checked(con, path)
    finally:
        con.close()


def _checked(con: Connection, path: Path) -> IndexReader:
    try:
        with translated_errors(path):
            reader = IndexReader(con, path)
    except duckdb.CatalogException:  # to ask the catalogue first takes 6 ms of every opening
        raise StoreDamaged(f"{path.name} is not a complete index", "run `rekal index`") from None
    analysis = reader.state.get("analysis", "").partition("/")[0]
    if (reader.state.get("schema_version"), analysis) != (str(index_tables.SCHEMA_VERSION), str(ANALYSIS_VERSION)):
        raise StoreError(f"{path.name} was made by another version of rekal", "run `rekal index`")
    return reader
