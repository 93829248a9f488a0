"""Rows by commit: which turns led to one, what it may be a copy of, the log with its filters, and what left."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime

import msgspec

from rekal.model import LOCAL, Checkpoint, Rewrite
from rekal.store.database import Connection, insert_rows, make_record, with_zone, without_zone
from rekal.store.queries import read_checkpoints

# By commit time and not by the order of recording: a back-fill may link an old commit after a newer one.
_EARLIER = """earlier AS (
    SELECT k.* FROM checkpoint_sessions k JOIN checkpoints e ON e.id = k.checkpoint_id
    WHERE e.git_sha <> $sha AND e.committed_at <= $committed)"""
_OF_SESSION = "id IN (SELECT checkpoint_id FROM checkpoint_sessions WHERE session_id = ?)"
# A checkpoint counts as replaced only if the new commit has one: else its sessions would be lost to the log.
_NOT_REPLACED = """origin = ? AND git_sha NOT IN (
    SELECT r.old_sha FROM rewrites r JOIN checkpoints c ON c.git_sha = r.new_sha)"""


class CommitPoint(msgspec.Struct, frozen=True):
    """A commit and its time: checkpoints of other commits up to that time are earlier ones."""

    sha: str
    committed_at: datetime

    def _values(self) -> dict[str, object]:
        return {"sha": self.sha, "committed": without_zone(self.committed_at)}


def select_edited_paths(con: Connection) -> frozenset[str]:
    """Paths that any session of this clone edited."""
    rows = con.execute(
        "SELECT DISTINCT path FROM edits e JOIN sessions s ON s.id = e.session_id WHERE s.origin = ?", [LOCAL]
    ).fetchall()
    return frozenset(str(row[0]) for row in rows)


def select_open_edits(
    con: Connection, before: CommitPoint, paths: Sequence[str], since: datetime, until: datetime
) -> list[tuple[str, int, str | None]]:
    """Sessions with an edit of one of ``paths`` that no earlier checkpoint of theirs accounts for.

    Each with the turn of the first such edit (-1: before the first turn) and with its parent's id.
    """
    rows = con.execute(
        f"""WITH {_EARLIER}
           SELECT c.session_id, min(c.turn_seq), any_value(s.parent_id)
           FROM edits e
           JOIN tool_calls c ON c.session_id = e.session_id AND c.seq = e.tool_call_seq
           JOIN sessions s ON s.id = e.session_id
           WHERE s.origin = 'local' AND e.path IN (SELECT unnest($paths::VARCHAR[]))
             AND (c.occurred_at IS NULL OR c.occurred_at BETWEEN $since AND $until)
             AND NOT EXISTS (
                SELECT 1 FROM earlier k JOIN files_touched f ON f.checkpoint_id = k.checkpoint_id
                WHERE k.session_id = e.session_id AND f.path = e.path
                  AND c.turn_seq BETWEEN k.first_seq AND k.last_seq)
           GROUP BY c.session_id ORDER BY c.session_id""",
        {"paths": list(paths), "since": without_zone(since), "until": without_zone(until), **before._values()},
    ).fetchall()
    return [(str(session), int(first), parent and str(parent)) for session, first, parent in rows]


def has_turns(con: Connection, session_id: str) -> bool:
    """True if the session has a turn here."""
    return con.execute("SELECT 1 FROM turns WHERE session_id = ? LIMIT 1", [session_id]).fetchone() is not None


def first_open_turn(con: Connection, before: CommitPoint, session_id: str) -> int:
    """Return the turn of a session that follows the last one which an earlier checkpoint has."""
    row = con.execute(
        f"WITH {_EARLIER} SELECT coalesce(max(last_seq), -1) + 1 FROM earlier WHERE session_id = $session",
        {"session": session_id, **before._values()},
    ).fetchone()
    return int(row[0]) if row else 0


def last_turn_until(con: Connection, session_id: str, until: datetime) -> int:
    """Return the last turn of a session up to a time; 0 without any."""
    # Turns without a time count: some agents' logs have none, and leaving them out would cut the range short.
    row = con.execute(
        """SELECT coalesce(max(seq), 0) FROM turns
           WHERE session_id = ? AND (occurred_at IS NULL OR occurred_at <= ?)""",
        [session_id, without_zone(until)],
    ).fetchone()
    return int(row[0]) if row else 0


def select_active_sessions(
    con: Connection, before: CommitPoint, since: datetime, until: datetime
) -> list[tuple[str, int, int]]:
    """Top-level sessions with turns since their last checkpoint, the newest of them between the two times.

    Each with the first and the last of those turns.
    """
    rows = con.execute(
        f"""WITH {_EARLIER}, done AS (SELECT session_id, max(last_seq) AS seq FROM earlier GROUP BY session_id)
           SELECT t.session_id, min(t.seq), max(t.seq)
           FROM turns t JOIN sessions s ON s.id = t.session_id LEFT JOIN done d ON d.session_id = t.session_id
           WHERE s.origin = 'local' AND s.parent_id IS NULL AND t.seq > coalesce(d.seq, -1) AND t.occurred_at <= $until
           GROUP BY t.session_id HAVING max(t.occurred_at) >= $since ORDER BY t.session_id""",
        {"since": without_zone(since), "until": without_zone(until), **before._values()},
    ).fetchall()
    return [(str(session), int(first), int(last)) for session, first, last in rows]


def select_commits_by_patch(con: Connection, patch_ids: Iterable[str]) -> dict[str, list[str]]:
    """Recorded commits of each of these patch-ids."""
    rows = con.execute(
        "SELECT DISTINCT patch_id, git_sha FROM checkpoints WHERE patch_id IN (SELECT unnest(?::VARCHAR[]))",
        [sorted(set(patch_ids))],
    ).fetchall()
    found: dict[str, list[str]] = defaultdict(list)
    for patch, sha in rows:
        found[str(patch)].append(str(sha))
    return dict(found)


class LogFilter(msgspec.Struct, frozen=True, kw_only=True):
    """Conditions on commits, all of which hold; one of ``paths`` is enough. ``span`` is a range as git writes it.

    Commits that were amended or rebased away are left out unless ``rewritten``.
    """

    span: str | None = None
    paths: tuple[str, ...] = ()
    author: str | None = None
    agent: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    rewritten: bool = False


def list_commits(con: Connection, wanted: LogFilter, within: Sequence[str] | None, limit: int) -> list[Checkpoint]:
    """Checkpoints that ``wanted`` describes, newest commit first, among the commits ``within`` (None: all)."""
    # Long because each condition is an option and its SQL, side by side.
    conditions: list[str] = ["true"]
    values: list[object] = []

    def add(condition: str, *given: object) -> None:
        conditions.append(condition)
        values.extend(given)

    if within is not None:
        add("list_contains(?::VARCHAR[], git_sha)", list(within))
    if wanted.paths:
        below = [path.rstrip("/") + "/" for path in wanted.paths]
        touched = "list_contains(?::VARCHAR[], {0}) OR len([p for p in ?::VARCHAR[] if starts_with({0}, p)]) > 0"
        where = f"{touched.format('path')} OR {touched.format('old_path')}"
        paths = list(wanted.paths)
        if "." not in paths:  # the top of the work tree is every commit
            add(f"id IN (SELECT checkpoint_id FROM files_touched WHERE {where})", paths, below, paths, below)
    if wanted.author:
        add(
            """(contains(lower(author_email), lower(?)) OR id IN (SELECT checkpoint_id FROM checkpoint_sessions l
               JOIN sessions s ON s.id = l.session_id WHERE contains(lower(s.author_name), lower(?))))""",
            wanted.author,
            wanted.author,
        )
    if wanted.agent:
        add(
            """id IN (SELECT checkpoint_id FROM checkpoint_sessions l JOIN sessions s ON s.id = l.session_id
               WHERE s.agent = ?)""",
            wanted.agent,
        )
    for condition, when in (("committed_at >= ?", wanted.since), ("committed_at <= ?", wanted.until)):
        if when:
            add(condition, without_zone(when))
    if not wanted.rewritten:
        # A commit that was copied or squashed may still be there, on its own branch.
        add("git_sha NOT IN (SELECT old_sha FROM rewrites WHERE how IN ('amend', 'rebase'))")
    return read_checkpoints(con, " AND ".join(conditions), values, limit)


def checkpoints_of_commits(con: Connection, shas: Iterable[str]) -> list[Checkpoint]:
    """Checkpoints of these commits, by whomever they were made, newest commit first."""
    return read_checkpoints(con, "list_contains(?::VARCHAR[], git_sha)", [list(shas)])


def checkpoints_named(con: Connection, sha: str, name: str) -> list[Checkpoint]:
    """Checkpoints whose commit begins with ``sha`` or whose own id begins with ``name``."""
    return read_checkpoints(con, "starts_with(git_sha, ?) OR starts_with(id, ?)", [sha, name])


def checkpoints_of_session(con: Connection, session_id: str) -> list[Checkpoint]:
    """Checkpoints that a session led to, newest commit first."""
    return read_checkpoints(con, _OF_SESSION, [session_id])


def own_checkpoints(con: Connection, limit: int = -1, *, sha: str | None = None) -> list[Checkpoint]:
    """Checkpoints made in this clone, newest commit first; with ``sha`` those of one commit. ``limit`` -1: all."""
    if sha is None:
        return read_checkpoints(con, "origin = ?", [LOCAL], limit)
    return read_checkpoints(con, "git_sha = ? AND origin = ?", [sha, LOCAL], limit)


def own_checkpoints_on_branches(con: Connection, since: datetime) -> list[Checkpoint]:
    """Checkpoints made in this clone on a branch, of commits from ``since`` on, newest commit first."""
    condition = "origin = ? AND branch IS NOT NULL AND committed_at >= ?"
    return read_checkpoints(con, condition, [LOCAL, without_zone(since)])


def own_checkpoints_in_force(con: Connection) -> list[Checkpoint]:
    """Checkpoints made here, without those whose commit was rewritten: the new one carries their sessions."""
    return read_checkpoints(con, _NOT_REPLACED, [LOCAL])


def commits_without_checkpoint(con: Connection, shas: Sequence[str]) -> list[str]:
    """Keep the commits, in their order, that have no checkpoint and that no rewrite explains."""
    rows = con.execute(
        """SELECT sha FROM (SELECT unnest(?::VARCHAR[]) AS sha)
           WHERE sha NOT IN (SELECT git_sha FROM checkpoints) AND sha NOT IN (SELECT new_sha FROM rewrites)""",
        [list(shas)],
    ).fetchall()
    left = {str(row[0]) for row in rows}
    return [sha for sha in shas if sha in left]


def commits_within_paths(con: Connection, paths: Iterable[str], limit: int) -> list[str]:
    """Commits with sessions that change nothing beside ``paths``, the newest first, at most ``limit``."""
    # A deletion may lie outside: a file that came and went on a branch is not in the change of its squash.
    rows = con.execute(
        """SELECT c.git_sha FROM checkpoints c JOIN files_touched f ON f.checkpoint_id = c.id
           GROUP BY c.git_sha HAVING bool_and(list_contains(?::VARCHAR[], f.path) OR f.change = 'D')
           ORDER BY max(c.committed_at) DESC, c.git_sha LIMIT ?""",
        [list(paths), limit],
    ).fetchall()
    return [str(row[0]) for row in rows]


def read_successors(con: Connection) -> dict[str, str]:
    """Return the commit that each rewritten one became; of several the last that was recorded."""
    rows = con.execute("SELECT old_sha, new_sha FROM rewrites ORDER BY pos, rowid").fetchall()
    return {str(old): str(new) for old, new in rows}


def read_rewrites_into(con: Connection, shas: Iterable[str]) -> list[Rewrite]:
    """Return the rewrites that ended in one of these commits, by new and old commit."""
    rows = con.execute(
        """SELECT old_sha, new_sha, how FROM rewrites
           WHERE new_sha IN (SELECT unnest(?::VARCHAR[])) ORDER BY new_sha, old_sha""",
        [list(shas)],
    ).fetchall()
    return [Rewrite(*row) for row in rows]


def read_sent_marks(con: Connection) -> set[tuple[str, str]]:
    """Kind and id of everything that left; see :data:`rekal.transport.departures.Mark`."""
    return {(str(kind), str(name)) for kind, name in con.execute("SELECT kind, id FROM shipped").fetchall()}


def add_sent_marks(con: Connection, marks: Iterable[tuple[str, str]], segment: str) -> None:
    """Remember marks of things that left, with the first segment they left in. Inside a transaction."""
    insert_rows(con, "shipped", [(kind, name, segment) for kind, name in marks])


def start_over(con: Connection, store_id: str) -> None:
    """Take ``store_id`` for this clone's from now on, under which nothing has left yet. Inside a transaction."""
    con.execute("UPDATE meta SET value = ? WHERE key = 'store_id'", [store_id])
    con.execute("DELETE FROM shipped")


def checkpoints_sent(con: Connection) -> list[Checkpoint]:
    """Return the checkpoints that left, to whichever remote."""
    return read_checkpoints(con, "id IN (SELECT id FROM shipped WHERE kind IN ('checkpoint', 'summary'))", [])


def read_verdict_names(con: Connection, tip: str, rule_version: int) -> dict[str, str]:
    """Return verdicts of the merge gate kept for this very tip and rule, by commit."""
    rows = con.execute(
        "SELECT git_sha, verdict FROM merge_verdicts WHERE target_tip = ? AND rule_version = ?", [tip, rule_version]
    ).fetchall()
    return {str(sha): str(name) for sha, name in rows}


def save_verdict_names(con: Connection, tip: str, rule_version: int, names: Mapping[str, str]) -> None:
    """Keep verdicts for this tip, by commit, and drop those for another one. Inside a transaction."""
    for sha, name in names.items():
        con.execute("INSERT OR REPLACE INTO merge_verdicts VALUES (?, ?, ?, ?)", [sha, tip, rule_version, name])
    # One tip's verdicts are kept: those of an earlier one would never be asked for again.
    con.execute("DELETE FROM merge_verdicts WHERE target_tip <> ?", [tip])


class Push(msgspec.Struct, frozen=True):
    """One departure, as ``audit`` lists it. ``bytes`` counts the segments added."""

    ref: str
    tip: str
    remote: str
    url: str
    pushed_at: datetime
    checkpoints: int
    sessions: int
    bytes: int


def record_push(con: Connection, push: Push) -> None:
    """Remember a departure. Inside a transaction."""
    row = (
        push.ref,
        push.tip,
        push.remote,
        push.url,
        without_zone(push.pushed_at),
        push.checkpoints,
        push.sessions,
        push.bytes,
    )
    insert_rows(con, "pushes", [row])


def list_pushes(con: Connection) -> Sequence[Push]:
    """Return all departures, newest first."""
    rows = con.execute(
        """SELECT ref, tip, remote, url, pushed_at, checkpoints, sessions, bytes FROM pushes
           ORDER BY pushed_at DESC, remote"""
    ).fetchall()
    return [make_record(Push, (*row[:4], with_zone(row[4]), *row[5:])) for row in rows]
