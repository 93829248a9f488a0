"""The sessions that were last active on a branch, each by its first question and its last answer."""

from __future__ import annotations

from datetime import datetime

import msgspec

from rekal.store.database import Connection
from rekal.store.rows import make_record, with_zone

_SQL = """
    WITH active AS (
        SELECT t.session_id, max(coalesce(t.occurred_at, t.recorded_at)) AS last_at, count(*) AS turns,
               max(t.seq) AS last_seq, arg_min(t.content, t.seq) FILTER (t.role = 'human') AS asked,
               arg_max(t.content, t.seq) FILTER (t.role = 'assistant') AS answered
        FROM turns t JOIN sessions s ON s.id = t.session_id
        WHERE s.parent_id IS NULL AND s.actor = 'human' AND (?::VARCHAR IS NULL OR s.branch = ?)
        GROUP BY t.session_id ORDER BY last_at DESC, t.session_id LIMIT ?
    )
    SELECT s.id, s.agent, s.native_id, s.author_name, s.origin, s.branch, s.title, a.last_at, a.turns,
           coalesce(a.asked, ''), coalesce(a.answered, ''),
           (SELECT list(c.git_sha ORDER BY c.committed_at DESC) FROM checkpoint_sessions l
            JOIN checkpoints c ON c.id = l.checkpoint_id WHERE l.session_id = s.id),
           (SELECT list(coalesce(c.subject, '') ORDER BY c.committed_at DESC) FROM checkpoint_sessions l
            JOIN checkpoints c ON c.id = l.checkpoint_id WHERE l.session_id = s.id),
           coalesce((SELECT max(l.last_seq) FROM checkpoint_sessions l WHERE l.session_id = s.id), -1) < a.last_seq
    FROM active a JOIN sessions s ON s.id = a.session_id ORDER BY a.last_at DESC, s.id
"""


class RecentSession(msgspec.Struct, frozen=True):
    """One session. ``asked`` is its first prompt, ``answered`` its last answer, ``commits`` its commits, newest first.

    ``uncommitted``: turns came after the last of them.
    """

    id: str
    agent: str
    native_id: str
    author_name: str
    origin: str
    branch: str | None
    title: str | None
    last_at: datetime | None
    turns: int
    asked: str
    answered: str
    commits: list[str]
    subjects: list[str]
    uncommitted: bool


def read_recent_sessions(con: Connection, branch: str | None, limit: int) -> list[RecentSession]:
    """The ``limit`` sessions with the newest turns, of one branch or of all; sub-agents' are left out."""
    rows = con.execute(_SQL, [branch, branch, limit]).fetchall()
    return [
        make_record(
            RecentSession,
            row[:7],
            last_at=with_zone(row[7]),
            turns=row[8],
            asked=row[9],
            answered=row[10],
            commits=row[11] or [],
            subjects=row[12] or [],
            uncommitted=row[13],
        )
        for row in rows
    ]
