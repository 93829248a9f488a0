"""Before the files of a store are used: they must be this clone's own, stand in their places, and hold only our tables.

A checkout may bring any file under any name, also one that git ignores. So nothing under ``.rekal`` counts but what
this clone made: files that git tracks, links, and files of another user are refused, each with one sentence.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from rekal.errors import Refused, StoreError
from rekal.files import read_or_empty, write_atomically
from rekal.git import Repo
from rekal.store.layout import CHECKED_DATABASE, CHECKED_INDEX, SECOND_NAME, Layout
from rekal.store.locks import hold_lock

if TYPE_CHECKING:
    from rekal.store.database import Connection


_SHARED = ".rekal/config.yml"


def refuse_foreign_files(layout: Layout, repo: Repo) -> None:
    """Raise :class:`rekal.errors.Refused` where something in the store's place is tracked, a link or another user's."""
    for path in _store_entries(layout):
        _refuse_odd(path, repo)
    if not repo.bare and layout.directory.is_dir():
        _refuse_tracked(layout, repo)


def _store_entries(layout: Layout) -> Iterator[Path]:
    """Paths of the store: its directories and what lies in them, two levels deep."""
    for directory in dict.fromkeys((layout.directory, layout.run)):
        if not os.path.lexists(directory):
            continue
        yield directory
        if directory.is_symlink() or not directory.is_dir():
            continue
        for path in sorted(directory.iterdir()):
            yield path
            if path.name in ("vectors", "spool", "run", "documents") and path.is_dir() and not path.is_symlink():
                yield from sorted(path.iterdir())


def _refuse_odd(path: Path, repo: Repo) -> None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return  # a worker has drained it since
    if stat.S_ISLNK(found.st_mode):
        raise Refused(f"{path} is a link, and rekal follows none", "remove it and run `rekal init`")
    # git itself has looked at who owns its directory; what stands beside it is its owner's or ours.
    if hasattr(os, "getuid") and found.st_uid not in (os.getuid(), repo.common_dir.stat().st_uid):
        raise Refused(f"{path} belongs to another user", "remove it and run `rekal init`")
    if path.suffix == ".db" and not stat.S_ISREG(found.st_mode):
        raise Refused(f"{path} is not a file", "remove it and run `rekal init`")


def _refuse_tracked(layout: Layout, repo: Repo) -> None:
    index = repo.common_dir / "index"
    try:
        found = index.stat()
    except FileNotFoundError:
        return  # nothing was ever added
    # git is asked once for each state of its index: a process at every recall would cost more than the recall.
    now = f"{found.st_ino} {found.st_size} {found.st_mtime_ns}".encode()
    seen = layout.run / CHECKED_INDEX
    if read_or_empty(seen) == now:
        return
    main = msgspec.structs.replace(repo, worktree=repo.root)
    listed = main.ask("ls-files", "-z", "--", ":(top,icase).rekal")
    names = [name for name in (listed or "").split("\0") if name and name != _SHARED]
    if names:
        raise Refused(
            f"git tracks {names[0]}, and what comes with a checkout is not taken for this clone's memory",
            "remove it with `git rm -r --cached` and `rm -r`, then run `rekal init`",
        )
    if layout.run.is_dir():
        with contextlib.suppress(OSError):  # a store that cannot be written is looked at again next time
            write_atomically(seen, now)


# Moving what only this clone may say from ``.rekal/run``, where 0.1.0 kept it, into the git directory.
#
# A move that is cut short goes on with the next command: each file is moved in one step, and the old directory goes
# last.

_OURS = b"# >>> managed by rekal"
_LOCKS = ("lock", "index.lock", "transport.lock")


def has_old_places(layout: Layout, common_dir: Path) -> bool:
    """True if 0.1.0 set this clone up and nothing was moved yet. The proof is in the git directory: no clone has it."""
    if layout.home is None or not ((layout.directory / "run").is_dir() or (layout.directory / "spool").is_dir()):
        return False
    return layout.home.is_dir() or _OURS in read_or_empty(common_dir / "info" / "exclude")


def move_old_places(layout: Layout) -> None:
    """Move settings, salt, record, logs, marks and waiting events. Idempotent. The caller has refused foreign files."""
    import shutil  # 2 ms that hardly any command needs

    old = layout.directory / "run"
    layout.create()
    with hold_lock(layout.lock, wait=30.0, purpose="moving the store's own files"):
        if old.is_dir():
            # A worker of 0.1.0 that still runs holds this one, and would write where nobody looks any more.
            with hold_lock(old / "lock", wait=30.0, purpose="moving the store's own files"):
                _move_all(old, layout.run)
        _move_all(layout.directory / "spool", layout.spool)
        for directory in (old, layout.directory / "spool"):
            shutil.rmtree(directory, ignore_errors=True)
        keep_second_name(layout)  # not only with the next capture: `git clean -fdx` may come before


def _move_all(source: Path, target: Path) -> None:
    if not source.is_dir():
        return
    for path in sorted(source.iterdir()):
        if path.name in _LOCKS:
            continue
        if path.is_dir():
            (target / path.name).mkdir(mode=0o700, exist_ok=True)
            _move_all(path, target / path.name)
        elif not (target / path.name).exists():
            _move_file(path, target / path.name)


def _move_file(path: Path, target: Path) -> None:
    try:
        os.rename(path, target)  # noqa: PTH104 - no replacing: on Windows a name that is taken stays
    except OSError:  # the git directory is on another disk
        write_atomically(target, path.read_bytes())
        path.unlink(missing_ok=True)


# The second name of data.db, inside the git directory: ``git clean -fdx`` takes the first one, and not the last copy.
#
# A hard link: both names are one file, so that nothing is written twice. Where links cannot be, a copy. The write-ahead
# log has one name only, beside the first: a ledger that was closed has none, and what one held that ``git clean``
# took is captured again, since where reading of the transcripts stopped was written in the same transaction.

_RESTORED = "data.db was gone, as after `git clean -fdx`; it was put back from the git directory"


def keep_second_name(layout: Layout) -> None:
    """Give the ledger's file its second name where it lacks it. The caller holds the writer's lock and closed it."""
    if layout.home is not None and layout.data.exists():
        renew_second_name(layout.data, layout.run)


def renew_second_name(data: Path, run: Path) -> None:
    """Make ``data.db`` in ``run`` a name of ``data`` (or a copy of it), whatever it was before."""
    if run.parent == data.parent:
        return  # the personal store: no git cleans it
    second = run / SECOND_NAME
    if second.exists() and os.path.samestat(data.stat(), second.stat()):
        return
    part = second.with_name(f".{second.name}.new")
    part.unlink(missing_ok=True)
    try:
        part.hardlink_to(data)
    except OSError:  # another disk, or a file system without hard links
        _copy_file(data, part)
    part.replace(second)


def restore_first_name(layout: Layout) -> bool:
    """Put data.db back where it is gone and its second name is left. Returns whether it was."""
    if layout.home is None or layout.data.exists() or not layout.second.exists():
        return False
    layout.create()
    # A log without its database belongs to no file that is put back.
    layout.data.with_name(layout.data.name + ".wal").unlink(missing_ok=True)
    try:
        layout.data.hardlink_to(layout.second)
    except FileExistsError:
        return False  # another process was first
    except OSError:
        part = layout.data.with_name(f".{layout.data.name}.new")
        _copy_file(layout.second, part)
        part.replace(layout.data)
    with layout.log.open("a", encoding="utf-8") as file:
        file.write(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {_RESTORED}\n")
    return True


def _copy_file(source: Path, target: Path) -> None:
    import shutil  # 2 ms that hardly any command needs

    shutil.copyfile(source, target)


# The catalogue of a database file: one that holds anything but the tables of its version is refused.
#
# A view in place of a table, a macro under the name of a function that we call, a column that computes: DuckDB runs
# them when we read. So a file that is not known as made here is compared with the tables that this program makes
# itself.
#
# Known are the ledger that has its second name in the git directory, and any file that has not changed since it was
# looked at or made: two calls of ``stat`` at each command, where reading a catalogue takes 60 ms.

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


def refuse_foreign_databases(layout: Layout, index_tables: OurTables) -> None:
    """Raise :class:`rekal.errors.Refused` where data.db or index.db holds anything but the tables of its version."""
    if layout.home is None:  # no checkout reaches the personal store
        return
    # No checkout can give a file a name in the git directory: a ledger that has one is ours.
    data, second = layout.data, layout.second
    named = second.exists() and data.exists() and os.path.samestat(data.stat(), second.stat())
    if data.exists() and not named and not _is_noted(data, layout.run):
        from rekal.store.ledger import MIGRATIONS  # loads the driver

        def make(con: Connection, version: int) -> None:
            for step in MIGRATIONS[:version]:
                step(con)

        _refuse_foreign(data, layout.run, OurTables(len(MIGRATIONS), "meta", make))
    if layout.index.exists():
        _refuse_foreign(layout.index, layout.run, index_tables)


def note_own_file(path: Path, run: Path) -> None:
    """Note that the database at ``path``, as it is now, was made or looked at here."""
    with contextlib.suppress(OSError):  # a store that cannot be written is looked at again
        write_atomically(run / f"{CHECKED_DATABASE}{path.stem}", _signature(path))


def _signature(path: Path) -> bytes:
    found = path.stat()
    return f"{found.st_ino} {found.st_size} {found.st_mtime_ns} {found.st_ctime_ns}".encode()


def _is_noted(path: Path, run: Path) -> bool:
    """True for a database that was made or looked at here, and has not changed since."""
    return read_or_empty(run / f"{CHECKED_DATABASE}{path.stem}") == _signature(path)


def _refuse_foreign(path: Path, run: Path, tables: OurTables) -> None:
    if _is_noted(path, run):
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
    from rekal.store.database import duckdb, open_beside, quote_path, translate_error, translated_errors

    # Not opened as the connection's own database: there its macros would stand in for the functions that we ask with.
    con = open_beside(path)
    try:
        try:
            con.execute(f"ATTACH {quote_path(path)} AS {_LOOKED_AT} (READ_ONLY)")
        except duckdb.Error as error:  # of any class: a file of another program asks for an extension
            raise translate_error(error, path) from error
        with translated_errors(path):
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
