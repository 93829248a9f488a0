"""Rows of another program's SQLite file: as dictionaries, with their texts, times and ids as ours."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any

from rekal import ids
from rekal.agents.formats.sqlite import Database

Row = dict[str, Any]


def table_rows(database: Database, table: str) -> Iterator[Row]:
    """Yield the rows of a table by column, in the order in which they were written."""
    names = sorted(database.columns(table))
    quoted = ", ".join(f'"{name}"' for name in names)
    for row in database.rows(f'SELECT {quoted} FROM "{table}" ORDER BY rowid'):
        yield dict(zip(names, row, strict=True))


def text_cell(row: Row, name: str) -> str:
    """Return a column's text; empty where it holds none."""
    value = row.get(name)
    return value if isinstance(value, str) else ""


def foreign_id(kind: str, native: str) -> str:
    """Our id for what another store calls ``native``; empty for nothing."""
    return ids.derive("imported", kind, native) if native else ""


def parse_stamp(value: object, default: datetime) -> datetime:
    """A time as SQLite stores hold it: text in UTC, or seconds or milliseconds since 1970."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = value / 1000 if value > 1e11 else value
        try:
            return datetime.fromtimestamp(seconds, UTC)
        except (OverflowError, OSError, ValueError):
            return default
    if isinstance(value, str):
        try:
            found = datetime.fromisoformat(value.strip())
        except ValueError:
            return default
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    return default
