"""Adding documents to an open index and taking them out again. Every kind of document goes through here."""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import chain, count

import msgspec
import numpy as np
from numpy.typing import NDArray

from rekal.index.index_tables import Kind
from rekal.index.text import chunk_terms, forget_terms
from rekal.store.database import Connection

Ints = NDArray[np.int32]

_SORTED_AT_ONCE = 2_000_000
_NO_TIME = -(1 << 62)


class Doc(msgspec.Struct, frozen=True, gc=False):
    """One searchable unit. ``occurred_us`` is microseconds since 1970 UTC. ``key`` names a unit that is no turn."""

    kind: Kind
    text: str
    session_ord: int | None = None
    session_id: str | None = None
    seq: int | None = None
    role: str | None = None
    key: str | None = None
    occurred_us: int | None = None


class BuildLimits(msgspec.Struct, frozen=True, gc=False):
    """Bounds of what building an index holds in memory.

    ``batch`` documents are kept before they are analysed and written together, ``pending`` postings (12 bytes each)
    before they are sorted and written: more of them give fewer stretches to read. ``small`` limits what the database
    takes, commits each stretch of postings, and forgets the words that were analysed for it.
    """

    batch: int = 4096
    pending: int = 16_000_000
    small: bool = False


USUAL = BuildLimits()
SMALL = BuildLimits(512, 350_000, small=True)
"""For documents: a mailbox has a hundred times the text of a year's sessions, and waits for no prompt."""


def _numbers() -> defaultdict[str, int]:
    """Numbers strings in order of first appearance."""
    return defaultdict(count().__next__)


class Writer:
    """Appends documents. Nothing is complete before :meth:`flush`; the caller begins and ends the transaction."""

    def __init__(self, con: Connection, limits: BuildLimits = USUAL) -> None:
        self._con = con
        self._limits = limits
        #: Id of the next document.
        self.next = read_number(con, "SELECT coalesce(max(doc_id) + 1, 0) FROM docs")
        self._vocabulary = _numbers()
        self._waiting: list[Doc] = []
        self._pending: list[tuple[Ints, Ints, Ints]] = []

    def add(self, docs: Sequence[Doc]) -> range:
        """Take ``docs`` and return their new ids, in order."""
        given = range(self.next, self.next + len(docs))
        self.next = given.stop
        self._waiting += docs
        if len(self._waiting) >= self._limits.batch:
            self._write()
        return given

    def _write(self) -> None:
        docs, self._waiting = self._waiting, []
        first = self.next - len(docs)
        lengths = self._analyse([doc.text for doc in docs], first)
        _insert_docs(self._con, docs, first, lengths)
        if sum(len(terms) for terms, _, _ in self._pending) > self._limits.pending:
            self._write_postings()

    def _analyse(self, texts: Sequence[str], first: int) -> Ints:
        """Queue the postings of documents numbered from ``first``; return their lengths in terms."""
        # Each chunk of a batch is looked up once, numpy does the rest: a look-up for each term of each document would
        # take as long as everything else.
        chunks, flat = _numbers(), array("i")
        sizes = np.empty(len(texts), np.int64)
        for at, text in enumerate(texts):
            words = text.split()
            flat.extend(map(chunks.__getitem__, words))
            sizes[at] = len(words)
        found = [chunk_terms(chunk) for chunk in chunks]
        terms = np.fromiter(map(self._vocabulary.__getitem__, chain.from_iterable(found)), np.int64)
        widths = np.fromiter(map(len, found), np.int64, len(found))
        chunk = np.frombuffer(flat, np.int32)
        width = widths[chunk]
        owner = np.repeat(np.repeat(np.arange(len(texts)), sizes), width)
        # Where the terms of each chunk begin, less where they go: with their new place added, where each comes from.
        shift = (np.cumsum(widths) - widths)[chunk] - (np.cumsum(width) - width)
        term = terms[np.repeat(shift, width) + np.arange(len(owner))]
        pairs, counts = np.unique(term << 32 | (owner + first), return_counts=True)
        self._pending.append(
            ((pairs >> 32).astype(np.int32), (pairs & 0xFFFFFFFF).astype(np.int32), counts.astype(np.int32))
        )
        return np.bincount(owner, minlength=len(texts)).astype(np.int32)

    def flush(self) -> None:
        """Write everything added so far; postings are ordered by term, then document."""
        if self._waiting:
            self._write()
        if self._pending:
            self._write_postings()

    def _write_postings(self) -> None:
        ids = _term_ids(self._con, list(self._vocabulary))
        counts = np.zeros(int(ids.max(initial=-1)) + 1, np.int64)
        for local, _, _ in self._pending:
            counts += np.bincount(ids[local], minlength=len(counts))
        # Sorted in stretches of terms: all at once would take five times the memory of what waits.
        bounds = np.flatnonzero(np.diff(np.cumsum(counts) // _SORTED_AT_ONCE, prepend=0, append=-1))
        for low, high in zip([0, *bounds[:-1]], bounds, strict=True):
            if low < high:
                self._write_terms(ids, int(low), int(high))
        self._pending.clear()
        self._vocabulary = _numbers()
        if self._limits.small:
            # What is not committed stays in memory. Nobody sees the file before it is whole and takes its name.
            self._con.execute("COMMIT")
            self._con.execute("BEGIN")
            forget_terms()

    def _write_terms(self, ids: Ints, low: int, high: int) -> None:
        """Write the waiting postings of the terms from ``low`` to below ``high``; ``ids`` are the terms' own."""
        found: list[tuple[Ints, Ints, Ints]] = []
        for local, docs, tf in self._pending:
            terms = ids[local]
            wanted = (terms >= low) & (terms < high)
            found.append((terms[wanted], docs[wanted], tf[wanted]))
        term, doc, tf = (np.concatenate(column) for column in zip(*found, strict=True))
        order = np.argsort(term.astype(np.int64) << 32 | doc)
        rows = {"term": term[order], "doc": doc[order], "tf": tf[order]}
        _insert(self._con, "INSERT INTO postings SELECT term, doc, tf FROM batch", rows)


def read_number(con: Connection, sql: str) -> int:
    """The one number that a query answers."""
    return int(con.execute(sql).fetchall()[0][0])


def _insert(con: Connection, sql: str, columns: dict[str, NDArray[np.generic]]) -> None:
    """Run ``sql`` over ``columns`` seen as a table named ``batch``: a hundred times the speed of executemany.

    The columns are empty afterwards: DuckDB holds them until the transaction ends, and with them every text.
    """
    con.register("batch", columns)
    con.execute(sql)
    con.unregister("batch")
    for column in columns.values():
        if column.dtype.hasobject:
            column.fill(None)
        if column.flags.owndata:
            column.resize(0, refcheck=False)


def _objects(values: Iterable[str | None], count: int) -> NDArray[np.object_]:
    return np.fromiter(values, dtype=object, count=count)


def _insert_docs(con: Connection, docs: Sequence[Doc], first: int, lengths: Ints) -> None:
    n = len(docs)
    columns: dict[str, NDArray[np.generic]] = {
        "doc_id": np.arange(first, first + n, dtype=np.int32),
        "kind": _objects((doc.kind for doc in docs), n),
        "ord": np.fromiter((-1 if doc.session_ord is None else doc.session_ord for doc in docs), np.int32, n),
        "session_id": _objects((doc.session_id for doc in docs), n),
        "seq": np.fromiter((-1 if doc.seq is None else doc.seq for doc in docs), np.int32, n),
        "role": _objects((doc.role for doc in docs), n),
        "key": _objects((doc.key for doc in docs), n),
        "length": lengths,
        "text": _objects((doc.text for doc in docs), n),
        "micros": np.fromiter((_NO_TIME if doc.occurred_us is None else doc.occurred_us for doc in docs), np.int64, n),
    }
    _insert(
        con,
        f"""INSERT INTO docs SELECT doc_id, kind, nullif(ord, -1), session_id, nullif(seq, -1), role, key, length,
            text, CASE WHEN micros > {_NO_TIME} THEN make_timestamp(micros) END FROM batch""",
        columns,
    )


def _term_ids(con: Connection, terms: list[str]) -> Ints:
    """Ids of distinct ``terms``, in order; those never seen get new ones."""
    first_new = read_number(con, "SELECT coalesce(max(term_id) + 1, 0) FROM terms")
    found = np.full(len(terms), -1, np.int32) if not first_new else _stored_term_ids(con, terms)
    unseen = np.flatnonzero(found < 0)
    found[unseen] = np.arange(first_new, first_new + len(unseen), dtype=np.int32)
    rows = {"id": found[unseen], "term": _objects((terms[at] for at in unseen), len(unseen))}
    if len(unseen):
        _insert(con, "INSERT INTO terms SELECT id, md5_number_lower(term), term FROM batch", rows)
    return found


def _stored_term_ids(con: Connection, terms: list[str]) -> Ints:
    found = np.full(len(terms), -1, np.int32)
    con.register("batch", {"place": np.arange(len(terms)), "term": _objects(terms, len(terms))})
    known = con.execute(
        """SELECT place, term_id FROM (SELECT place, md5_number_lower(term) AS key FROM batch) JOIN terms USING (key)"""
    ).fetchnumpy()
    con.unregister("batch")
    found[known["place"]] = known["term_id"]
    return found


def insert_index_rows(con: Connection, table: str, types: Sequence[str], rows: Sequence[tuple[object, ...]]) -> None:
    """Append a few rows, with lists in them or not; ``types`` are those of the columns, in order."""
    if rows:
        columns = ", ".join(f"unnest(?::{kind}[])" for kind in types)
        con.execute(f"INSERT INTO {table} SELECT {columns}", [list(column) for column in zip(*rows, strict=True)])


def remove_docs(con: Connection, kind: Kind, where: str, values: Sequence[object] = ()) -> int:
    """Take out the documents of ``kind`` that satisfy a condition on ``docs``' columns. Returns how many."""
    rows = con.execute(
        f"DELETE FROM docs WHERE kind = '{kind}' AND ({where}) RETURNING doc_id", list(values)
    ).fetchall()
    gone = [int(row[0]) for row in rows]
    con.execute("DELETE FROM postings WHERE doc_id IN (SELECT unnest(?::INTEGER[]))", [gone])
    return len(gone)
