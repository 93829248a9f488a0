"""What a request to forget comes to: the targets of its tombstones, and the texts that logs are searched for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import msgspec

from rekal.errors import UsageError
from rekal.ids import content_hash
from rekal.store.database import Connection
from rekal.store.tombstones import words_id

Match = Callable[[str], bool]

# The hash of a short text can be guessed by whoever receives the tombstone, and the text may be anybody's ("yes"): it
# is known by its id alone.
LEAST_HASHED = 40


class Doomed(msgspec.Struct, frozen=True):
    """Targets in order. ``needles`` are texts of what goes and ids of the sessions it is of, for the places where only
    texts can be looked for.
    """

    targets: tuple[str, ...] = ()
    needles: tuple[str, ...] = ()

    def plus(self, other: Doomed) -> Doomed:
        """Both together, each once."""
        targets = dict.fromkeys((*self.targets, *other.targets))
        return Doomed(tuple(targets), tuple(dict.fromkeys((*self.needles, *other.needles))))


def of_session(con: Connection, session_id: str) -> Doomed:
    """A session and its sub-agents' sessions; turns and calls too, so that no copy of a transcript brings them back."""
    sessions = _with_children(con, session_id)
    where = "WHERE list_contains(?::VARCHAR[], session_id) ORDER BY session_id, seq"
    turns = con.execute(f"SELECT uid, content FROM turns {where}", [sessions]).fetchall()
    calls = con.execute(f"SELECT uid FROM tool_calls {where}", [sessions]).fetchall()
    uids = (str(row[0]) for row in (*turns, *calls))
    return Doomed((*sessions, *uids), (*sessions, *(str(text) for _, text in turns)))


def _with_children(con: Connection, session_id: str) -> list[str]:
    rows = con.execute(
        """WITH RECURSIVE below(id) AS (SELECT ? UNION SELECT s.id FROM sessions s JOIN below ON s.parent_id = below.id)
           SELECT id FROM below ORDER BY id""",
        [session_id],
    )
    return [str(row[0]) for row in rows.fetchall()]


def of_turn(con: Connection, session_id: str, seq: int) -> Doomed:
    """One turn, the calls made in it, and the session's words where they repeat it. Raises :class:`UsageError`."""
    row = con.execute(
        """SELECT uid, content, title, description FROM turns t JOIN sessions s ON s.id = t.session_id
           WHERE session_id = ? AND seq = ?""",
        [session_id, seq],
    ).fetchone()
    if row is None:
        raise UsageError(f"session {session_id[:10]} has no turn {seq}", "`rekal show` numbers them")
    uid, content, title, description = row
    calls = con.execute(
        "SELECT uid FROM tool_calls WHERE session_id = ? AND turn_seq = ?", [session_id, seq]
    ).fetchall()
    folded = " ".join(content.split())
    repeats = any(said and " ".join(said.split()).rstrip("…. ") in folded for said in (title, description))
    words = [words_id(session_id)] if repeats else []
    named = (str(uid), *_hash_of(content), *(str(c[0]) for c in calls), *words)
    return Doomed(named, (session_id, str(content)))


def _hash_of(content: str) -> list[str]:
    return [content_hash(content)] if len(content) >= LEAST_HASHED else []


def of_text(con: Connection, match: Match) -> Doomed:
    """Everything with a text for which ``match`` is true: turns and calls go, words are blanked, memories go whole."""
    turns = [row for row in _rows(con, "uid, content, session_id FROM turns") if match(row[1])]
    calls = _owners(con, "uid, tool, path, command, excerpt FROM tool_calls", match)
    blank = [
        *_owners(con, "id, title, description, branch, cwd FROM sessions", match),
        *_owners(con, "id, subject, branch FROM checkpoints", match),
    ]
    paths = {
        path
        for table, column in (("files_touched", "path"), ("files_touched", "old_path"), ("edits", "path"))
        for (path,) in _rows(con, f"DISTINCT {column} FROM {table}")
        if path and match(path)
    }
    memories = _owners(con, "memory_id, payload, source FROM memory_events", match)
    named = _of_turns(turns)
    more = (*calls, *map(words_id, blank), *map(content_hash, sorted(paths)), *memories)
    return named.plus(Doomed(more))


def _of_turns(rows: Sequence[tuple[str, ...]]) -> Doomed:
    """Turns by uid, content and session."""
    hashes = (name for _, text, _ in rows for name in _hash_of(text))
    needles = (needle for _, text, session in rows for needle in (session, text))
    return Doomed((*(uid for uid, _, _ in rows), *hashes), tuple(needles))


def _rows(con: Connection, what: str) -> list[tuple[str, ...]]:
    return con.execute(f"SELECT {what}").fetchall()


def _owners(con: Connection, what: str, match: Match) -> list[str]:
    """First columns of the rows that have a match in another."""
    return [row[0] for row in _rows(con, what) if any(text and match(text) for text in row[1:])]


def of_path(con: Connection, path: str) -> Doomed:
    """A file, or all files below a directory: the calls on it, the turns they were made in, and all mentions of it."""
    path = path.strip("/")
    below = [p for p in _paths(con) if p == path or p.startswith(f"{path}/")]
    rows = con.execute(
        """SELECT DISTINCT t.uid, t.content, t.session_id FROM tool_calls c
           JOIN turns t ON t.session_id = c.session_id AND t.seq = c.turn_seq
           WHERE list_contains(?::VARCHAR[], c.path) ORDER BY ALL""",
        [below],
    ).fetchall()
    hashed = Doomed(tuple(map(content_hash, below)), tuple(below))
    return _of_turns(rows).plus(hashed).plus(of_text(con, mentions_path(path)))


def _paths(con: Connection) -> list[str]:
    rows = con.execute(
        """SELECT path FROM tool_calls UNION SELECT path FROM edits UNION SELECT path FROM files_touched
           UNION SELECT old_path FROM files_touched ORDER BY 1"""
    )
    return [str(row[0]) for row in rows.fetchall() if row[0]]


def mentions_path(path: str) -> Match:
    """Whether a text names a path, as a whole name and not as part of a longer one."""
    found = re.compile(rf"(?<![\w-]){re.escape(path.strip('/'))}(?![\w-])").search
    return lambda text: found(text) is not None


def of_memory(con: Connection, memory_id: str) -> Doomed:
    """One memory with all its events."""
    rows = con.execute("SELECT payload FROM memory_events WHERE memory_id = ?", [memory_id]).fetchall()
    return Doomed((memory_id,), (memory_id, *(str(row[0]) for row in rows)))


def memory_ids(con: Connection, prefix: str) -> list[str]:
    """Ids of stored memories that start with ``prefix``, in order."""
    rows = con.execute(
        "SELECT DISTINCT memory_id FROM memory_events WHERE starts_with(memory_id, ?) ORDER BY 1", [prefix]
    )
    return [str(row[0]) for row in rows.fetchall()]


def clear_local(con: Connection, mention: Match, sessions: Sequence[str]) -> None:
    """Take what is to be forgotten out of the tables that never travel: questions it answered, reasons, errors."""
    asked = con.execute("SELECT DISTINCT session_id, query FROM recall_edges WHERE query IS NOT NULL").fetchall()
    concerned = set(sessions)
    queries = {query for session, query in asked if session in concerned or mention(query)}
    con.execute(
        """DELETE FROM recall_edges WHERE list_contains($queries::VARCHAR[], query)
           OR list_contains($sessions::VARCHAR[], session_id)""",
        {"queries": sorted(queries), "sessions": list(sessions)},
    )
    for table, column, blank in (("uncovered_commits", "reason", "''"), ("source_state", "error", "NULL")):
        texts = [text for (text,) in _rows(con, f"DISTINCT {column} FROM {table}") if text and mention(text)]
        con.execute(f"UPDATE {table} SET {column} = {blank} WHERE list_contains(?::VARCHAR[], {column})", [texts])


def mentions_any(needles: Iterable[str], least: int = 12) -> Match:
    """Whether a text holds one of these texts; those too short to be that and nothing else are left out."""
    kept = [needle for needle in needles if len(needle) >= least]
    return lambda text: any(needle in text for needle in kept)
