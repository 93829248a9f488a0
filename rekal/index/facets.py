"""What a session was about besides its words: who, where, which files, commands and commits.

One row a session for filters, and one document a session for search. Both are written anew whenever anything of the
session changes; a session is small and its row is cheap.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rekal.index.writer import Doc
from rekal.store.columns import insert
from rekal.store.connect import Connection

_LONGEST_STEERING = 400
_MOST_COMMANDS = 200

# Sessions whose facets a change after position $after can have altered.
_CHANGED = """
    WITH RECURSIVE became(root, sha) AS (
        SELECT git_sha, git_sha FROM checkpoints
        UNION SELECT root, new_sha FROM became JOIN rewrites ON old_sha = sha)
    SELECT id FROM sessions WHERE pos > $after
    UNION SELECT session_id FROM turns WHERE pos > $after
    UNION SELECT session_id FROM tool_calls WHERE pos > $after
    UNION SELECT session_id FROM checkpoint_sessions WHERE pos > $after
    UNION SELECT session_id FROM checkpoint_sessions JOIN checkpoints c ON c.id = checkpoint_id WHERE c.pos > $after
    UNION SELECT session_id FROM checkpoint_sessions JOIN files_touched f USING (checkpoint_id) WHERE f.pos > $after
    UNION SELECT session_id FROM rewrites r JOIN became ON old_sha = sha
        JOIN checkpoints c ON git_sha = root JOIN checkpoint_sessions ON checkpoint_id = c.id WHERE r.pos > $after"""

# A commit that was amended, rebased or squashed is found by its old and by its new name.
_FACETS = """
    WITH RECURSIVE became(root, sha) AS (
        SELECT git_sha, git_sha FROM checkpoints
        UNION SELECT root, new_sha FROM became JOIN rewrites ON old_sha = sha),
    wanted AS (SELECT * FROM sessions WHERE list_contains($ids, id)),
    said AS (
        SELECT session_id, count(*) AS turns, count(*) FILTER (role IN ('human', 'steering')) AS human_turns,
            min(occurred_at) AS first_at, max(occurred_at) AS last_at,
            list(content ORDER BY seq) FILTER (role = 'steering') AS steering
        FROM turns SEMI JOIN wanted ON session_id = wanted.id GROUP BY session_id),
    did AS (
        SELECT session_id, list(DISTINCT path) AS paths, list(DISTINCT command) AS commands
        FROM tool_calls SEMI JOIN wanted ON session_id = wanted.id GROUP BY session_id),
    led AS (
        SELECT session_id, list(DISTINCT sha) AS commits, list(DISTINCT subject) AS subjects,
            list(DISTINCT c.branch) AS branches
        FROM checkpoint_sessions SEMI JOIN wanted ON session_id = wanted.id
        JOIN checkpoints c ON c.id = checkpoint_id JOIN became ON root = git_sha GROUP BY session_id),
    changed AS (
        SELECT session_id, list(DISTINCT path) AS paths
        FROM checkpoint_sessions SEMI JOIN wanted ON session_id = wanted.id JOIN files_touched USING (checkpoint_id)
        GROUP BY session_id)
    SELECT id, agent, actor, agent_type, author_name, author_email, origin, parent_id, branch, title, description,
        coalesce(turns, 0), coalesce(human_turns, 0), coalesce(started_at, first_at), coalesce(last_at, started_at),
        list_sort(list_distinct(coalesce(branches, []) || [branch])), list_sort(list_distinct(coalesce(commits, []))),
        list_sort(list_distinct(coalesce(subjects, []))),
        list_sort(list_distinct(coalesce(did.paths, []) || coalesce(changed.paths, []))),
        list_sort(list_distinct(coalesce(commands, []))), coalesce(steering, [])
    FROM wanted LEFT JOIN said ON said.session_id = id LEFT JOIN did ON did.session_id = id
    LEFT JOIN led ON led.session_id = id LEFT JOIN changed ON changed.session_id = id ORDER BY id"""


class Facets(msgspec.Struct, frozen=True):
    """Facets of one session as the ledger tells them. Times are the database's (UTC, naive)."""

    session_id: str
    agent: str
    actor: str
    agent_type: str | None
    author_name: str
    author_email: str
    origin: str
    parent_id: str | None
    branch: str | None
    title: str | None
    description: str | None
    turns: int
    human_turns: int
    started_at: object
    ended_at: object
    branches: list[str]
    commits: list[str]
    subjects: list[str]
    files: list[str]
    commands: list[str]
    steering: list[str]

    def text(self) -> str:
        """What the session's facet document says, a line each."""
        heads = [part for part in (self.title, self.description) if part]
        steering = [said[:_LONGEST_STEERING] for said in self.steering]
        lines = [*heads, *self.branches, *self.subjects, *self.files, *self.commands[:_MOST_COMMANDS], *steering]
        return "\n".join(lines)


def changed_sessions(ledger: Connection, after: int) -> list[str]:
    """Ids of sessions with anything new since ledger position ``after``, in order."""
    return sorted(str(row[0]) for row in ledger.execute(_CHANGED, {"after": after}).fetchall())


def read_facets(ledger: Connection, session_ids: Sequence[str]) -> list[Facets]:
    """Facets of the given sessions, ordered by id; sessions that the ledger does not have are left out."""
    return [Facets(*row) for row in ledger.execute(_FACETS, {"ids": list(session_ids)}).fetchall()]


def write_facets(index: Connection, rows: Sequence[Facets], ordinals: dict[str, int]) -> list[Doc]:
    """Replace the rows of these sessions; returns their facet documents, still to be added."""
    gone = [ordinals[row.session_id] for row in rows]
    for table in ("facets", "session_files"):
        index.execute(f"DELETE FROM {table} WHERE session_ord IN (SELECT unnest(?::INTEGER[]))", [gone])
    insert(index, "facets", [_row(row, ordinals[row.session_id]) for row in rows])
    insert(index, "session_files", [(ordinals[row.session_id], path) for row in rows for path in row.files])
    return [Doc("facet", row.text(), session_ord=ordinals[row.session_id], session_id=row.session_id) for row in rows]


def _row(f: Facets, ordinal: int) -> tuple[object, ...]:
    who = (ordinal, f.session_id, f.agent, f.actor, f.agent_type, f.author_name, f.author_email, f.origin)
    where = (f.parent_id, f.branch, f.title, None, f.turns, f.human_turns, f.started_at, f.ended_at)
    return (*who, *where, f.branches, f.commits, f.files, f.commands)


def read_opened(ledger: Connection) -> list[tuple[object, ...]]:
    """How often each session was opened and shown on this machine, and the question it was opened for most."""
    return ledger.execute(
        """SELECT session_id, count(*) FILTER (kind = 'opened'), count(*) FILTER (kind = 'surfaced'),
               first(query ORDER BY asked DESC, query) FILTER (kind = 'opened' AND query IS NOT NULL)
           FROM (SELECT *, count(*) OVER (PARTITION BY session_id, kind, query) AS asked FROM recall_edges)
           GROUP BY session_id ORDER BY session_id"""
    ).fetchall()


def write_opened(index: Connection, rows: Sequence[tuple[object, ...]]) -> None:
    """Replace what the index knows of :func:`read_opened`."""
    index.execute("DELETE FROM opened")
    insert(index, "opened", rows)
