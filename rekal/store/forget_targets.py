"""Targets of a request to forget, found in data.db, and the texts that logs are searched for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence

import msgspec

from rekal.errors import UsageError
from rekal.ids import content_hash
from rekal.model import LOCAL
from rekal.store.database import Connection
from rekal.store.tombstones import words_id

Match = Callable[[str], bool]

# The hash of a short text can be guessed by whoever receives the tombstone, and the text may be anybody's ("yes"): it
# is known by its id alone.
LEAST_HASHED = 40
# Every table and column that may hold a path. An edit can name a path that no call names, and the other way round.
_PATH_COLUMNS = (
    ("tool_calls", "path"),
    ("edits", "path"),
    ("files_touched", "path"),
    ("files_touched", "old_path"),
)


class Targets(msgspec.Struct, frozen=True):
    """Targets of tombstones, in order, each once.

    ``needles`` are texts of the forgotten turns and ids of their sessions, for places where only texts can
    be looked for.
    """

    targets: tuple[str, ...] = ()
    needles: tuple[str, ...] = ()

    def plus(self, other: Targets) -> Targets:
        """Both together, each target once."""
        targets = dict.fromkeys((*self.targets, *other.targets))
        return Targets(tuple(targets), tuple(dict.fromkeys((*self.needles, *other.needles))))


def targets_of_session(con: Connection, session_id: str) -> Targets:
    """A session and its sub-agents' sessions; turns and calls too, so that no copy of a transcript brings them back."""
    sessions = _with_children(con, session_id)
    where = "WHERE list_contains(?::VARCHAR[], session_id) ORDER BY session_id, seq"
    turns = con.execute(f"SELECT uid, content FROM turns {where}", [sessions]).fetchall()
    calls = con.execute(f"SELECT uid FROM tool_calls {where}", [sessions]).fetchall()
    uids = (str(row[0]) for row in (*turns, *calls))
    return Targets((*sessions, *uids), (*sessions, *(str(text) for _, text in turns)))


def _with_children(con: Connection, session_id: str) -> list[str]:
    # Sub-agents start sub-agents of their own: hence the recursion.
    rows = con.execute(
        """WITH RECURSIVE below(id) AS (SELECT ? UNION SELECT s.id FROM sessions s JOIN below ON s.parent_id = below.id)
           SELECT id FROM below ORDER BY id""",
        [session_id],
    )
    return [str(row[0]) for row in rows.fetchall()]


def targets_of_turn(con: Connection, session_id: str, seq: int) -> Targets:
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
    # Agents cut titles from prompts: with an ellipsis at the end and all white space folded.
    folded = " ".join(content.split())
    repeats = any(words and " ".join(words.split()).rstrip("…. ") in folded for words in (title, description))
    blanked = [words_id(session_id)] if repeats else []
    named = (str(uid), *_hash_if_long(content), *(str(c[0]) for c in calls), *blanked)
    return Targets(named, (session_id, str(content)))


def _hash_if_long(content: str) -> list[str]:
    return [content_hash(content)] if len(content) >= LEAST_HASHED else []


def targets_of_text(con: Connection, match: Match) -> Targets:
    """Everything with a text for which ``match`` is true: turns and calls go, words are blanked, memories go whole."""
    turns = [row for row in _select(con, "uid, content, session_id FROM turns") if match(row[1])]
    calls = _owners(con, "uid, tool, path, command, excerpt FROM tool_calls", match)
    blank = [
        *_owners(con, "id, title, description, branch, cwd FROM sessions", match),
        *_owners(con, "id, subject, branch FROM checkpoints", match),
    ]
    # A call's own path goes with the call; these are paths of edits and commits that stay.
    paths = {
        path
        for table, column in _PATH_COLUMNS[1:]
        for (path,) in _select(con, f"DISTINCT {column} FROM {table}")
        if path and match(path)
    }
    memories = _owners(con, "memory_id, payload, source FROM memory_events", match)
    named = _targets_of_rows(turns)
    more = (*calls, *map(words_id, blank), *map(content_hash, sorted(paths)), *memories)
    return named.plus(Targets(more))


def _targets_of_rows(rows: Sequence[tuple[str, ...]]) -> Targets:
    """Targets of turns that are given as (uid, content, session)."""
    hashes = (name for _, text, _ in rows for name in _hash_if_long(text))
    needles = (needle for _, text, session in rows for needle in (session, text))
    return Targets((*(uid for uid, _, _ in rows), *hashes), tuple(needles))


def _select(con: Connection, what: str) -> list[tuple[str, ...]]:
    return con.execute(f"SELECT {what}").fetchall()


def _owners(con: Connection, what: str, match: Match) -> list[str]:
    """First columns of the rows that have a match in another."""
    return [row[0] for row in _select(con, what) if any(text and match(text) for text in row[1:])]


def targets_of_path(con: Connection, path: str) -> Targets:
    """A file, or all files below a directory: the calls on it, the turns they were made in, and all mentions of it."""
    path = path.strip("/")
    below = [p for p in _stored_paths(con) if p == path or p.startswith(f"{path}/")]
    rows = con.execute(
        """SELECT DISTINCT t.uid, t.content, t.session_id FROM tool_calls c
           JOIN turns t ON t.session_id = c.session_id AND t.seq = c.turn_seq
           WHERE list_contains(?::VARCHAR[], c.path) ORDER BY ALL""",
        [below],
    ).fetchall()
    hashed = Targets(tuple(map(content_hash, below)), tuple(below))
    return _targets_of_rows(rows).plus(hashed).plus(targets_of_text(con, match_path(path)))


def _stored_paths(con: Connection) -> list[str]:
    union = " UNION ".join(f"SELECT {column} AS path FROM {table}" for table, column in _PATH_COLUMNS)
    return [str(row[0]) for row in con.execute(f"{union} ORDER BY 1").fetchall() if row[0]]


def match_path(path: str) -> Match:
    """Return a test: does a text name ``path`` as a whole name, not as part of a longer one?"""
    found = re.compile(rf"(?<![\w-]){re.escape(path.strip('/'))}(?![\w-])").search
    return lambda text: found(text) is not None


def targets_of_memory(con: Connection, memory_id: str) -> Targets:
    """One memory with all its events."""
    rows = con.execute("SELECT payload FROM memory_events WHERE memory_id = ?", [memory_id]).fetchall()
    return Targets((memory_id,), (memory_id, *(str(row[0]) for row in rows)))


def find_memory_ids(con: Connection, prefix: str) -> list[str]:
    """Ids of stored memories that start with ``prefix``, in order."""
    rows = con.execute(
        "SELECT DISTINCT memory_id FROM memory_events WHERE starts_with(memory_id, ?) ORDER BY 1", [prefix]
    )
    return [str(row[0]) for row in rows.fetchall()]


def find_other_owners(con: Connection, targets: Sequence[str]) -> tuple[str, ...]:
    """Origins of the teammates whose sessions or turns ``targets`` name, in order."""
    rows = con.execute(
        """SELECT DISTINCT origin FROM sessions s WHERE origin <> $local AND (list_contains($gone::VARCHAR[], s.id)
               OR EXISTS (SELECT 1 FROM turns t WHERE t.session_id = s.id AND list_contains($gone::VARCHAR[], t.uid)))
           ORDER BY 1""",
        {"local": LOCAL, "gone": list(targets)},
    )
    return tuple(str(row[0]) for row in rows.fetchall())


def select_prompts(con: Connection, targets: Sequence[str]) -> list[str]:
    """Return the words of persons in the turns that ``targets`` name."""
    rows = con.execute(
        "SELECT content FROM turns WHERE role IN ('human', 'steering') AND list_contains(?::VARCHAR[], uid)",
        [list(targets)],
    )
    return [str(row[0]) for row in rows.fetchall()]


def clear_local_texts(con: Connection, mention: Match, sessions: Sequence[str]) -> int:
    """Take the forgotten out of the tables that never travel: questions that it answered, reasons, errors.

    Returns the number of texts that went.
    """
    asked = con.execute("SELECT DISTINCT session_id, query FROM recall_edges WHERE query IS NOT NULL").fetchall()
    concerned = set(sessions)
    # One question may have led to several sessions: then the row of each of them repeats its words.
    queries = {query for session, query in asked if session in concerned or mention(query)}
    cleared = len(queries)
    con.execute(
        """DELETE FROM recall_edges WHERE list_contains($queries::VARCHAR[], query)
           OR list_contains($sessions::VARCHAR[], session_id)""",
        {"queries": sorted(queries), "sessions": list(sessions)},
    )
    for table, column, blank in (("uncovered_commits", "reason", "''"), ("source_state", "error", "NULL")):
        texts = [text for (text,) in _select(con, f"DISTINCT {column} FROM {table}") if text and mention(text)]
        con.execute(f"UPDATE {table} SET {column} = {blank} WHERE list_contains(?::VARCHAR[], {column})", [texts])
        cleared += len(texts)
    return cleared


def match_any_text(needles: Iterable[str], least: int = 12) -> Match:
    """Return a test: does a text hold one of ``needles``? Those shorter than ``least`` characters are left out."""
    # A short needle ("yes") stands in logs that have nothing to do with it.
    kept = [needle for needle in needles if len(needle) >= least]
    return lambda text: any(needle in text for needle in kept)
