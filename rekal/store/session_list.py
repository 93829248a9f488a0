"""Sessions of the ledger as lists, newest first: narrowed; those last at work; turns that hold a text."""

from __future__ import annotations

from datetime import datetime

import msgspec

from rekal.store.database import Connection, make_record, with_zone, without_zone


class SessionFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions on sessions, all of which hold.

    ``author`` is part of a name or an address, ``path`` a file or folder.
    """

    since: datetime | None = None
    until: datetime | None = None
    agent: str | None = None
    author: str | None = None
    branch: str | None = None
    path: str | None = None
    own: bool = False


class SessionRow(msgspec.Struct, frozen=True):
    """One session: times in UTC, the number of its turns, its commits as ids, newest first."""

    id: str
    agent: str
    native_id: str
    author_name: str
    origin: str
    branch: str | None
    title: str | None
    started_at: datetime | None
    last_at: datetime | None
    turns: int
    commits: list[str]


_CONDITIONS = {
    "since": "last_at >= $since",
    "until": "started_at <= $until",
    "agent": "agent = $agent",
    "author": "(contains(lower(author_name), lower($author)) OR contains(lower(author_email), lower($author)))",
    "branch": "branch = $branch",
    "path": """id IN (SELECT session_id FROM tool_calls WHERE path = $path OR starts_with(path, $path || '/')
                      UNION ALL SELECT l.session_id FROM files_touched f
                      JOIN checkpoint_sessions l USING (checkpoint_id)
                      WHERE f.path = $path OR starts_with(f.path, $path || '/'))""",
}


def list_sessions(con: Connection, wanted: SessionFilter, limit: int, offset: int = 0) -> list[SessionRow]:
    """List at most ``limit`` sessions, newest first, after the first ``offset``; -1: all.

    Sub-agents' sessions belong to their parents.
    """
    values: dict[str, object] = {}
    conditions = ["parent_id IS NULL"]
    for name, condition in _CONDITIONS.items():
        value = getattr(wanted, name)
        if value is not None:
            conditions.append(condition)
            values[name] = without_zone(value) if isinstance(value, datetime) else value
    if wanted.own:
        conditions.append("origin = 'local'")
    rows = con.execute(
        f"""SELECT id, agent, native_id, author_name, origin, branch, title, started_at, last_at, turns,
                   (SELECT list(git_sha ORDER BY committed_at DESC) FROM checkpoints c
                    JOIN checkpoint_sessions l ON l.checkpoint_id = c.id WHERE l.session_id = s.id)
            FROM (SELECT *,
                         coalesce((SELECT max(occurred_at) FROM turns t WHERE t.session_id = sessions.id), started_at)
                         AS last_at,
                         (SELECT count(*) FROM turns t WHERE t.session_id = sessions.id) AS turns
                  FROM sessions) s
            WHERE {" AND ".join(conditions)}
            ORDER BY last_at DESC NULLS LAST, id {f"LIMIT {limit}" if limit >= 0 else ""} OFFSET {int(offset)}""",
        values,
    ).fetchall()
    return [
        make_record(
            SessionRow,
            row[:7],
            started_at=with_zone(row[7]),
            last_at=with_zone(row[8]),
            turns=row[9],
            commits=list(dict.fromkeys(row[10] or ())),
        )
        for row in rows
    ]


class TextFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions on turns, all of which hold. ``regex``: the text is a regular expression."""

    role: str | None = None
    sessions: SessionFilter = SessionFilter()
    regex: bool = False


class FoundTurn(msgspec.Struct, frozen=True):
    """One turn that may hold a text that was looked for."""

    session_id: str
    seq: int
    role: str
    occurred_at: datetime | None
    content: str


_OF_TURNS = {"since": "occurred_at >= $since", "until": "occurred_at <= $until"}
_OF_SESSIONS = ("agent", "author", "branch", "path")


def turns_with_text(con: Connection, text: str, wanted: TextFilter) -> list[FoundTurn]:
    """Return the turns that contain ``text``, whatever its case, oldest first; for ``regex`` all that may match it."""
    values: dict[str, object] = {}
    conditions = []
    if not wanted.regex:
        conditions.append("contains(lower(content), lower($text))")
        values["text"] = text
    if wanted.role:
        conditions.append("role = $role")
        values["role"] = wanted.role
    for name, condition in _OF_TURNS.items():
        when = getattr(wanted.sessions, name)
        if when is not None:
            conditions.append(condition)
            values[name] = without_zone(when)
    chosen = [name for name in _OF_SESSIONS if getattr(wanted.sessions, name) is not None]
    if chosen:
        of_sessions = " AND ".join(_CONDITIONS[name] for name in chosen)
        conditions.append(f"session_id IN (SELECT id FROM sessions WHERE {of_sessions})")
        values.update({name: getattr(wanted.sessions, name) for name in chosen})
    rows = con.execute(
        f"""SELECT session_id, seq, role, occurred_at, content FROM turns
            WHERE {" AND ".join(conditions) or "true"} ORDER BY occurred_at NULLS LAST, session_id, seq""",
        values,
    ).fetchall()
    return [FoundTurn(session, seq, role, with_zone(at), content) for session, seq, role, at, content in rows]


_LAST_AT_WORK = """
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
    rows = con.execute(_LAST_AT_WORK, [branch, branch, limit]).fetchall()
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
