"""Taking out of data.db what tombstones name: the same for what is forgotten here and for what its owner forgot.

Deleted rows stay in the file's free pages until :func:`rewrite` copies what is left into a fresh file.
"""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable, Sequence
from pathlib import Path

import msgspec

from rekal.errors import StoreUnwritable
from rekal.ids import content_hash
from rekal.store.database import Connection, open_beside, quote_path, translated_errors
from rekal.store.guard import renew_second_name
from rekal.store.layout import REWRITE_DATA
from rekal.store.tombstones import is_hash, words_id

BLOCK_SIZE = 16384
_REWRITING = ".rewriting-"

# Where texts are found by their hash.
_HASHED = (
    "SELECT DISTINCT content FROM turns WHERE session_id IN (SELECT id FROM scope_sessions)",
    "SELECT DISTINCT path FROM tool_calls WHERE session_id IN (SELECT id FROM scope_sessions)",
    "SELECT DISTINCT path FROM edits WHERE session_id IN (SELECT id FROM scope_sessions)",
    """SELECT DISTINCT unnest([path, old_path]) FROM files_touched
       WHERE checkpoint_id IN (SELECT id FROM scope_checkpoints)""",
)
_GONE = "SELECT target FROM gone"
_GONE_TEXTS = "SELECT target FROM gone_texts"
_MINE = "session_id IN (SELECT id FROM scope_sessions)"
_OF_SESSION = ("turns", "tool_calls", "edits", "checkpoint_sessions", "recall_edges")


class Erased(msgspec.Struct, frozen=True):
    """Counts of what was deleted, the sessions that lost something, the commits that lost their checkpoint."""

    sessions: int = 0
    turns: int = 0
    calls: int = 0
    checkpoints: int = 0
    files: int = 0
    events: int = 0
    texts: int = 0
    touched: tuple[str, ...] = ()
    commits: tuple[str, ...] = ()

    @property
    def total(self) -> int:
        """The sum of all counts."""
        return self.sessions + self.turns + self.calls + self.checkpoints + self.files + self.events + self.texts

    def plus(self, other: Erased) -> Erased:
        """Return the counts of both together."""
        return Erased(*(getattr(self, name) + getattr(other, name) for name in self.__struct_fields__))


def erase(con: Connection, targets: Collection[str], origins: Sequence[str] | None = None) -> Erased:
    """Delete what ``targets`` name among what came from ``origins`` (None: everything). Inside a transaction."""
    if not targets:
        return Erased()
    _scope(con, origins)
    _list_targets(con, "gone", targets)
    hashes = {target for target in targets if is_hash(target)}
    _list_targets(con, "gone_texts", _texts_of(con, hashes) if hashes else ())
    touched = _touched(con)
    sessions = _forget_sessions(con)
    turns = _run_counted(con, f"DELETE FROM turns WHERE {_MINE} AND (uid IN ({_GONE}) OR content IN ({_GONE_TEXTS}))")
    calls = _forget_calls(con)
    files = _run_counted(
        con,
        f"""DELETE FROM files_touched WHERE checkpoint_id IN (SELECT id FROM scope_checkpoints)
            AND (path IN ({_GONE_TEXTS}) OR old_path IN ({_GONE_TEXTS}))""",
    )
    texts = _blank(con, set(targets))
    events = _run_counted(
        con,
        f"""DELETE FROM memory_events WHERE (id IN ({_GONE}) OR memory_id IN ({_GONE}))
            AND ($origins IS NULL OR list_contains($origins::VARCHAR[], origin))""",
        {"origins": None if origins is None else list(origins)},
    )
    commits = _forget_checkpoints(con)
    return Erased(sessions.sessions, turns + sessions.turns, calls + sessions.calls, len(commits), files, events, texts,
                  touched, commits)  # fmt: skip


def _scope(con: Connection, origins: Sequence[str] | None) -> None:
    for table in ("sessions", "checkpoints"):
        where, values = ("true", []) if origins is None else ("list_contains(?::VARCHAR[], origin)", [list(origins)])
        con.execute(f"CREATE OR REPLACE TEMP TABLE scope_{table} AS SELECT id FROM {table} WHERE {where}", values)


def _list_targets(con: Connection, name: str, values: Iterable[str]) -> None:
    listed = f"CREATE OR REPLACE TEMP TABLE {name} AS SELECT unnest(?::VARCHAR[]) AS target"
    con.execute(listed, [sorted(values)])


def _texts_of(con: Connection, hashes: set[str]) -> list[str]:
    found = (row[0] for sql in _HASHED for row in con.execute(sql).fetchall() if row[0])
    return [text for text in found if content_hash(text) in hashes]


def _touched(con: Connection) -> tuple[str, ...]:
    rows = con.execute(
        f"""SELECT id FROM scope_sessions WHERE id IN ({_GONE})
            UNION SELECT session_id FROM turns WHERE {_MINE} AND (uid IN ({_GONE}) OR content IN ({_GONE_TEXTS}))
            UNION SELECT session_id FROM tool_calls WHERE {_MINE} AND (uid IN ({_GONE}) OR path IN ({_GONE_TEXTS}))
            ORDER BY 1"""
    )
    return tuple(str(row[0]) for row in rows.fetchall())


def _run_counted(con: Connection, sql: str, values: dict[str, object] | None = None) -> int:
    row = con.execute(sql, values).fetchone() if values else con.execute(sql).fetchone()
    return int(row[0]) if row else 0


def _forget_sessions(con: Connection) -> Erased:
    """Delete whole sessions with all that is theirs; :func:`_forget_checkpoints` needs the table ``bereft``."""
    con.execute(f"CREATE OR REPLACE TEMP TABLE gone_sessions AS SELECT id FROM scope_sessions WHERE id IN ({_GONE})")
    of_them = "session_id IN (SELECT id FROM gone_sessions)"
    con.execute(
        f"""CREATE OR REPLACE TEMP TABLE bereft AS SELECT DISTINCT checkpoint_id AS id FROM checkpoint_sessions
            WHERE {of_them}"""
    )
    lost = {table: _run_counted(con, f"DELETE FROM {table} WHERE {of_them}") for table in _OF_SESSION}
    sessions = _run_counted(con, "DELETE FROM sessions WHERE id IN (SELECT id FROM gone_sessions)")
    return Erased(sessions=sessions, turns=lost["turns"], calls=lost["tool_calls"])


def _forget_calls(con: Connection) -> int:
    named = f"{_MINE} AND (uid IN ({_GONE}) OR path IN ({_GONE_TEXTS}))"
    con.execute(
        f"""DELETE FROM edits WHERE {_MINE} AND (path IN ({_GONE_TEXTS})
            OR (session_id, tool_call_seq) IN (SELECT (session_id, seq) FROM tool_calls WHERE {named}))"""
    )
    return _run_counted(con, f"DELETE FROM tool_calls WHERE {named}")


def _blank(con: Connection, targets: set[str]) -> int:
    """Blank the words of sessions and checkpoints that stay."""
    blanked = 0
    fields = {"sessions": ("title", "description", "branch", "cwd"), "checkpoints": ("subject", "branch")}
    for table, columns in fields.items():
        rows = con.execute(f"SELECT id FROM scope_{table}").fetchall()
        named = [str(row[0]) for row in rows if words_id(str(row[0])) in targets]
        if named:
            blank = ", ".join(f"{column} = NULL" for column in columns)
            con.execute(f"UPDATE {table} SET {blank} WHERE list_contains(?::VARCHAR[], id)", [named])
            blanked += len(named)
    return blanked


def _forget_checkpoints(con: Connection) -> tuple[str, ...]:
    """Checkpoints that are named, or whose every session is gone; returns their commits."""
    con.execute(
        f"""CREATE OR REPLACE TEMP TABLE gone_checkpoints AS SELECT id FROM scope_checkpoints
            WHERE id IN ({_GONE}) OR (id IN (SELECT id FROM bereft)
                AND id NOT IN (SELECT checkpoint_id FROM checkpoint_sessions))"""
    )
    for table in ("files_touched", "checkpoint_sessions"):
        con.execute(f"DELETE FROM {table} WHERE checkpoint_id IN (SELECT id FROM gone_checkpoints)")
    rows = con.execute("DELETE FROM checkpoints WHERE id IN (SELECT id FROM gone_checkpoints) RETURNING git_sha")
    return tuple(str(row[0]) for row in rows.fetchall())


def want_rewrite(run: Path) -> None:
    """Note, before something is deleted, that the file is to be rewritten: whoever comes next does it if we die."""
    (run / REWRITE_DATA).touch()


def rewrite_wanted(run: Path) -> bool:
    """True if a rewrite was noted and not done."""
    return (run / REWRITE_DATA).exists()


def rewrite_done(run: Path) -> None:
    """Take the note of :func:`want_rewrite` back: nothing was deleted, or the file is rewritten."""
    (run / REWRITE_DATA).unlink(missing_ok=True)


def rewrite(path: Path, run: Path) -> None:
    """Copy data.db into a fresh file that takes its place, so that no free page keeps what was deleted.

    The caller holds the writer's lock and has no connection open. Raises :class:`StoreUnwritable` or
    :class:`rekal.errors.StoreBusy`; the old file is then still there.
    """
    sweep(path)
    fresh = path.with_name(f"{path.name}{_REWRITING}{os.getpid()}")
    try:
        with translated_errors(path):
            con = open_beside(path)
            try:
                con.execute(f"ATTACH {quote_path(path)} AS old")
                con.execute(f"ATTACH {quote_path(fresh)} AS fresh (BLOCK_SIZE {BLOCK_SIZE})")
                con.execute("COPY FROM DATABASE old TO fresh")
            finally:
                con.close()
        fresh.replace(path)
        # The old file lives on under its second name until that is renewed; the note of this rewrite outlasts a crash.
        renew_second_name(path, run)
        rewrite_done(run)
    except OSError as error:
        raise StoreUnwritable(f"{path.name} cannot be rewritten ({error.strerror})", "free some space") from None
    finally:
        sweep(path)


def sweep(path: Path) -> None:
    """Remove what an interrupted rewrite left."""
    for left in path.parent.glob(f"{path.name}{_REWRITING}*"):
        left.unlink(missing_ok=True)
