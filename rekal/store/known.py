"""What the store knows of sessions that are about to come in, looked up for all of them at once."""

from __future__ import annotations

from collections.abc import Sequence

import msgspec

from rekal.ids import content_hash
from rekal.model import Session
from rekal.store.connect import Connection
from rekal.store.forgotten import Forgotten, forgotten_among, words_id

DELIVERED_WITHIN = 5
"""Among so many last turns a queued prompt may wait for its delivery."""


class Known(msgspec.Struct):
    """Kept up to date as sessions come in.

    ``turns`` has the numbers of a turn's copies by its uid and session, ``last`` the highest numbers of a session's
    turns and calls, ``ends`` role and content of a session's last turns.
    """

    gone: Forgotten
    sessions: set[str]
    turns: dict[str, dict[str, int]]
    calls: set[str]
    last: dict[str, tuple[int, int]]
    ends: dict[str, list[tuple[str, str]]]


def look_up(con: Connection, sessions: Sequence[Session]) -> Known:
    """What is stored of ``sessions`` and of the turns and calls that they bring."""
    ids = list({session.id for session in sessions})
    stored = _strings(con, "SELECT id FROM sessions WHERE id IN (SELECT unnest(?::VARCHAR[]))", ids)
    turns: dict[str, dict[str, int]] = {}
    for uid, owner, seq in _copies(con, [turn.uid for session in sessions for turn in session.turns]):
        turns.setdefault(uid, {})[owner] = seq
    calls = "SELECT uid FROM tool_calls WHERE uid IN (SELECT unnest(?::VARCHAR[]))"
    return Known(
        _gone(con, sessions),
        stored,
        turns,
        _strings(con, calls, [call.uid for session in sessions for call in session.tool_calls]),
        _last(con, list(stored)),
        _ends(con, list(stored)),
    )


def _strings(con: Connection, sql: str, values: Sequence[str]) -> set[str]:
    return {str(row[0]) for row in con.execute(sql, [list(values)]).fetchall()} if values else set()


def _copies(con: Connection, uids: Sequence[str]) -> list[tuple[str, str, int]]:
    if not uids:
        return []
    sql = "SELECT uid, session_id, seq FROM turns WHERE uid IN (SELECT unnest(?::VARCHAR[]))"
    return [(str(uid), str(owner), int(seq)) for uid, owner, seq in con.execute(sql, [list(uids)]).fetchall()]


def _gone(con: Connection, sessions: Sequence[Session]) -> Forgotten:
    """What of them was forgotten here; hashes are only taken where there is anything to compare them with."""
    if con.execute("SELECT 1 FROM tombstones LIMIT 1").fetchone() is None:
        return Forgotten(())
    names: set[str] = set()
    for session in sessions:
        names |= {session.id, words_id(session.id)}
        names |= {turn.uid for turn in session.turns} | {call.uid for call in session.tool_calls}
        texts = {*(turn.content for turn in session.turns), *(c.path for c in session.tool_calls if c.path)}
        names |= set(map(content_hash, texts))
    return forgotten_among(con, names)


def _last(con: Connection, stored: Sequence[str]) -> dict[str, tuple[int, int]]:
    """Highest turn and call numbers stored, -1 for none."""
    if not stored:
        return {}
    rows = con.execute(
        """SELECT id, coalesce(t.last, -1), coalesce(c.last, -1) FROM (SELECT unnest($ids::VARCHAR[]) AS id)
           LEFT JOIN (SELECT session_id, max(seq) AS last FROM turns
                      WHERE list_contains($ids::VARCHAR[], session_id) GROUP BY 1) t ON t.session_id = id
           LEFT JOIN (SELECT session_id, max(seq) AS last FROM tool_calls
                      WHERE list_contains($ids::VARCHAR[], session_id) GROUP BY 1) c ON c.session_id = id""",
        {"ids": list(stored)},
    ).fetchall()
    return {str(owner): (int(turn), int(call)) for owner, turn, call in rows}


def _ends(con: Connection, stored: Sequence[str]) -> dict[str, list[tuple[str, str]]]:
    if not stored:
        return {}
    rows = con.execute(
        """SELECT session_id, role, content FROM turns WHERE session_id IN (SELECT unnest(?::VARCHAR[]))
           QUALIFY row_number() OVER (PARTITION BY session_id ORDER BY seq DESC) <= ? ORDER BY session_id, seq""",
        [list(stored), DELIVERED_WITHIN],
    ).fetchall()
    ends: dict[str, list[tuple[str, str]]] = {}
    for owner, role, content in rows:
        ends.setdefault(str(owner), []).append((str(role), str(content)))
    return ends
