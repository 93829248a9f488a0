"""One SELECT by the user: read-only, confined to the database, and limited in time, memory, rows and text."""

from __future__ import annotations

import math
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import msgspec

from rekal.errors import NotInitialised, UsageError
from rekal.store.database import duckdb, open_database, translated_errors

Value = str | int | float | bool | None


# An agent writes such queries, and one that runs for ever or prints for ever is worth no answer at all.
_LONGEST = 15.0  # seconds
_MOST_ROWS = 100_000
_MOST_TEXT = 32 << 20  # characters in all rows together
_MOST_MEMORY = 2 << 30  # bytes more than the process has when it begins


class Table(msgspec.Struct, frozen=True):
    """A result. Times are ISO 8601 in UTC, nested values are text. ``cut`` says what was left out, if anything was."""

    columns: list[str]
    rows: list[list[Value]]
    cut: str = ""


def run_select(path: Path, sql: str) -> Table:
    """Run one SELECT against ``path``.

    The connection is read-only, cannot reach files or the network, and its settings are locked, so that not even a
    statement that talks its way past the first check could change that. Raises :class:`UsageError` for anything but
    one SELECT, for SQL that DuckDB does not accept, and for a query that takes too long or too much memory.
    """
    if not path.exists():
        raise NotInitialised(f"there is no {path.name} yet", "run `rekal init` first")
    con = open_database(path, read_only=True, alone=True)
    try:
        con.execute("SET lock_configuration = true")
        with _limited_memory(), translated_errors(path):
            return _run_statement(con, sql)
    finally:
        con.close()


@contextmanager
def _limited_memory() -> Iterator[None]:
    """Let an allocation fail that DuckDB's own limit does not count, as that of a string of two billion characters."""
    try:
        pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[0])
    except OSError:  # another system: DuckDB's own limit has to do
        yield
        return
    import resource

    before = resource.getrlimit(resource.RLIMIT_AS)
    wanted = pages * resource.getpagesize() + _MOST_MEMORY
    if sys.platform != "win32" and (before[0] == resource.RLIM_INFINITY or before[0] > wanted):
        resource.setrlimit(resource.RLIMIT_AS, (wanted, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def _run_statement(con: duckdb.DuckDBPyConnection, sql: str) -> Table:
    timer = threading.Timer(_LONGEST, con.interrupt)
    timer.daemon = True
    timer.start()
    try:
        statements = con.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise UsageError("only one SELECT is allowed", "give a single SELECT statement")
        cursor = con.execute(statements[0])
        return _fetch(cursor)
    except (MemoryError, duckdb.OutOfMemoryException):
        raise UsageError("the query takes too much memory", "select less, or with a WHERE and a LIMIT") from None
    except (duckdb.ProgrammingError, duckdb.DataError, duckdb.NotSupportedError, duckdb.PermissionException) as error:
        raise UsageError(
            f"the query failed: {str(error).splitlines()[0]}", "see docs/store.md for the tables"
        ) from None
    except duckdb.Error as error:
        if type(error).__name__ != "InterruptException":
            raise
        if timer.is_alive():
            raise KeyboardInterrupt from None
        raise UsageError(
            f"the query ran for {_LONGEST:.0f} seconds and was ended", "select less, or with a WHERE and a LIMIT"
        ) from None
    finally:
        timer.cancel()


def _fetch(cursor: duckdb.DuckDBPyConnection) -> Table:
    columns = [str(column[0]) for column in cursor.description or ()]
    rows: list[list[Value]] = []
    size = 0
    while batch := cursor.fetchmany(1000):
        for row in batch:
            rows.append([_plain(value) for value in row])
            size += sum(len(value) for value in rows[-1] if isinstance(value, str))
            if size > _MOST_TEXT:
                del rows[-1]
                return Table(columns, rows, f"after {len(rows):,} rows, {_MOST_TEXT >> 20} million characters")
        if len(rows) > _MOST_ROWS:
            return Table(columns, rows[:_MOST_ROWS], f"after {_MOST_ROWS:,} rows")
    return Table(columns, rows)


def _plain(value: object) -> Value:
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if value is None or isinstance(value, str | int | float | bool):
        return value
    if isinstance(value, datetime | date):
        return value.isoformat()
    if isinstance(value, Decimal | timedelta):
        return str(value)
    return str(value)
