"""What a session was about besides its words: who, where, which files, commands and commits.

One row a session for filters, and one document a session for search. Both are written anew whenever anything of the
session changes; a session is small and its row is cheap.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rekal.index.writer import Doc, insert_rows
from rekal.store.columns import record
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

# Several small statements: planning one that joins all of this takes 30 ms, twice what these take together.
_HEADS = """
    SELECT id, agent, actor, agent_type, author_name, author_email, origin, parent_id, branch, title, description,
        count(seq), count(seq) FILTER (role IN ('human', 'steering')),
        coalesce(any_value(started_at), min(occurred_at)), coalesce(max(occurred_at), any_value(started_at))
    FROM sessions LEFT JOIN turns ON session_id = id WHERE list_contains($ids, id)
    GROUP BY ALL ORDER BY id"""
_STEERING = """
    SELECT session_id, list(content ORDER BY seq) FROM turns
    WHERE role = 'steering' AND list_contains($ids, session_id) GROUP BY session_id"""
_CALLS = """
    SELECT session_id, list(DISTINCT path), list(DISTINCT command) FROM tool_calls
    WHERE list_contains($ids, session_id) GROUP BY session_id"""
_CHANGED_FILES = """
    SELECT session_id, list(DISTINCT path) FROM checkpoint_sessions JOIN files_touched USING (checkpoint_id)
    WHERE list_contains($ids, session_id) GROUP BY session_id"""
# A commit that was amended, rebased or squashed is found by its old and by its new name.
_COMMITS = """
    WITH RECURSIVE became(root, sha) AS (
        SELECT git_sha, git_sha FROM checkpoints
        UNION SELECT root, new_sha FROM became JOIN rewrites ON old_sha = sha)
    SELECT session_id, list(DISTINCT sha), list(DISTINCT subject), list(DISTINCT c.branch)
    FROM checkpoint_sessions JOIN checkpoints c ON c.id = checkpoint_id JOIN became ON root = git_sha
    WHERE list_contains($ids, session_id) GROUP BY session_id"""

_FACETS_TYPES = (
    *("INTEGER", *["VARCHAR"] * 10, "BOOLEAN", "INTEGER", "INTEGER", "TIMESTAMP", "TIMESTAMP"),
    *["VARCHAR[]"] * 4,
)


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


def _distinct(*lists: Sequence[str | None] | None) -> list[str]:
    return sorted({value for values in lists for value in values or () if value})


def read_facets(ledger: Connection, session_ids: Sequence[str]) -> list[Facets]:
    """Facets of the given sessions, ordered by id; sessions that the ledger does not have are left out."""

    def by_session(sql: str) -> dict[str, tuple[list[str], ...]]:
        return {str(row[0]): row[1:] for row in ledger.execute(sql, {"ids": list(session_ids)}).fetchall()}

    steering, calls, changed, commits = map(by_session, (_STEERING, _CALLS, _CHANGED_FILES, _COMMITS))
    rows = []
    for head in ledger.execute(_HEADS, {"ids": list(session_ids)}).fetchall():
        session_id, branch = head[0], head[8]
        paths, commands = calls.get(session_id, ([], []))
        shas, subjects, branches = commits.get(session_id, ([], [], []))
        (files,), (said,) = changed.get(session_id, ([],)), steering.get(session_id, ([],))
        lists = (_distinct(branches, [branch]), _distinct(shas), _distinct(subjects), _distinct(paths, files))
        rows.append(record(Facets, (*head, *lists, _distinct(commands), said)))
    return rows


def write_facets(index: Connection, rows: Sequence[Facets], ordinals: dict[str, int]) -> list[Doc]:
    """Replace the rows of these sessions; returns their facet documents, still to be added."""
    gone = [ordinals[row.session_id] for row in rows]
    for table in ("facets", "session_files"):
        index.execute(f"DELETE FROM {table} WHERE session_ord IN (SELECT unnest(?::INTEGER[]))", [gone])
    insert_rows(index, "facets", _FACETS_TYPES, [_row(row, ordinals[row.session_id]) for row in rows])
    files = [(ordinals[row.session_id], path) for row in rows for path in row.files]
    insert_rows(index, "session_files", ("INTEGER", "VARCHAR"), files)
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
    insert_rows(index, "opened", ("VARCHAR", "INTEGER", "INTEGER", "VARCHAR"), rows)
