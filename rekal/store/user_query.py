"""One SELECT by the user: read-only, confined to the database."""

from __future__ import annotations

import math
from datetime import date, datetime, timedelta
from decimal import Decimal
from pathlib import Path

import msgspec

from rekal.errors import NotInitialised, UsageError
from rekal.store.database import duckdb, open_database, translated_errors

Value = str | int | float | bool | None


class Table(msgspec.Struct, frozen=True):
    """A result. Times are ISO 8601 in UTC, nested values are text."""

    columns: list[str]
    rows: list[list[Value]]


def run_select(path: Path, sql: str) -> Table:
    """Run one SELECT against ``path``.

    The connection is read-only, cannot reach files or the network, and its settings are locked, so that not even a
    statement that talks its way past the first check could change that. Raises :class:`UsageError` for anything but
    one SELECT and for SQL that DuckDB does not accept.
    """
    if not path.exists():
        raise NotInitialised(f"there is no {path.name} yet", "run `rekal init` first")
    con = open_database(path, read_only=True, alone=True)
    try:
        con.execute("SET lock_configuration = true")
        with translated_errors(path):
            return _run_statement(con, sql)
    finally:
        con.close()


def _run_statement(con: duckdb.DuckDBPyConnection, sql: str) -> Table:
    try:
        statements = con.extract_statements(sql)
        if len(statements) != 1 or statements[0].type != duckdb.StatementType.SELECT:
            raise UsageError("only one SELECT is allowed", "give a single SELECT statement")
        cursor = con.execute(statements[0])
        columns = [str(column[0]) for column in cursor.description or ()]
        return Table(columns, [[_plain(value) for value in row] for row in cursor.fetchall()])
    except (duckdb.ProgrammingError, duckdb.DataError, duckdb.NotSupportedError, duckdb.PermissionException) as error:
        raise UsageError(
            f"the query failed: {str(error).splitlines()[0]}", "see docs/store.md for the tables"
        ) from None


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
