"""data.db: brought to the schema of this version, appended to and read.

A :class:`Ledger` is one short-lived connection. Everything a capture or an import writes happens inside one
:meth:`Ledger.transaction`, so a crash at any byte leaves the old state or the new one.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from rekal import ids
from rekal.errors import NotInitialised, StoreDamaged, StoreTooNew
from rekal.ids import content_hash
from rekal.model import LOCAL, Checkpoint, Rewrite, Session, Tombstone
from rekal.store import schema
from rekal.store.append import Appended, append_sessions
from rekal.store.database import Connection, duckdb, insert_rows, open_database, translated_errors, without_zone
from rekal.store.tombstones import forgotten_among, read_forgotten_words, words_id

# Measured: adding 40 turns to 14,000 takes 55 ms and 32 KB with these, 130 ms and 256 KB with DuckDB's default.
_BLOCK_SIZE = 16384
_REOPEN_WAIT = 60.0  # seconds; other writers wait for the writer's lock, so only a reader may be there


class Ledger:
    """An open data.db. Use :func:`open_ledger`."""

    def __init__(self, con: Connection, path: Path, now: datetime | None = None) -> None:
        self.con = con
        self.path = path
        self.now = now or datetime.now(UTC)
        self.pos = self.position()

    def reopen(self) -> None:
        """Close a ledger that was opened for much writing and open it again, between transactions.

        That gives back what DuckDB keeps of what was appended.
        """
        self.con.close()
        self.con = open_database(self.path, read_only=False, wait=_REOPEN_WAIT, bulk=True)

    def meta(self, key: str) -> str | None:
        """One value of the ``meta`` table."""
        row = self.con.execute("SELECT value FROM meta WHERE key = ?", [key]).fetchone()
        return None if row is None else str(row[0])

    def position(self) -> int:
        """Number of the last transaction: what an index that has read everything covers."""
        return int(self.meta("position") or 0)

    @contextmanager
    def transaction(self, *, indexed: bool = True) -> Iterator[None]:
        """All of the block or nothing. Rows written inside carry the next position.

        With ``indexed`` off they carry the present one: for what the index does not hold, so that it isn't behind.
        """
        self.con.execute("BEGIN")
        self.pos = self.position() + indexed
        try:
            yield
            self.con.execute("UPDATE meta SET value = ? WHERE key = 'position'", [str(self.pos)])
            with translated_errors(self.path):
                self.con.execute("COMMIT")
        except BaseException:
            self._roll_back()
            raise

    def _roll_back(self) -> None:
        # A failed COMMIT or a fatal error has already ended the transaction.
        try:
            self.con.execute("ROLLBACK")
        except duckdb.Error:
            return

    def append(self, session: Session, *, keep_seq: bool = False) -> Appended:
        """Add what is new of ``session``. Inside a transaction. See :func:`rekal.store.append.append_sessions`."""
        return append_sessions(self.con, [session], self.pos, self.now, keep_seq=keep_seq)[0]

    def append_all(self, sessions: Sequence[Session]) -> list[Appended]:
        """Like :meth:`append` for many, which costs little more than for one."""
        return append_sessions(self.con, sessions, self.pos, self.now)

    def has_checkpoint(self, checkpoint_id: str) -> bool:
        """True if a checkpoint is stored."""
        return self._exists("SELECT 1 FROM checkpoints WHERE id = ? LIMIT 1", checkpoint_id)

    def is_forgotten(self, target: str) -> bool:
        """True if a tombstone of this clone names ``target``."""
        return self._exists("SELECT 1 FROM tombstones WHERE target = ? AND origin = ? LIMIT 1", target, LOCAL)

    def is_uncovered(self, git_sha: str) -> bool:
        """True if a commit was looked at and got no session."""
        return self._exists("SELECT 1 FROM uncovered_commits WHERE git_sha = ? LIMIT 1", git_sha)

    def _exists(self, sql: str, *values: str) -> bool:
        return self.con.execute(sql, list(values)).fetchone() is not None

    def add_checkpoint(self, checkpoint: Checkpoint) -> bool:
        """Add a checkpoint, or the sessions that an already stored one lacks; False when that was nothing."""
        names = [checkpoint.id, words_id(checkpoint.id), *(r.session_id for r in checkpoint.sessions)]
        paths = [content_hash(path) for f in checkpoint.files for path in (f.path, f.old_path) if path]
        left = forgotten_among(self.con, [*names, *paths]).left_of(checkpoint)
        if left is None:
            return False
        checkpoint = left
        fresh = not self.has_checkpoint(checkpoint.id)
        if fresh:
            self._insert_checkpoint(checkpoint)
        known = {
            str(row[0])
            for row in self.con.execute(
                "SELECT session_id FROM checkpoint_sessions WHERE checkpoint_id = ?", [checkpoint.id]
            ).fetchall()
        }
        rows = [
            (checkpoint.id, r.session_id, r.first_seq, r.last_seq, r.evidence, self.pos)
            for r in checkpoint.sessions
            if r.session_id not in known
        ]
        insert_rows(self.con, "checkpoint_sessions", rows)
        return fresh or bool(rows)

    def _insert_checkpoint(self, c: Checkpoint) -> None:
        when = without_zone(c.committed_at)
        row = (c.id, c.git_sha, c.tree_sha, c.patch_id, c.parent_sha, c.branch, c.subject, c.author_email, when)
        insert_rows(self.con, "checkpoints", [(*row, without_zone(self.now), c.origin, self.pos)])
        insert_rows(self.con, "files_touched", [(c.id, f.path, f.change, f.old_path, self.pos) for f in c.files])

    def add_rewrite(self, rewrite: Rewrite) -> bool:
        """Remember that one commit became another; False when that was known."""
        known = "SELECT 1 FROM rewrites WHERE old_sha = ? AND new_sha = ? LIMIT 1"
        if self._exists(known, rewrite.old_sha, rewrite.new_sha):
            # Found by patch-id while git was still rewriting; git's own word on how it came about is the better one.
            if rewrite.how in ("amend", "rebase"):
                self.con.execute(
                    "UPDATE rewrites SET how = ? WHERE old_sha = ? AND new_sha = ? AND how = 'patch-id'",
                    [rewrite.how, rewrite.old_sha, rewrite.new_sha],
                )
            return False
        insert_rows(
            self.con, "rewrites", [(rewrite.old_sha, rewrite.new_sha, rewrite.how, without_zone(self.now), self.pos)]
        )
        return True

    def add_tombstone(self, stone: Tombstone) -> bool:
        """Remember what must never come back; False when that was known. The content goes by other means."""
        known = "SELECT 1 FROM tombstones WHERE target = ? AND origin = ? LIMIT 1"
        if self._exists(known, stone.target, stone.origin):
            return False
        row = (stone.target, stone.reason, stone.actor, without_zone(stone.recorded_at), stone.origin, self.pos)
        insert_rows(self.con, "tombstones", [row])
        return True

    def add_recall_edge(self, kind: str, session_id: str, query: str | None, at: datetime) -> None:
        """Remember, once, that a session was shown or opened on this machine."""
        if query and read_forgotten_words(self.con).are_in(query):
            query = None  # that the session was shown is still worth knowing
        edge = ids.derive("recall", kind, session_id, query or "", at.astimezone(UTC).isoformat())
        if not self._exists("SELECT 1 FROM recall_edges WHERE id = ? LIMIT 1", edge):
            insert_rows(self.con, "recall_edges", [(edge, kind, session_id, query, without_zone(at), self.pos)])

    def checkpoints_among(self, checkpoint_ids: Sequence[str]) -> set[str]:
        """Keep those of ``checkpoint_ids`` that are stored."""
        if not checkpoint_ids:
            return set()
        sql = "SELECT id FROM checkpoints WHERE id IN (SELECT unnest(?::VARCHAR[]))"
        return {str(row[0]) for row in self.con.execute(sql, [list(checkpoint_ids)]).fetchall()}

    def add_uncovered(self, reasons: Sequence[tuple[str, str]]) -> None:
        """Remember why commits, given by name, got no session."""
        words = read_forgotten_words(self.con)
        plain = {git_sha: "" if words.are_in(reason) else reason for git_sha, reason in reasons}
        rows = [(git_sha, reason, without_zone(self.now)) for git_sha, reason in plain.items()]
        insert_rows(self.con, "uncovered_commits", rows, replace=True)

    def cover(self, shas: Sequence[str]) -> None:
        """Forget why commits had no session: they have one now."""
        if shas:
            self.con.execute(
                "DELETE FROM uncovered_commits WHERE git_sha IN (SELECT unnest(?::VARCHAR[]))", [list(shas)]
            )


class Damage(msgspec.Struct, frozen=True):
    """The outcome of :func:`set_aside_damaged`."""

    moved_to: Path


@contextmanager
def open_ledger(
    path: Path, *, read_only: bool, wait: float = 5.0, create: bool = False, bulk: bool = False
) -> Iterator[Ledger]:
    """Open data.db for the block and close it after; ``bulk`` is for writing that may go into gigabytes.

    Writers hold the lock of ``rekal.store.locks`` while they do this. Raises the errors of
    :func:`rekal.store.database.open_database`, :class:`NotInitialised` when there is no file and ``create`` is off, and
    :class:`StoreTooNew` for a store of a later version.
    """
    if not create and not path.exists():
        raise NotInitialised("this repository has no rekal store", "run `rekal init` first")
    block_size = None if read_only else _BLOCK_SIZE
    con = open_database(path, read_only=read_only, wait=wait, block_size=block_size, bulk=bulk)
    ledger: Ledger | None = None
    try:
        with translated_errors(path):
            if read_only:
                _check_readable(con, path)
            else:
                migrate_schema(con)
            # What goes wrong later, at a page that only a query reads, is the same damage or the same full disk.
            ledger = Ledger(con, path)
            yield ledger
    finally:
        con.close()
        if ledger is not None:
            ledger.con.close()


def _check_readable(con: Connection, path: Path) -> None:
    found = version_of(con)
    refuse_newer(found)
    if found == 0:
        raise StoreDamaged(f"{path.name} has no tables", "move it away and run `rekal init`")


def set_aside_damaged(path: Path, now: datetime) -> Damage:
    """Move aside what is damaged of data.db, and no more: its write-ahead log, or file and log together.

    Capture then goes on with what is left, or into a fresh file.
    """
    target = path.with_name(f"data.db.damaged-{now:%Y%m%dT%H%M%S}")
    log = path.with_name(path.name + ".wal")
    if log.exists():  # before its database: cut short here, no fresh database finds a foreign log
        aside = target.with_name(target.name + ".wal")
        log.replace(aside)
        if _is_whole(path):  # up to its last checkpoint
            return Damage(aside)
    path.replace(target)
    return Damage(target)


def _is_whole(path: Path) -> bool:
    """True if every table of the file can be read to its end."""
    try:
        with open_ledger(path, read_only=True) as ledger:
            for (table,) in ledger.con.execute("SELECT table_name FROM duckdb_tables()").fetchall():
                ledger.con.execute(f'SELECT count(COLUMNS(*)) FROM "{table}"').fetchall()
    except StoreDamaged:
        return False
    return True


# Migrations: the ordered list of what ever changed in data.db's schema.
#
# A migration is a named function, additive, run once under the lock; its name stays in ``meta``. A store that knows
# more migrations than this list is newer than this program and is refused.

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
