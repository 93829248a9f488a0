"""How fast index.db is built, extended and searched, beside SQLite FTS5 and a plain ILIKE sweep.

    python -m benchmarks.bench_index [TURNS ...]        (default: 14000 200000)

Prints one JSON object a line. Times are medians in milliseconds of wall clock and, with ``_cpu``, of processor time
(what a busy machine does not change). FTS5 ranks turns only; ours ranks turns, windows, sessions and facets in the same
time.
"""

from __future__ import annotations

import json
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np

from benchmarks.corpus import Vocabulary, add_sessions, write
from rekal.index.bm25 import score_lexical
from rekal.index.build import update_index
from rekal.index.filters import Filters
from rekal.index.reader import IndexReader, open_index
from rekal.index.text import query_terms
from rekal.store.ledger import open_ledger

_QUESTIONS = 20
_ADDED_SESSIONS = 7


class Timer:
    """Collects wall-clock and processor milliseconds by name."""

    def __init__(self) -> None:
        self._taken: dict[str, list[float]] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self._taken.setdefault(name, []).append((time.perf_counter() - wall) * 1000)
        self._taken.setdefault(f"{name}_cpu", []).append((time.process_time() - cpu) * 1000)

    def median(self, name: str) -> float:
        """Median of one name, in milliseconds."""
        return statistics.median(self._taken[name])

    def medians(self) -> dict[str, float]:
        """All medians, rounded."""
        return {name: round(self.median(name), 1) for name in self._taken}


def main(sizes: list[int]) -> None:
    """Measure each size in a directory of its own and print what came out."""
    for turns in sizes:
        with tempfile.TemporaryDirectory() as directory:
            print(json.dumps(measure(Path(directory), turns)), flush=True)


def measure(directory: Path, turns: int) -> dict[str, float | int]:
    """All figures for a store of ``turns`` turns."""
    data, index, timer = directory / "data.db", directory / "index.db", Timer()
    vocabulary = write(data, turns)
    with open_ledger(data, read_only=True) as ledger, timer("full_build"):
        update_index(ledger, index)
    size = index.stat().st_size
    questions = [f"{vocabulary.sample(6)} {vocabulary.files[n]}" for n in range(_QUESTIONS)]
    _search(index, questions, timer)
    _peers(directory, data, questions, timer)
    _extend(data, index, vocabulary, timer)
    return {
        "turns": turns,
        "index_mb": round(size / 1e6, 1),
        "ledger_mb": round(data.stat().st_size / 1e6, 1),
        "turns_a_second": round(turns / timer.median("full_build") * 1000),
        "turns_a_cpu_second": round(turns / timer.median("full_build_cpu") * 1000),
        "fts5_search_over_ours": round(timer.median("fts5_search_cpu") / timer.median("search_cpu"), 2),
        "ilike_over_ours": round(timer.median("ilike_cpu") / timer.median("search_cpu"), 2),
        **timer.medians(),
    }


def _ask(reader: IndexReader, question: str, filters: Filters) -> None:
    found = score_lexical(reader, query_terms(question), filters)
    best = np.argsort(-found.turns, kind="stable")[:50]
    np.argsort(-found.sessions, kind="stable")
    reader.texts([int(doc) for doc in reader.units("turn").doc[best[:10]]])


def _search(index: Path, questions: list[str], timer: Timer) -> None:
    for question in questions[:5]:
        with timer("open_and_first_search"), open_index(index) as reader:
            _ask(reader, question, Filters())
    with open_index(index) as reader:
        _ask(reader, questions[0], Filters())
        for question in questions:
            with timer("search"):
                _ask(reader, question, Filters())
        for question in questions:
            with timer("filtered_search"):
                _ask(reader, question, Filters(author="author1@", file="src"))


def _extend(data: Path, index: Path, vocabulary: Vocabulary, timer: Timer) -> None:
    for number in range(_ADDED_SESSIONS):
        with open_ledger(data, read_only=False) as ledger, ledger.transaction():
            add_sessions(ledger, vocabulary, 1_000_000 + number, 1)
        with open_ledger(data, read_only=True) as ledger, timer("add_one_session"):
            update_index(ledger, index)


def _peers(directory: Path, data: Path, questions: list[str], timer: Timer) -> None:
    with open_ledger(data, read_only=True) as ledger:
        contents = list(ledger.con.execute("SELECT content FROM turns").fetchall())
        for question in questions[:5]:
            words = question.split()
            hits = " + ".join("(content ILIKE ?)::INTEGER" for _ in words)
            sql = f"SELECT session_id, seq FROM turns ORDER BY {hits} DESC, session_id, seq LIMIT 50"
            with timer("ilike"):
                ledger.con.execute(sql, [f"%{word}%" for word in words]).fetchall()
    with closing(sqlite3.connect(directory / "fts5.db")) as peer:
        with timer("fts5_full_build"), peer:
            peer.execute("CREATE VIRTUAL TABLE docs USING fts5(content, tokenize = 'porter unicode61')")
            peer.executemany("INSERT INTO docs VALUES (?)", contents)
        for question in questions:
            wanted = " OR ".join(f'"{word}"' for word in question.replace('"', " ").split())
            with timer("fts5_search"):
                peer.execute(
                    "SELECT rowid, content FROM docs WHERE docs MATCH ? ORDER BY rank LIMIT 50", [wanted]
                ).fetchall()


if __name__ == "__main__":
    main([int(size) for size in sys.argv[1:]] or [14_000, 200_000])
