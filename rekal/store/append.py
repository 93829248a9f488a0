"""What is new of a session goes in, what is known stays out.

A turn's ``uid`` is the same in every copy of it. So the same transcript captured twice adds nothing, a grown one
adds its tail, and a resumed or forked copy of a conversation adds only what was said after the two parted: the copy's
session then names its origin in ``forked_from``. Whatever a tombstone of this clone names, by session, turn, call or
the hash of a content or path, is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from datetime import datetime

import msgspec

from rekal.ids import content_hash
from rekal.model import Session, ToolCall, Turn
from rekal.store.columns import insert, naive
from rekal.store.connect import Connection
from rekal.store.forgotten import Forgotten, forgotten_among, words_id

_DELIVERED_WITHIN = 5


class Appended(msgspec.Struct, frozen=True):
    """What one append added: counts, and the last turn of the session afterwards (-1: none)."""

    session_id: str
    turns: int = 0
    calls: int = 0
    last_seq: int = -1


class _Known(msgspec.Struct, frozen=True):
    """What the store already has of the uids that a session brings."""

    here: dict[str, int]
    elsewhere: dict[str, str]


def append_session(con: Connection, session: Session, pos: int, now: datetime, *, keep_seq: bool = False) -> Appended:
    """Add what is new of ``session`` at position ``pos``.

    With ``keep_seq`` the numbers of turns and calls are taken as they are (an import: another clone gave them);
    otherwise new turns are numbered after those already stored.
    """
    gone = _gone(con, session)
    if session.id in gone:
        return Appended(session.id)
    known = _known(con, "turns", session.id, [turn.uid for turn in session.turns])
    fresh = _fresh_turns(con, session, known, gone)
    known_calls = _known(con, "tool_calls", session.id, [call.uid for call in session.tool_calls])
    calls = [
        c
        for c in session.tool_calls
        if c.uid not in known_calls.here and c.uid not in known_calls.elsewhere and not gone.call(c)
    ]
    stored = _stored(con, session.id)
    if not fresh and not calls:
        return Appended(session.id, last_seq=stored[0])
    next_turn, next_call = (0, 0) if keep_seq else (stored[0] + 1, stored[1] + 1)
    turns = fresh if keep_seq else [_renumber(turn, next_turn + i) for i, turn in enumerate(fresh)]
    if not _exists(con, session.id):
        _insert_head(con, gone.without_words(session), known, pos, now)
    _insert_turns(con, session.id, turns, pos, now)
    place = _places(session, known, fresh, turns, stored[0])
    renumbered = [
        msgspec.structs.replace(c, seq=c.seq if keep_seq else next_call + i, turn_seq=place.get(c.turn_seq, -1))
        for i, c in enumerate(calls)
    ]
    _insert_calls(con, session, calls, renumbered, pos)
    last = max([stored[0], *(t.seq for t in turns)])
    return Appended(session.id, len(turns), len(calls), last)


def _gone(con: Connection, session: Session) -> Forgotten:
    """What of this session was forgotten here; hashes are only taken where there is anything to compare them with."""
    if con.execute("SELECT 1 FROM tombstones LIMIT 1").fetchone() is None:
        return Forgotten(())
    uids = [turn.uid for turn in session.turns] + [call.uid for call in session.tool_calls]
    texts = {*(turn.content for turn in session.turns), *(call.path for call in session.tool_calls if call.path)}
    return forgotten_among(con, [session.id, words_id(session.id), *uids, *map(content_hash, texts)])


def _known(con: Connection, table: str, session_id: str, uids: Sequence[str]) -> _Known:
    if not uids:
        return _Known({}, {})
    rows = con.execute(
        f"SELECT t.uid, t.session_id, t.seq FROM {table} t JOIN (SELECT unnest(?::VARCHAR[]) AS uid) u USING (uid)",
        [list(uids)],
    ).fetchall()
    here = {str(uid): int(seq) for uid, owner, seq in rows if owner == session_id}
    return _Known(here, {str(uid): str(owner) for uid, owner, _ in rows if owner != session_id and uid not in here})


def _fresh_turns(con: Connection, session: Session, known: _Known, gone: Forgotten) -> list[Turn]:
    """Turns not stored yet, each once, none forgotten, none that only repeats what was typed while the agent worked."""
    steering = _steering(con, session)
    seen: set[str] = set()
    fresh = []
    for turn in session.turns:
        repeated = turn.role == "human" and turn.content in steering
        if turn.uid in seen or turn.uid in known.here or turn.uid in known.elsewhere or repeated:
            continue
        seen.add(turn.uid)
        if not gone.turn(turn):
            fresh.append(turn)
    return fresh


def _steering(con: Connection, session: Session) -> set[str]:
    """Queued prompts among the last turns stored: their delivery as ordinary prompts may be what comes next.

    Within one reading the adapter pairs the two; only a reading that ended between them needs this.
    """
    rows = con.execute(
        """SELECT content FROM (SELECT role, content FROM turns WHERE session_id = ? ORDER BY seq DESC LIMIT ?)
           WHERE role = 'steering'""",
        [session.id, _DELIVERED_WITHIN],
    ).fetchall()
    return {str(row[0]) for row in rows}


def _stored(con: Connection, session_id: str) -> tuple[int, int]:
    """Highest turn and call numbers stored, -1 for none."""
    row = con.execute(
        """SELECT (SELECT coalesce(max(seq), -1) FROM turns WHERE session_id = $1),
                  (SELECT coalesce(max(seq), -1) FROM tool_calls WHERE session_id = $1)""",
        [session_id],
    ).fetchone()
    return (int(row[0]), int(row[1])) if row else (-1, -1)


def _exists(con: Connection, session_id: str) -> bool:
    return con.execute("SELECT 1 FROM sessions WHERE id = ? LIMIT 1", [session_id]).fetchone() is not None


def _renumber(turn: Turn, seq: int) -> Turn:
    return msgspec.structs.replace(turn, seq=seq)


def _places(
    session: Session, known: _Known, fresh: Sequence[Turn], stored: Sequence[Turn], before: int
) -> dict[int, int]:
    """Where each of the session's own turn numbers ended up in the store.

    A turn that lives elsewhere (or was left out) hands its calls to the turn before it. A call made before the first
    turn of a continued reading belongs to ``before``, the last turn stored earlier.
    """
    at = {turn.uid: new.seq for turn, new in zip(fresh, stored, strict=True)} | known.here
    place: dict[int, int] = {-1: before}
    last = before
    for turn in session.turns:
        last = at.get(turn.uid, last)
        place[turn.seq] = last
    return place


def _insert_head(con: Connection, s: Session, known: _Known, pos: int, now: datetime) -> None:
    origins = Counter(known.elsewhere.values()).most_common()
    # Ties go to the smallest id, so that the same store results whatever order rows came back in.
    copied = min((o for o, n in origins if n == origins[0][1]), default=None)
    row = (s.id, s.agent, s.native_id, s.parent_id, s.forked_from or copied, s.actor, s.agent_type, s.description)
    more = (s.spawn_depth, s.author_name, s.author_email, s.origin, s.branch, s.cwd, s.model, s.title)
    insert(con, "sessions", [(*row, *more, naive(s.started_at), naive(now), pos)])


def _insert_turns(con: Connection, session_id: str, turns: Sequence[Turn], pos: int, now: datetime) -> None:
    at = naive(now)
    rows = [(session_id, t.seq, t.uid, t.role, t.content, naive(t.occurred_at), at, t.model, pos) for t in turns]
    insert(con, "turns", rows)


def _insert_calls(
    con: Connection, session: Session, calls: Sequence[ToolCall], renumbered: Sequence[ToolCall], pos: int
) -> None:
    def row(c: ToolCall) -> tuple[object, ...]:
        head = (session.id, c.seq, c.uid, c.turn_seq, c.tool, c.path, c.command, c.outcome, c.excerpt)
        return (*head, naive(c.occurred_at), pos)

    insert(con, "tool_calls", [row(c) for c in renumbered])
    moved = {old.seq: new.seq for old, new in zip(calls, renumbered, strict=True)}
    edits = [e for e in session.edits if e.tool_call_seq in moved]
    # An edit's number is its call's: one edit a call.
    rows = [
        (session.id, moved[e.tool_call_seq], moved[e.tool_call_seq], e.path, list(e.line_hashes), pos) for e in edits
    ]
    insert(con, "edits", rows)
