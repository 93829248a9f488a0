"""An index that is built in little memory, as that of documents is, answers as any other."""

from __future__ import annotations

from pathlib import Path

import duckdb
import pytest

from rekal.index.build import update_index
from rekal.index.writer import BuildLimits
from rekal.store.ledger import open_ledger
from tests.index.ledgers import Store, session

TINY = BuildLimits(3, 40, small=True)
QUESTIONS = ("queue retries", "letter 7 of shelf 3", "日本", "nothing-like-this")


def fill(store: Store, shelf: int, letters: int) -> None:
    """Add a session of ``letters`` turns."""
    store.append(session(f"shelf {shelf}", *(f"letter {n} of shelf {shelf}: 日本 retries {n}" for n in range(letters))))


def build(store: Store, limits: BuildLimits) -> None:
    with open_ledger(store.data, read_only=True) as ledger:
        update_index(ledger, store.index, limits=limits)


def test_it_answers_as_one_that_was_built_at_once(tmp_path: Path) -> None:
    for name in ("little", "usual"):
        (tmp_path / name).mkdir()
    little, usual = Store(tmp_path / "little"), Store(tmp_path / "usual")
    for store, limits in ((little, TINY), (usual, BuildLimits())):
        for shelf in range(4):
            fill(store, shelf, 9)
        build(store, limits)
        fill(store, 4, 20)  # what is added later goes into a copy, in pieces as well
        build(store, limits)

    assert little.answers(*QUESTIONS) == usual.answers(*QUESTIONS)
    assert b"shelf 4" in little.answers("letter 19 of shelf 4")


def test_groups_of_rows_are_small_and_what_was_appended_outlives_a_reopening(tmp_path: Path) -> None:
    path = tmp_path / "data.db"
    with open_ledger(path, read_only=False, create=True, bulk=True) as ledger:
        for part in range(3):
            with ledger.transaction():
                ledger.append(session(f"part {part}", *(f"line {n} of part {part}" for n in range(6_000))))
            ledger.reopen()
    with duckdb.connect(str(path), read_only=True) as con:
        groups = con.execute("SELECT count(DISTINCT row_group_id) FROM pragma_storage_info('turns')").fetchall()
        assert groups[0][0] >= 3
        assert con.execute("SELECT count(*) FROM turns").fetchall() == [(18_000,)]


@pytest.mark.soak
def test_documents_that_are_larger_together_than_what_the_database_may_take_are_indexed(tmp_path: Path) -> None:
    store = Store(tmp_path)
    page = "the harbour master wrote to the lighthouse about the fog signal and its wages " * 120
    for book in range(8):
        store.append(session(f"book {book}", *(f"{book}x{n} {page}" for n in range(1_100))))
    build(store, BuildLimits(512, 350_000, small=True))
    assert store.find("fog signal 7x1090", limit=1) == [("book 7", 1090)]
