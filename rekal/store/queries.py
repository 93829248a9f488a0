"""Reading data.db back into records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import msgspec

from rekal.model import Checkpoint, Edit, FileChange, Rewrite, Session, SessionRange, ToolCall, Turn
from rekal.store.database import Connection, make_record, with_zone, without_zone

_SESSION = """id, agent, native_id, author_name, author_email, origin, parent_id, forked_from, actor, agent_type,
    description, spawn_depth, branch, cwd, model, title, started_at"""
_ALL_TEXTS = """SELECT content FROM turns UNION ALL SELECT command FROM tool_calls WHERE command IS NOT NULL
    UNION ALL SELECT excerpt FROM tool_calls WHERE excerpt IS NOT NULL
    UNION ALL SELECT path FROM tool_calls WHERE path IS NOT NULL
    UNION ALL SELECT subject FROM checkpoints WHERE subject IS NOT NULL
    UNION ALL SELECT branch FROM sessions WHERE branch IS NOT NULL
    UNION ALL SELECT title FROM sessions WHERE title IS NOT NULL"""
_TEXTS_OF_SESSIONS = """
    SELECT content FROM turns WHERE session_id IN (SELECT unnest($s::VARCHAR[]))
    UNION ALL SELECT unnest([command, excerpt, path]) FROM tool_calls WHERE session_id IN (SELECT unnest($s::VARCHAR[]))
    UNION ALL SELECT unnest([title, branch, description]) FROM sessions WHERE id IN (SELECT unnest($s::VARCHAR[]))"""
# Rows in memory at a time: a store may be larger than the machine's memory.
_ROWS_AT_ONCE = 1000


def session_ids(con: Connection, prefix: str = "") -> list[str]:
    """Ids of stored sessions that start with ``prefix``, in order."""
    rows = con.execute("SELECT id FROM sessions WHERE starts_with(id, ?) ORDER BY id", [prefix]).fetchall()
    return [str(row[0]) for row in rows]


def read_session(con: Connection, session_id: str, first: int = 0, last: int | None = None) -> Session | None:
    """One session with its turns ``first`` to ``last`` (both included) and the calls and edits made in them."""
    head = con.execute(f"SELECT {_SESSION} FROM sessions WHERE id = ?", [session_id]).fetchone()
    if head is None:
        return None
    until = 2**31 - 1 if last is None else last
    # Calls made before the first turn have turn_seq -1 and belong to a reading that starts at the beginning.
    calls_from = -1 if first == 0 else first
    return make_record(
        Session,
        head[:16],
        started_at=with_zone(head[16]),
        turns=_turns(con, session_id, first, until),
        tool_calls=_calls_in_turns(con, session_id, calls_from, until),
        edits=_edits_in_turns(con, session_id, calls_from, until),
    )


def _turns(con: Connection, session_id: str, first: int, last: int) -> tuple[Turn, ...]:
    rows = con.execute(
        """SELECT seq, uid, role, content, occurred_at, model FROM turns
           WHERE session_id = ? AND seq BETWEEN ? AND ? ORDER BY seq""",
        [session_id, first, last],
    ).fetchall()
    return tuple(Turn(seq, uid, role, content, with_zone(at), model) for seq, uid, role, content, at, model in rows)


def _calls_in_turns(con: Connection, session_id: str, first: int, last: int) -> tuple[ToolCall, ...]:
    rows = con.execute(
        """SELECT seq, uid, turn_seq, tool, path, command, outcome, excerpt, occurred_at FROM tool_calls
           WHERE session_id = ? AND turn_seq BETWEEN ? AND ? ORDER BY seq""",
        [session_id, first, last],
    ).fetchall()
    return tuple(make_record(ToolCall, (*row[:8], with_zone(row[8]))) for row in rows)


def _edits_in_turns(con: Connection, session_id: str, first: int, last: int) -> tuple[Edit, ...]:
    rows = con.execute(
        """SELECT e.seq, e.tool_call_seq, e.path, e.line_hashes FROM edits e
           JOIN tool_calls c ON c.session_id = e.session_id AND c.seq = e.tool_call_seq
           WHERE e.session_id = ? AND c.turn_seq BETWEEN ? AND ? ORDER BY e.seq""",
        [session_id, first, last],
    ).fetchall()
    return tuple(Edit(seq, call, path, tuple(hashes)) for seq, call, path, hashes in rows)


def read_children(con: Connection, session_id: str) -> list[str]:
    """Sub-agents' sessions of a session, in order."""
    rows = con.execute("SELECT id FROM sessions WHERE parent_id = ? ORDER BY started_at, id", [session_id]).fetchall()
    return [str(row[0]) for row in rows]


def read_checkpoints(
    con: Connection, where: str = "true", values: Sequence[object] = (), limit: int = -1
) -> list[Checkpoint]:
    """Checkpoints that satisfy a condition on their columns, newest commit first. ``limit`` -1: all."""
    tail = f"LIMIT {limit}" if limit >= 0 else ""
    rows = con.execute(
        f"""SELECT id, git_sha, author_email, tree_sha, patch_id, parent_sha, branch, subject, committed_at, origin
            FROM checkpoints WHERE {where} ORDER BY committed_at DESC NULLS LAST, pos DESC, rowid DESC {tail}""",
        list(values),
    ).fetchall()
    wanted = [str(row[0]) for row in rows]
    files = _files_of_checkpoints(con, wanted)
    ranges = _ranges_of_checkpoints(con, wanted)
    return [
        make_record(Checkpoint, (*row[:8], with_zone(row[8]), row[9], tuple(files[row[0]]), tuple(ranges[row[0]])))
        for row in rows
    ]


def _files_of_checkpoints(con: Connection, wanted: Sequence[str]) -> dict[str, list[FileChange]]:
    found: dict[str, list[FileChange]] = defaultdict(list)
    rows = con.execute(
        """SELECT checkpoint_id, path, change, old_path FROM files_touched
           WHERE checkpoint_id IN (SELECT unnest(?::VARCHAR[])) ORDER BY path, change""",
        [list(wanted)],
    ).fetchall()
    for owner, path, change, old in rows:
        found[owner].append(FileChange(path, change, old))
    return found


def _ranges_of_checkpoints(con: Connection, wanted: Sequence[str]) -> dict[str, list[SessionRange]]:
    found: dict[str, list[SessionRange]] = defaultdict(list)
    rows = con.execute(
        """SELECT checkpoint_id, session_id, first_seq, last_seq, evidence FROM checkpoint_sessions
           WHERE checkpoint_id IN (SELECT unnest(?::VARCHAR[])) ORDER BY evidence DESC, session_id""",
        [list(wanted)],
    ).fetchall()
    for owner, session_id, first, last, evidence in rows:
        found[owner].append(SessionRange(session_id, first, last, evidence))
    return found


def turns_recorded_after(con: Connection, when: datetime) -> list[tuple[str, int]]:
    """Sessions with turns that were recorded after ``when``, each with the number of the first of them."""
    rows = con.execute(
        "SELECT session_id, min(seq) FROM turns WHERE recorded_at > ? GROUP BY 1 ORDER BY 1", [without_zone(when)]
    ).fetchall()
    return [(str(session_id), int(seq)) for session_id, seq in rows]


def count_turns(con: Connection, session_id: str) -> int:
    """Return the number of turns of a session, which is the ``seq`` that the next one gets."""
    row = con.execute("SELECT coalesce(max(seq), -1) + 1 FROM turns WHERE session_id = ?", [session_id]).fetchone()
    return int(row[0]) if row else 0


def read_rewritten(con: Connection, limit: int) -> list[Rewrite]:
    """Return the commits that became others, the last one first."""
    rows = con.execute(
        "SELECT old_sha, new_sha, how FROM rewrites ORDER BY pos DESC, rowid DESC LIMIT ?", [limit]
    ).fetchall()
    return [Rewrite(old, new, how) for old, new, how in rows]


class StoreCounts(msgspec.Struct, frozen=True):
    """Rows of the ledger by kind; sessions by their origin."""

    own_sessions: int
    foreign_sessions: int
    turns: int
    checkpoints: int


def count_rows(con: Connection) -> StoreCounts:
    """Count sessions, turns and checkpoints."""
    row = con.execute(
        """SELECT count(*) FILTER (origin = 'local'), count(*) FILTER (origin <> 'local'),
                  (SELECT count(*) FROM turns), (SELECT count(*) FROM checkpoints) FROM sessions"""
    ).fetchone()
    return StoreCounts(*(row or (0, 0, 0, 0)))


def count_linked_commits(con: Connection) -> int:
    """Count this clone's commits that have a session."""
    row = con.execute("SELECT count(DISTINCT git_sha) FROM checkpoints WHERE origin = 'local'").fetchone()
    return int(row[0]) if row else 0


def count_uncovered_commits(con: Connection) -> dict[str, int]:
    """Count commits without a session, by the reason for it."""
    rows = con.execute("SELECT reason, count(*) FROM uncovered_commits GROUP BY reason ORDER BY reason").fetchall()
    return {str(reason): int(count) for reason, count in rows}


def count_unannounced(con: Connection, shas: Sequence[str]) -> int:
    """Count those of ``shas`` of which the ledger has heard nothing: no session, no reason, no rewrite."""
    row = con.execute(
        """SELECT count(*) FROM (SELECT unnest(?::VARCHAR[]) AS sha)
           WHERE sha NOT IN (SELECT git_sha FROM checkpoints UNION ALL SELECT git_sha FROM uncovered_commits
                             UNION ALL SELECT new_sha FROM rewrites)""",
        [list(shas)],
    ).fetchone()
    return int(row[0]) if row else 0


def iterate_texts(con: Connection) -> Iterator[str]:
    """Yield every stored text that came from a transcript or a commit."""
    cursor = con.execute(_ALL_TEXTS)
    while rows := cursor.fetchmany(_ROWS_AT_ONCE):
        yield from (str(row[0]) for row in rows)


def select_texts_of_sessions(con: Connection, sessions: Iterable[str]) -> list[str]:
    """All texts of these sessions."""
    rows = con.execute(_TEXTS_OF_SESSIONS, {"s": sorted(sessions)}).fetchall()
    return [str(row[0]) for row in rows if row[0]]
