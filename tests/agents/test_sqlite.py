"""Foreign databases: live, locked, in a read-only directory, missing, damaged, and with private tables."""

from __future__ import annotations

import os
import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekal.agents.formats.sqlite import open_copy
from rekal.errors import SourceError

TALK = ("talk",)


def make(path: Path, *, wal: bool = False, rows: int = 3) -> Path:
    connection = sqlite3.connect(path)
    if wal:
        connection.execute("PRAGMA journal_mode=wal")
    connection.executescript("CREATE TABLE talk(id INTEGER, text TEXT); CREATE TABLE auth_kv(key TEXT, value TEXT);")
    connection.executemany("INSERT INTO talk VALUES (?, ?)", [(n, f"line {n}") for n in range(rows)])
    connection.execute("INSERT INTO auth_kv VALUES ('token', 'sentinel')")
    connection.commit()
    connection.close()
    return path


@contextmanager
def writer(path: Path) -> Iterator[sqlite3.Connection]:
    connection = sqlite3.connect(path, isolation_level=None)
    try:
        yield connection
    finally:
        connection.close()


def count(path: Path) -> int:
    with open_copy(path, TALK) as database:
        row = database.first("SELECT count(*) FROM talk")
        assert row is not None
        return int(str(row[0]))


def test_rows_and_columns_of_a_named_table(tmp_path: Path) -> None:
    with open_copy(make(tmp_path / "a.db"), TALK) as database:
        assert list(database.rows("SELECT id, text FROM talk WHERE id > ? ORDER BY id", (0,))) == [
            (1, "line 1"),
            (2, "line 2"),
        ]
        assert database.columns("talk") == {"id", "text"}
        assert database.columns("nowhere") == frozenset()
        assert database.first("SELECT id FROM talk WHERE id = 99") is None


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT value FROM auth_kv",
        "SELECT (SELECT value FROM auth_kv) FROM talk",
        "DELETE FROM talk",
        "PRAGMA journal_mode=delete",
        "ATTACH ':memory:' AS other",
    ],
)
def test_a_table_that_was_not_named_cannot_be_read_and_none_written(tmp_path: Path, sql: str) -> None:
    path = make(tmp_path / "a.db")
    with open_copy(path, TALK) as database, pytest.raises(SourceError):
        list(database.rows(sql))
    assert count(path) == 3


def test_what_is_only_in_the_write_ahead_log_is_seen(tmp_path: Path) -> None:
    path = make(tmp_path / "a.db", wal=True)
    with writer(path) as live:
        live.execute("INSERT INTO talk VALUES (9, 'fresh')")
        assert (tmp_path / "a.db-wal").stat().st_size > 0
        assert count(path) == 4


def test_one_transaction_sees_one_state(tmp_path: Path) -> None:
    path = make(tmp_path / "a.db", wal=True)
    with writer(path) as live, open_copy(path, TALK) as database:
        live.execute("INSERT INTO talk VALUES (9, 'later')")
        assert database.first("SELECT count(*) FROM talk") == (3,)


def test_a_locked_database_is_read_from_a_copy(tmp_path: Path) -> None:
    path = make(tmp_path / "a.db")
    with writer(path) as live:
        live.execute("BEGIN EXCLUSIVE")
        live.execute("INSERT INTO talk VALUES (9, 'uncommitted')")
        assert count(path) == 3
        live.execute("ROLLBACK")
    assert sorted(p.name for p in tmp_path.iterdir()) == ["a.db"]


def test_a_locked_database_too_large_to_copy_says_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rekal.agents.formats.sqlite._COPY_LIMIT", 10)
    path = make(tmp_path / "a.db")
    with writer(path) as live:
        live.execute("BEGIN EXCLUSIVE")
        with pytest.raises(SourceError, match="in use and too large"), open_copy(path, TALK):
            pass


@pytest.mark.parametrize(("disturbed", "rows"), [(1, 3), (9, None)])
def test_a_database_that_changes_while_it_is_copied_is_copied_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, disturbed: int, rows: int | None
) -> None:
    path = make(tmp_path / "a.db")
    copies: list[Path] = []

    def copy(source: Path, target: Path) -> None:
        target.write_bytes(source.read_bytes())
        copies.append(target)
        if len(copies) <= disturbed:
            os.utime(source, ns=(len(copies), len(copies)))

    monkeypatch.setattr("rekal.agents.formats.sqlite.shutil.copyfile", copy)
    with writer(path) as live:
        live.execute("BEGIN EXCLUSIVE")
        if rows is None:
            with pytest.raises(SourceError, match="changed during each of 3 attempts"), open_copy(path, TALK):
                pass
        else:
            assert count(path) == rows and len(copies) > disturbed


def test_a_log_in_a_directory_that_cannot_be_written_is_read_from_a_copy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    original = make(tmp_path / "a.db", wal=True)
    locked = tmp_path / "locked"
    locked.mkdir()
    with writer(original) as live:
        live.execute("INSERT INTO talk VALUES (9, 'fresh')")
        for name in ("a.db", "a.db-wal"):
            shutil.copyfile(tmp_path / name, locked / name)
    real = sqlite3.connect

    def refuse(target: str, **options: object) -> sqlite3.Connection:
        # Root may write anywhere, so the refusal SQLite gives an ordinary user is staged.
        if "/locked/" in target:
            error = sqlite3.OperationalError("unable to open database file")
            error.sqlite_errorcode = sqlite3.SQLITE_CANTOPEN
            raise error
        return real(target, **options)  # type: ignore[call-overload,no-any-return]

    monkeypatch.setattr(sqlite3, "connect", refuse)
    assert count(locked / "a.db") == 4
    assert sorted(p.name for p in locked.iterdir()) == ["a.db", "a.db-wal"]


def test_a_missing_database_is_an_error_and_is_not_created(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match="does not exist"), open_copy(tmp_path / "none.db", TALK):
        pass
    assert list(tmp_path.iterdir()) == []


def test_a_missing_table_is_an_error_of_that_source(tmp_path: Path) -> None:
    with open_copy(make(tmp_path / "a.db"), ("other",)) as database, pytest.raises(SourceError):
        list(database.rows("SELECT * FROM other"))


def test_bytes_that_are_no_utf8_do_not_stop_the_rows(tmp_path: Path) -> None:
    path = make(tmp_path / "a.db")
    with writer(path) as live:
        live.execute("INSERT INTO talk VALUES (9, CAST(x'61ff62' AS TEXT))")
    with open_copy(path, TALK) as database:
        assert database.first("SELECT text FROM talk WHERE id = 9") == ("a�b",)


@settings(max_examples=40, deadline=None)
@given(data=st.data())
def test_damage_raises_source_error_and_nothing_else(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    path = make(tmp_path_factory.mktemp("damage") / "a.db", rows=400)
    content = bytearray(path.read_bytes())
    for _ in range(data.draw(st.integers(1, 6))):
        at = data.draw(st.integers(0, len(content) - 64))
        content[at : at + 64] = data.draw(st.binary(min_size=64, max_size=64))
    path.write_bytes(content[: data.draw(st.integers(0, len(content)))])
    try:
        with open_copy(path, TALK) as database:
            list(database.rows("SELECT id, text FROM talk"))
    except SourceError as error:
        assert str(path) in str(error)
