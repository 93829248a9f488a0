"""Rows in, rows out: bulk insertion and the two shapes of a time.

DuckDB's ``executemany`` runs a statement a row (about 1 ms each); one statement that unnests whole columns is a
hundred times faster.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from typing import TypeVar

import msgspec

from rekal.store.database import Connection

Record = TypeVar("Record", bound=msgspec.Struct)


def without_zone(when: datetime | None) -> datetime | None:
    """The database's form of a time: UTC without saying so."""
    return None if when is None else when.astimezone(UTC).replace(tzinfo=None)


def with_zone(when: datetime | None) -> datetime | None:
    """The program's form of a time."""
    return None if when is None else when.replace(tzinfo=UTC)


def make_record(kind: type[Record], row: Sequence[object], **more: object) -> Record:
    """One row as a record: the row's values are the record's first fields, in order; ``more`` are by name."""
    fields = kind.__struct_fields__[: len(row)]
    return kind(**dict(zip(fields, row, strict=True)), **more)


def insert_rows(con: Connection, table: str, rows: Sequence[tuple[object, ...]], *, replace: bool = False) -> None:
    """Append ``rows`` (every column of ``table``, in order); with ``replace`` in place of those with their keys."""
    if not rows:
        return
    types = _column_types(con, table)
    columns = ", ".join(f"unnest(?::{kind}[])" for kind in types)
    verb = "INSERT OR REPLACE INTO" if replace else "INSERT INTO"
    con.execute(f"{verb} {table} SELECT {columns}", [list(column) for column in zip(*rows, strict=True)])


def _column_types(con: Connection, table: str) -> list[str]:
    # A tenth of the price of duckdb_columns(), which describes every column of every table first.
    return [str(row[2]) for row in con.execute(f"PRAGMA table_info('{table}')").fetchall()]
