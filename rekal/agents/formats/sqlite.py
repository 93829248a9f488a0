"""Reading a database that belongs to another program: read-only, in one transaction, only the tables named.

Agents keep tokens and keys beside their conversations, so a reader names the tables it needs and SQLite
itself refuses every other one. A database that is locked, or that lies in a directory where SQLite may not
put its shared memory file, is copied aside with its journals and read there.
"""

from __future__ import annotations

import shutil
import sqlite3
import tempfile
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from rekal.errors import SourceBusy, SourceError

Value = str | bytes | int | float | None

# An agent writes for milliseconds at a time; longer than that it holds a lock, and a copy is faster.
_BUSY_MS = 250
# A copy costs this much disk; a larger database is left for the next run, when it may be free.
_COPY_LIMIT = 2 << 30
_JOURNALS = ("-wal", "-journal")
_ATTEMPTS = 3
# Locked, or SQLite's own locking and shared memory do not work there, as on another system's file share.
_ASIDE = {
    sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_IOERR,
    sqlite3.SQLITE_PROTOCOL,
}  # fmt: skip


class Database:
    """An open foreign database, made by :func:`open_copy`. Its methods raise SourceError when the file is damaged."""

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        self.path = path
        self._connection = connection

    def rows(self, sql: str, values: Sequence[Value] = ()) -> Iterator[tuple[Value, ...]]:
        """Yield the rows of one SELECT."""
        try:
            yield from self._connection.execute(sql, values)
        except sqlite3.Error as error:
            raise describe_error(self.path, error) from error

    def first(self, sql: str, values: Sequence[Value] = ()) -> tuple[Value, ...] | None:
        """The first row of one SELECT, or None."""
        return next(self.rows(sql, values), None)

    def columns(self, table: str) -> frozenset[str]:
        """Names of a table's columns; empty when there is no such table."""
        return frozenset(str(row[1]) for row in self.rows(f'PRAGMA table_info("{table}")'))


def describe_error(path: Path, error: sqlite3.Error) -> SourceError:
    """The one sentence a failing database is reported with; locked or out of reach, it may be read another time."""
    passing = getattr(error, "sqlite_errorcode", 0) & 0xFF in _ASIDE
    return (SourceBusy if passing else SourceError)(f"{path} cannot be read as a database ({error})")


class _Allow:
    """SQLite's authorizer: reading the named tables, and nothing else."""

    def __init__(self, tables: Collection[str]) -> None:
        # SQLite reads its own catalogue for every statement.
        self.tables = frozenset(tables) | {"sqlite_master"}

    def __call__(self, action: int, first: str | None, *_: str | None) -> int:
        if action in (sqlite3.SQLITE_SELECT, sqlite3.SQLITE_FUNCTION, sqlite3.SQLITE_RECURSIVE):
            return sqlite3.SQLITE_OK
        if action == sqlite3.SQLITE_PRAGMA and first == "table_info":
            return sqlite3.SQLITE_OK
        return sqlite3.SQLITE_OK if action == sqlite3.SQLITE_READ and first in self.tables else sqlite3.SQLITE_DENY


def _connect(path: Path, mode: str, tables: Collection[str]) -> sqlite3.Connection:
    """Open and take the read snapshot, so that a lock shows here and not halfway through the rows."""
    uri = f"{path.absolute().as_uri()}?mode={mode}"
    connection = sqlite3.connect(uri, uri=True, timeout=_BUSY_MS / 1000, isolation_level=None)
    try:
        # Damaged text costs its characters and not the row.
        connection.text_factory = lambda data: data.decode("utf-8", "replace")
        connection.execute("BEGIN")
        # BEGIN takes no lock in SQLite; the first read does.
        connection.execute("SELECT count(*) FROM sqlite_master").fetchone()
        # After BEGIN, which the authorizer would have to allow as well.
        connection.set_authorizer(_Allow(tables))
    except sqlite3.Error:
        connection.close()
        raise
    return connection


def _copy_database(path: Path, folder: Path) -> Path:
    """Copy a database with its journals, but not its shared memory, which SQLite builds again from the log."""
    files = [path.with_name(path.name + suffix) for suffix in ("", *_JOURNALS)]
    for _ in range(_ATTEMPTS):
        before = _stamps(files)
        size = sum(size for size, _ in before.values())
        if size > _COPY_LIMIT:
            raise SourceBusy(f"{path} is in use and too large to copy ({size >> 20} MiB)")
        for file in files:
            # A journal copied by the attempt before may be gone by now.
            (folder / file.name).unlink(missing_ok=True)
            if file in before:
                shutil.copyfile(file, folder / file.name)
        # A database and a log of different moments do not fit each other.
        if _stamps(files) == before:
            return folder / path.name
    raise SourceBusy(f"{path} is in use and changed during each of {_ATTEMPTS} attempts to copy it")


def _stamps(files: list[Path]) -> dict[Path, tuple[int, int]]:
    """Size and time of the files that exist."""
    return {file: (stat.st_size, stat.st_mtime_ns) for file in files if file.is_file() and (stat := file.stat())}


@contextmanager
def open_copy(path: Path, tables: Collection[str], *, aside: bool = False) -> Iterator[Database]:
    """Open ``path`` for reading ``tables`` within one transaction.

    Raises SourceError when there is no such file, when it is no database or a damaged one, or when it is locked
    and too large to copy. Never creates or changes the database. ``aside``: always read a copy, since SQLite leaves two
    files beside a database in WAL mode that nobody else has open.
    """
    if not path.is_file():
        raise SourceBusy(f"{path} does not exist")
    with tempfile.TemporaryDirectory(prefix="rekal-") as folder:
        connection = _open(path, Path(folder), tables, aside=aside)
        try:
            yield Database(path, connection)
        finally:
            connection.close()


def _open(path: Path, folder: Path, tables: Collection[str], *, aside: bool) -> sqlite3.Connection:
    try:
        if not aside:
            return _connect(path, "ro", tables)
    except sqlite3.Error as error:
        if error.sqlite_errorcode & 0xFF not in _ASIDE:
            raise describe_error(path, error) from error
    try:
        # The copy is ours: opened for writing, SQLite can roll a hot journal back.
        return _connect(_copy_database(path, folder), "rw", tables)
    except sqlite3.Error as error:
        raise describe_error(path, error) from error
    except OSError as error:
        raise SourceBusy(f"{path} is in use and cannot be copied ({error.strerror})") from error
