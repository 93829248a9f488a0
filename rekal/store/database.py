"""Opening a database file: late, briefly, and with every foreign error turned into one sentence.

DuckDB lets one process write or many read, and a second opener fails at once instead of waiting. So the opener
waits here, with a back-off, as long as the caller allows.

The driver is taken without the Python around it: ``import duckdb`` loads its relation and expression builders, none of
which we use: 103 ms, of which the compiled module underneath is 21. That module is not the documented one, so a version
in which it has not all that we use is loaded whole. Both names lead to the same objects: what one raises, the other's
classes catch.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from functools import partial
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, TypeVar

import msgspec

from rekal.errors import StoreBusy, StoreDamaged, StoreError, StoreUnwritable

USED = (
    "BinderException",
    "CatalogException",
    "DataError",
    "DuckDBPyConnection",
    "Error",
    "FatalException",
    "IOException",
    "InvalidInputException",
    "InternalException",
    "NotSupportedError",
    "OutOfMemoryException",
    "PermissionException",
    "ProgrammingError",
    "StatementType",
    "TransactionException",
    "connect",
)
"""All that rekal takes from the driver."""


def load_driver(compiled: str = "_duckdb", whole: str = "duckdb") -> ModuleType:
    """The module ``compiled`` where it has all of :data:`USED`, else ``whole``. ImportError without both."""
    try:
        found = import_module(compiled)
    except ImportError:
        return import_module(whole)
    return found if all(hasattr(found, name) for name in USED) else import_module(whole)


if TYPE_CHECKING:
    import duckdb as duckdb
else:
    duckdb = load_driver()

Connection = duckdb.DuckDBPyConnection

MEMORY = 1024
"""Megabytes that a database may take."""
SMALL_MEMORY = 64
"""Megabytes where a large import is written or indexed. A database takes all it may for pages that it could read again,
so that with more it grows with the file."""
# Two threads: commands are short and run beside the user's own work; memory is what a large store's sort may take.
# And no extension is ever fetched: for a file that looks like another program's, DuckDB would go and download one.
_CONFIG: dict[str, str | bool | int | float | list[str]] = {
    "threads": 2,
    "memory_limit": f"{MEMORY}MB",
    "autoinstall_known_extensions": False,
    "autoload_known_extensions": False,
}
ROW_GROUP_SIZE = 8192
"""Rows in a group of a table that a large import fills. DuckDB holds and writes a group as a whole, at each checkpoint
anew until it is full: with its own 122,880 rows of documents' text that takes hundreds of megabytes."""
# What a disk does to us: a commit that cannot be written fails as a transaction.
_DISK = (duckdb.IOException, duckdb.TransactionException)
_NOT_OUR_SQL = (*_DISK, duckdb.FatalException, duckdb.InternalException, duckdb.OutOfMemoryException)
_FULL = ("no space left", "disk full", "out of disk", "quota exceeded", "file too large")
# What DuckDB says of a file that is not whole; any other trouble with reading may pass and is no reason to move it.
_DAMAGED = ("corrupt", "checksum", "not a valid duckdb", "could not read enough", "extension", "replaying wal")
_FIRST_PAUSE, _LONGEST_PAUSE = 0.01, 0.2


def open_database(
    path: Path,
    *,
    read_only: bool,
    wait: float = 5.0,
    block_size: int | None = None,
    alone: bool = False,
    bulk: bool = False,
) -> Connection:
    """Open ``path``, trying again for ``wait`` seconds while another process holds it.

    ``block_size`` (bytes) counts when the file is created: a file that grows by a few rows at a time wants small ones.
    With ``bulk`` rows are written in small groups, which takes less memory (:data:`ROW_GROUP_SIZE`).

    With ``alone`` the connection reaches no other file, without it those of the same directory.

    Raises:
        StoreBusy: it is still held.
        StoreDamaged: it is not a database, or its contents fail their checks.
        StoreUnwritable: the directory is read-only or the disk is full.
    """
    config = _CONFIG | ({"default_block_size": str(block_size)} if block_size else {})
    opened = (
        partial(_open_attached, path, config)
        if bulk and not read_only
        else partial(duckdb.connect, str(path), read_only=read_only, config=config)
    )
    until = time.monotonic() + wait
    pause = _FIRST_PAUSE
    while True:
        try:
            return _confined(opened(), path, alone=alone)
        except duckdb.Error as error:
            translated = translate_error(error, path)
            if not isinstance(translated, StoreBusy) or time.monotonic() >= until:
                raise translated from None
        time.sleep(pause)
        pause = min(pause * 2, _LONGEST_PAUSE)


def _open_attached(path: Path, config: dict[str, str | bool | int | float | list[str]]) -> Connection:
    """Open a database for writing by an empty one that has it attached: only so its groups of rows can be small."""
    con = duckdb.connect(config=config | {"memory_limit": f"{SMALL_MEMORY}MB"})
    try:
        con.execute(f"ATTACH {quote_path(path)} AS bulk (ROW_GROUP_SIZE {ROW_GROUP_SIZE})")
        con.execute("USE bulk")
    except duckdb.Error:
        con.close()
        raise
    return con


def open_beside(path: Path) -> Connection:
    """Open an empty database in memory, which may attach the files of ``path``'s directory and reaches no other."""
    return _confined(duckdb.connect(config=_CONFIG), path, alone=False)


def quote_path(path: Path) -> str:
    """Path as an SQL literal: ATTACH takes no parameter."""
    return "'" + str(path).replace("'", "''") + "'"


def _confined(con: Connection, path: Path, *, alone: bool) -> Connection:
    """Return ``con``, which from here on reaches no file outside the directory of its own: a view could read any."""
    beside = str(path.absolute().parent).replace("'", "''")
    if not alone:  # a new index is built, and an old ledger rewritten, in a file beside
        # A file that this process has open already is confined already: DuckDB gives both connections one instance.
        with suppress(duckdb.InvalidInputException):
            con.execute(f"SET allowed_directories = ['{beside}/']")
    con.execute("SET enable_external_access = false")
    if (
        alone
        and f"{path.absolute().parent}/"
        in con.execute("SELECT current_setting('allowed_directories')").fetchall()[0][0]
    ):
        con.close()
        raise StoreBusy(f"{path.name} is open in this process for more than reading", "try again in a moment")
    return con


@contextmanager
def translated_errors(path: Path) -> Iterator[None]:
    """Turn DuckDB's errors inside the block into ours. Mistakes in our own SQL pass through: they are bugs."""
    try:
        yield
    except duckdb.Error as error:
        # A block that fails its checksum is a plain Error, of no class of its own.
        if type(error) is not duckdb.Error and not isinstance(error, _NOT_OUR_SQL):
            raise
        raise translate_error(error, path) from error
    except RuntimeError as error:
        if str(error) != "Query interrupted":
            raise
        raise KeyboardInterrupt from None  # what it was before DuckDB made this of it


def translate_error(error: duckdb.Error, path: Path) -> StoreError:
    """Translate one of DuckDB's errors into ours."""
    said = str(error)
    low = said.replace(str(path), path.name).lower()  # a directory may be called anything
    if "different configuration" in low:  # it reads where we want to write, or the other way round
        return StoreBusy(f"{path.name} is in use by another part of this process", "try again in a moment")
    if "lock is held" in low or "being used by another process" in low or "could not set lock" in low:
        return StoreBusy(f"{path.name} is in use by another process{_holder(said)}", "try again in a moment")
    if any(sign in low for sign in _FULL):
        return StoreUnwritable(f"the disk is full, {path.name} was not changed", "free some space and try again")
    if "permission denied" in low or "read-only" in low or "cannot open file" in low:
        return StoreUnwritable(f"{path} cannot be opened for this", "check the directory's permissions")
    if isinstance(error, duckdb.OutOfMemoryException):
        return StoreError(f"not enough memory for {path.name}", "close something and try again")
    if isinstance(error, _DISK) and not any(sign in low for sign in _DAMAGED):
        reason = said.splitlines()[0].partition("Error: ")[2][:120]
        return StoreError(f"{path.name} cannot be read or written ({reason})", "try again, then look at the disk")
    return StoreDamaged(f"{path.name} is damaged", "see `rekal status` for how to restore")


def _holder(said: str) -> str:
    """DuckDB names the process that holds the lock; hand that on."""
    _, found, rest = said.partition("PID ")
    number = rest.split(")")[0].split(" ")[0].strip(".,") if found else ""
    return f" (process {number})" if number.isdigit() else ""


# Rows in, rows out: bulk insertion and the two shapes of a time.
#
# DuckDB's ``executemany`` runs a statement a row (about 1 ms each); one statement that unnests whole columns is a
# hundred times faster.

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
