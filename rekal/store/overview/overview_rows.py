"""The whole ledger at a glance: counts by day, agent and person, files with sessions, the recalls of this machine."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from rekal.store.database import Connection, with_zone, without_zone


class DayCount(msgspec.Struct, frozen=True):
    """One day (``YYYY-MM-DD``, UTC): sessions that began, turns, commits with a session and commits without one."""

    day: str
    sessions: int
    turns: int
    linked: int
    unlinked: int


class NamedCount(msgspec.Struct, frozen=True):
    """An agent or a person with sessions and turns, and when they last spoke."""

    name: str
    sessions: int
    turns: int
    last_at: datetime | None


class RecalledQuestion(msgspec.Struct, frozen=True):
    """A question that was asked on this machine, with the sessions shown, and those of them opened since.

    ``silent``: none was shown, and ``sessions`` has the one that came near, if one did. ``judged`` is what somebody
    said of the answer since: ``right``, ``wrong`` or empty.
    """

    query: str
    occurred_at: datetime
    sessions: list[str]
    opened: list[str]
    silent: bool
    judged: str


class AskedDay(msgspec.Struct, frozen=True):
    """One day on which this machine recalled: questions answered with sessions, and sessions opened."""

    day: str
    answered: int
    opened: int


class FileCount(msgspec.Struct, frozen=True):
    """A file with the number of sessions and commits that touched it."""

    path: str
    sessions: int
    commits: int
    last_at: datetime | None


_BY_DAY = """
    WITH days AS (
        SELECT CAST(started_at AS DATE) AS day, count(*) AS sessions, 0 AS turns, 0 AS linked, 0 AS unlinked
        FROM sessions WHERE started_at >= ? AND parent_id IS NULL GROUP BY 1
        UNION ALL SELECT CAST(occurred_at AS DATE), 0, count(*), 0, 0 FROM turns WHERE occurred_at >= ? GROUP BY 1
        UNION ALL SELECT CAST(committed_at AS DATE), 0, 0, count(DISTINCT git_sha), 0 FROM checkpoints
        WHERE committed_at >= ? GROUP BY 1
        UNION ALL SELECT CAST(recorded_at AS DATE), 0, 0, 0, count(*) FROM uncovered_commits
        WHERE recorded_at >= ? GROUP BY 1
    )
    SELECT strftime(day, '%Y-%m-%d'), sum(sessions), sum(turns), sum(linked), sum(unlinked)
    FROM days GROUP BY day ORDER BY day
"""


def count_days(con: Connection, since: datetime) -> list[DayCount]:
    """Count by day from ``since`` on, oldest first; days on which nothing happened are left out."""
    rows = con.execute(_BY_DAY, [without_zone(since)] * 4).fetchall()
    return [DayCount(str(day), *map(int, counts)) for day, *counts in rows]


def find_last_turn(con: Connection) -> datetime | None:
    """Return the time of the newest turn; None in an empty ledger."""
    row = con.execute("SELECT max(occurred_at) FROM turns").fetchone()
    return with_zone(row[0]) if row else None


def count_by(con: Connection, column: str, limit: int) -> list[NamedCount]:
    """Count sessions and turns by ``agent``, ``author_name`` or ``branch``, the busiest first."""
    assert column in ("agent", "author_name", "branch")
    rows = con.execute(
        f"""WITH said AS (SELECT session_id, count(*) AS turns, max(occurred_at) AS last_at FROM turns GROUP BY 1)
            SELECT coalesce(s.{column}, ''), count(*), coalesce(sum(said.turns), 0), max(said.last_at)
            FROM sessions s LEFT JOIN said ON said.session_id = s.id GROUP BY 1 ORDER BY 3 DESC, 1 LIMIT {int(limit)}"""
    ).fetchall()
    return [NamedCount(name, sessions, int(turns), with_zone(at)) for name, sessions, turns, at in rows]


def count_opened(con: Connection, limit: int) -> list[tuple[str, int]]:
    """Return the sessions opened most on this machine: id and how often."""
    rows = con.execute(
        f"""SELECT session_id, count(*) FROM recall_edges
            WHERE kind = 'opened' AND session_id IN (SELECT id FROM sessions) GROUP BY 1
            ORDER BY 2 DESC, 1 LIMIT {int(limit)}"""
    ).fetchall()
    return [(str(one), int(count)) for one, count in rows]


def read_recalled(con: Connection, limit: int) -> list[RecalledQuestion]:
    """Return the questions answered last, newest first."""
    rows = con.execute(
        f"""WITH asked AS (
                SELECT query, occurred_at, list(DISTINCT session_id) AS shown, bool_or(kind = 'silent') AS silent
                FROM recall_edges WHERE kind IN ('surfaced', 'silent') AND query IS NOT NULL
                GROUP BY 1, 2 QUALIFY row_number() OVER (PARTITION BY query ORDER BY occurred_at DESC) = 1
                ORDER BY 2 DESC LIMIT {int(limit)})
            SELECT query, occurred_at, shown,
                   (SELECT list(DISTINCT o.session_id) FROM recall_edges o WHERE o.kind = 'opened'
                    AND list_contains(asked.shown, o.session_id) AND o.occurred_at >= asked.occurred_at),
                   silent,
                   (SELECT arg_max(j.kind, j.occurred_at) FROM recall_edges j WHERE j.kind IN ('right', 'wrong')
                    AND j.query = asked.query AND j.occurred_at >= asked.occurred_at)
            FROM asked ORDER BY occurred_at DESC, query"""
    ).fetchall()
    return [
        RecalledQuestion(query, _required(at), [one for one in shown or [] if one], opened or [], silent, judged or "")
        for query, at, shown, opened, silent, judged in rows
    ]


def _required(at: datetime) -> datetime:
    when = with_zone(at)
    assert when is not None
    return when


def count_files(con: Connection, text: str, limit: int, offset: int) -> list[FileCount]:
    """Count sessions and commits by file, those touched last first; with ``text`` those whose path holds it."""
    rows = con.execute(
        f"""SELECT path, count(DISTINCT session_id), count(DISTINCT git_sha), max(touched_at) FROM (
                SELECT f.path, l.session_id, c.git_sha, c.committed_at AS touched_at FROM files_touched f
                JOIN checkpoints c ON c.id = f.checkpoint_id
                LEFT JOIN checkpoint_sessions l ON l.checkpoint_id = c.id
                UNION ALL SELECT path, session_id, NULL, occurred_at FROM tool_calls WHERE path IS NOT NULL)
            WHERE contains(lower(path), lower(?)) GROUP BY path
            ORDER BY 4 DESC NULLS LAST, path LIMIT {int(limit)} OFFSET {int(offset)}""",
        [text],
    ).fetchall()
    return [FileCount(path, sessions, commits, with_zone(at)) for path, sessions, commits, at in rows]


def read_relatives(con: Connection, session_id: str) -> tuple[str | None, list[tuple[str, str, str]]]:
    """Return a session's parent, and its sub-agents and forks: id, title or description, ``sub-agent`` or ``fork``."""
    row = con.execute("SELECT parent_id FROM sessions WHERE id = ?", [session_id]).fetchone()
    rows = con.execute(
        """SELECT id, coalesce(description, title, ''), CASE WHEN parent_id = ? THEN 'sub-agent' ELSE 'fork' END
           FROM sessions WHERE parent_id = ? OR forked_from = ? ORDER BY started_at, id""",
        [session_id] * 3,
    ).fetchall()
    return (row[0] if row else None), [(str(a), str(b), str(c)) for a, b, c in rows]


def read_titles(con: Connection, sessions: Sequence[str]) -> dict[str, str]:
    """Return the titles of sessions by id; of one without a title the beginning of its first prompt."""
    rows = con.execute(
        """SELECT id, coalesce(title, (SELECT left(arg_min(content, seq), 300) FROM turns t
                  WHERE t.session_id = s.id AND t.role = 'human'))
           FROM sessions s WHERE id IN (SELECT unnest(?::VARCHAR[]))""",
        [list(sessions)],
    ).fetchall()
    return {str(one): str(title) for one, title in rows if title}


def measure_ledger_text(con: Connection) -> int:
    """Return how many characters all turns have together."""
    row = con.execute("SELECT coalesce(sum(length(content)), 0) FROM turns").fetchone()
    return int(row[0]) if row else 0


def count_unsent(con: Connection) -> int:
    """Count this clone's commits with sessions that never left it."""
    row = con.execute(
        """SELECT count(DISTINCT git_sha) FROM checkpoints WHERE origin = 'local'
           AND id NOT IN (SELECT id FROM shipped WHERE kind IN ('checkpoint', 'summary'))"""
    ).fetchone()
    return int(row[0]) if row else 0


def count_asked(con: Connection) -> list[AskedDay]:
    """Count the recalls of this machine by day, oldest first."""
    rows = con.execute(
        """SELECT strftime(CAST(occurred_at AS DATE), '%Y-%m-%d') AS day,
                  count(DISTINCT coalesce(query, '') || occurred_at) FILTER (kind = 'surfaced'),
                  count(*) FILTER (kind = 'opened')
           FROM recall_edges GROUP BY 1 ORDER BY 1"""
    ).fetchall()
    return [AskedDay(str(day), int(answered), int(opened)) for day, answered, opened in rows]


class OriginCount(msgspec.Struct, frozen=True):
    """A teammate's ref with the sessions and commits that came from it, and when they last spoke in them."""

    origin: str
    sessions: int
    commits: int
    last_at: datetime | None


def count_origins(con: Connection) -> list[OriginCount]:
    """Count what came from each teammate's ref, the largest first."""
    rows = con.execute(
        """SELECT origin, count(*) FILTER (kind = 's'), count(*) FILTER (kind = 'c'), max(at_time) FROM (
               SELECT origin, 's' AS kind, started_at AS at_time FROM sessions
               UNION ALL SELECT origin, 'c', committed_at FROM checkpoints)
           WHERE origin <> 'local' GROUP BY 1 ORDER BY 2 DESC, 1"""
    ).fetchall()
    return [OriginCount(origin, sessions, commits, with_zone(at)) for origin, sessions, commits, at in rows]
