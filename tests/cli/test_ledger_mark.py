"""A recall leaves the ledger of a store without memories closed, and opens it as soon as anything was written."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from rekal.app.ask_question import LedgerMark
from rekal.store.layout import CHECKED_LEDGER, Layout


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    made = Layout(tmp_path / ".rekal", tmp_path / "home")
    made.create()
    made.data.write_bytes(b"ledger")
    _age(made.data)
    return made


def _age(path: Path) -> None:
    old = path.stat().st_mtime_ns - 60 * 10**9
    os.utime(path, ns=(old, old))


def test_a_position_holds_while_the_files_stay(layout: Layout) -> None:
    assert LedgerMark(layout).read() is None
    LedgerMark(layout).write(7, LedgerMark(layout).list_files())
    assert LedgerMark(layout).read() == 7


@pytest.mark.parametrize("change", ["ledger", "log", "replaced", "gone"])
def test_whatever_is_written_makes_it_void(layout: Layout, change: str) -> None:
    LedgerMark(layout).write(7, LedgerMark(layout).list_files())
    if change == "ledger":
        layout.data.write_bytes(b"another")
    elif change == "log":
        layout.data.with_name("data.db.wal").write_bytes(b"x")
    elif change == "replaced":
        other = layout.data.with_name("other")
        other.write_bytes(b"ledger")
        _age(other)
        other.replace(layout.data)
    else:
        layout.data.unlink()
    assert LedgerMark(layout).read() is None


def test_a_file_that_was_just_written_is_not_noted(layout: Layout) -> None:
    layout.data.write_bytes(b"ledge2")
    LedgerMark(layout).write(7, LedgerMark(layout).list_files())
    assert LedgerMark(layout).read() is None


def test_a_file_that_changed_while_it_was_read_is_not_noted(layout: Layout) -> None:
    before = LedgerMark(layout).list_files()
    layout.data.write_bytes(b"more than before")
    _age(layout.data)
    LedgerMark(layout).write(7, before)
    assert LedgerMark(layout).read() is None


@pytest.mark.parametrize("text", ["", "x", "7", "x 1 2 3", "é", "-1 1 2 3"])
def test_a_damaged_note_counts_as_none(layout: Layout, text: str) -> None:
    (layout.run / CHECKED_LEDGER).write_text(text, "utf-8")
    assert LedgerMark(layout).read() is None


def test_a_store_that_cannot_be_written_is_read(layout: Layout, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(path: Path, data: bytes) -> None:
        raise PermissionError(path)

    monkeypatch.setattr("rekal.app.ask_question.write_atomically", refuse)
    LedgerMark(layout).write(7, LedgerMark(layout).list_files())
    assert LedgerMark(layout).read() is None
