"""The ordered list of what ever changed in data.db's schema.

A migration is a named function, additive, run once under the lock; its name stays in ``meta``. A store that knows
more migrations than this list is newer than this program and is refused.
"""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime

from rekal import ids
from rekal.errors import StoreTooNew
from rekal.store import schema
from rekal.store.database import duckdb

Migration = Callable[[duckdb.DuckDBPyConnection], None]


def m001_initial(con: duckdb.DuckDBPyConnection) -> None:
    """The tables of version 1."""
    for statement in schema.V1:
        con.execute(statement)
    now = datetime.now(UTC).isoformat(timespec="seconds")
    con.executemany(
        "INSERT INTO meta VALUES (?, ?)", [("store_id", ids.ulid()), ("created_at", now), ("position", "0")]
    )


MIGRATIONS: tuple[Migration, ...] = (m001_initial,)


def version_of(con: duckdb.DuckDBPyConnection) -> int:
    """The schema version of an open store; 0 for an empty file."""
    try:
        row = con.execute("SELECT value FROM meta WHERE key = 'schema_version'").fetchone()
    except duckdb.CatalogException:  # to ask the catalogue first takes 6 ms of every opening
        return 0
    return int(row[0]) if row else 0


def refuse_newer(found: int) -> None:
    """Raise :class:`StoreTooNew` when a later program wrote the store."""
    if found > len(MIGRATIONS):
        raise StoreTooNew(
            f"this store has version {found} and this rekal understands up to {len(MIGRATIONS)}", "upgrade git-rekal"
        )


def migrate_schema(con: duckdb.DuckDBPyConnection) -> None:
    """Bring an open, writable store up to date, one transaction a migration."""
    found = version_of(con)
    refuse_newer(found)
    for number, step in enumerate(MIGRATIONS[found:], start=found + 1):
        con.execute("BEGIN")
        step(con)
        con.execute("INSERT OR REPLACE INTO meta VALUES ('schema_version', ?)", [str(number)])
        con.execute("COMMIT")
