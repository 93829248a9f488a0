"""Sessions of the ledger as a list: narrowed, newest first, without their turns."""

from __future__ import annotations

from datetime import datetime

import msgspec

from rekal.store.database import Connection
from rekal.store.rows import make_record, with_zone, without_zone


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


def list_sessions(con: Connection, wanted: SessionFilter, limit: int) -> list[SessionRow]:
    """List at most ``limit`` sessions, newest first; -1: all. Sub-agents' sessions belong to their parents."""
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
            ORDER BY last_at DESC NULLS LAST, id {f"LIMIT {limit}" if limit >= 0 else ""}""",
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
