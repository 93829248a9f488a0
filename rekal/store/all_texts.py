"""Every text that data.db holds, for those who look through all of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from rekal.store.database import Connection

_ALL = """SELECT content FROM turns UNION ALL SELECT command FROM tool_calls WHERE command IS NOT NULL
    UNION ALL SELECT excerpt FROM tool_calls WHERE excerpt IS NOT NULL
    UNION ALL SELECT path FROM tool_calls WHERE path IS NOT NULL
    UNION ALL SELECT subject FROM checkpoints WHERE subject IS NOT NULL
    UNION ALL SELECT branch FROM sessions WHERE branch IS NOT NULL
    UNION ALL SELECT title FROM sessions WHERE title IS NOT NULL"""
_OF_SESSIONS = """
    SELECT content FROM turns WHERE session_id IN (SELECT unnest($s::VARCHAR[]))
    UNION ALL SELECT unnest([command, excerpt, path]) FROM tool_calls WHERE session_id IN (SELECT unnest($s::VARCHAR[]))
    UNION ALL SELECT unnest([title, branch, description]) FROM sessions WHERE id IN (SELECT unnest($s::VARCHAR[]))"""
# Rows in memory at a time: a store may be larger than the machine's memory.
_ROWS = 1000


def iterate_texts(con: Connection) -> Iterator[str]:
    """Yield every stored text that came from a transcript or a commit."""
    cursor = con.execute(_ALL)
    while rows := cursor.fetchmany(_ROWS):
        yield from (str(row[0]) for row in rows)


def select_texts_of_sessions(con: Connection, sessions: Iterable[str]) -> list[str]:
    """All texts of these sessions."""
    rows = con.execute(_OF_SESSIONS, {"s": sorted(sessions)}).fetchall()
    return [str(row[0]) for row in rows if row[0]]
