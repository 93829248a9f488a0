"""The catalogue of a database file: one that holds anything but the tables of its version is refused.

A view in place of a table, a macro under the name of a function that we call, a column that computes: DuckDB runs them
when we read. So a file that is not known as made here is compared with the tables that this program makes itself.

Known are the ledger that has its second name in the git directory, and any file that has not changed since it was
looked at or made: two calls of ``stat`` at each command, where reading a catalogue takes 60 ms.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from rekal.errors import Refused, StoreError
from rekal.files import read_or_empty, write_atomically
from rekal.store.layout import Layout

if TYPE_CHECKING:  # the driver takes 20 ms to load: not before a file is met that nobody knows
    from rekal.store.database import Connection

_KNOWN = "known-"
"""Beginning of the names of files in ``run/`` that say which state of a database was looked at."""

# Each row is an object with all that it does. What DuckDB itself brings is internal.
_OBJECTS = (
    "SELECT 'schema', schema_name, '' FROM duckdb_schemas()",
    "SELECT 'table', schema_name || '.' || table_name, sql FROM duckdb_tables()",
    "SELECT 'view', schema_name || '.' || view_name, sql FROM duckdb_views()",
    "SELECT 'macro', function_name, macro_definition FROM duckdb_functions()",
    "SELECT 'type', type_name, labels::VARCHAR FROM duckdb_types()",
)
# These two know nothing of what is internal: there is none.
_NEVER_INTERNAL = (
    "SELECT 'index', index_name, sql FROM duckdb_indexes()",
    "SELECT 'sequence', sequence_name, '' FROM duckdb_sequences()",
)
_LOOKED_AT = "looked_at"


class OurTables(msgspec.Struct, frozen=True):
    """The tables that a database of ours has.

    ``make`` makes those of a version in an empty database. ``table`` is the one with the version in it, under the key
    ``schema_version``. With ``only_latest``, nothing else is ever read of a file of another version.
    """

    version: int
    table: str
    make: Callable[[Connection, int], None]
    only_latest: bool = False


_Objects = frozenset[tuple[str, str, str]]
"""All that a catalogue holds, as (kind, name, definition)."""


def refuse_foreign_ledger(layout: Layout) -> None:
    """Raise :class:`rekal.errors.Refused` where data.db holds anything but the tables of its version."""
    if layout.home is None or not layout.data.exists():  # no checkout reaches the personal store
        return
    if layout.second.exists() and os.path.samestat(layout.data.stat(), layout.second.stat()):
        return  # no checkout can give a file a name in the git directory
    from rekal.store.ledger import MIGRATIONS  # loads the driver

    def make(con: Connection, version: int) -> None:
        for step in MIGRATIONS[:version]:
            step(con)

    _refuse_foreign(layout.data, layout.run, OurTables(len(MIGRATIONS), "meta", make))


def refuse_foreign_index(path: Path, run: Path, tables: OurTables) -> None:
    """Raise :class:`rekal.errors.Refused` where an index at ``path`` holds anything but ``tables``."""
    if path.exists():
        _refuse_foreign(path, run, tables)


def note_own_file(path: Path, run: Path) -> None:
    """Note that the database at ``path``, as it is now, was made or looked at here."""
    with contextlib.suppress(OSError):  # a store that cannot be written is looked at again
        write_atomically(run / f"{_KNOWN}{path.name}", _signature(path))


def _signature(path: Path) -> bytes:
    found = path.stat()
    return f"{found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}".encode()


def _refuse_foreign(path: Path, run: Path, tables: OurTables) -> None:
    if read_or_empty(run / f"{_KNOWN}{path.name}") == _signature(path):
        return
    try:
        strange = _find_strange(path, tables)
    except StoreError:
        return  # damaged, or held by a writer: whoever opens it meets that, and says so
    if strange:
        raise Refused(
            f"{path} is not as rekal makes it (it {strange})",
            "move it away, then run `rekal init`",
        )
    note_own_file(path, run)


def _find_strange(path: Path, tables: OurTables) -> str:
    """Say what the file at ``path`` holds and should not, or lacks; empty when there is nothing."""
    from rekal.store.database import open_beside, quote_path, translated_errors

    # Not opened as the connection's own database: there its macros would stand in for the functions that we ask with.
    con = open_beside(path)
    try:
        with translated_errors(path):
            con.execute(f"ATTACH {quote_path(path)} AS {_LOOKED_AT} (READ_ONLY)")
            found = _read_objects(con, _LOOKED_AT)
            odd = _compare(con, found, tables)
    finally:
        con.close()
    return odd


def _compare(con: Connection, found: _Objects, tables: OurTables) -> str:
    tables.make(con, tables.version)
    ours = _read_objects(con, "memory")
    versions = {row for row in ours if row[1] == f"main.{tables.table}"}
    if not versions <= found:  # what says the version is something else, and may say anything
        return _say_difference(found, ours)
    said = con.execute(f"SELECT value FROM {_LOOKED_AT}.{tables.table} WHERE key = 'schema_version'").fetchall()
    version = int(said[0][0]) if len(said) == 1 and str(said[0][0]).isdigit() else 0
    if version > tables.version or (version != tables.version and tables.only_latest):
        return ""  # refused as too new, or built anew, by whoever opens it
    if version != tables.version:
        con.execute("ATTACH ':memory:' AS older")
        con.execute("USE older")
        tables.make(con, version)
        ours = _read_objects(con, "older")
    return _say_difference(found, ours)


def _say_difference(found: _Objects, ours: _Objects) -> str:
    for verb, odd in (("holds", found - ours), ("lacks", ours - found if found else ())):
        if odd:
            kind, name, _ = min(odd)
            return f"{verb} the {kind} {name[:60]}"
    return ""


def _read_objects(con: Connection, database: str) -> _Objects:
    """Return all that the catalogue of one of a connection's databases holds."""
    here = f"database_name = '{database}'"
    asked = (
        *(f"{sql} WHERE {here} AND NOT internal" for sql in _OBJECTS),
        *(f"{sql} WHERE {here}" for sql in _NEVER_INTERNAL),
    )
    rows = [row for sql in asked for row in con.execute(sql).fetchall()]
    return frozenset((str(kind), str(name), str(definition or "")) for kind, name, definition in rows)
