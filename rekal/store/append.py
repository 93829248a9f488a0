"""What is new of a session goes in, what is known stays out.

A turn's ``uid`` is the same in every copy of it. So the same transcript captured twice adds nothing, a grown one
adds its tail, and a resumed or forked copy of a conversation adds only what was said after the two parted: the copy's
session then names its origin in ``forked_from``. Whatever a tombstone of this clone names, by session, turn, call or
the hash of a content or path, is left out.

Sessions go in together: what the store knows of all of them is looked up once, each is then decided in memory, in
order, and every table gets its rows in one statement. One by one, a session cost 20 ms of statements.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import datetime

import msgspec

from rekal.ids import content_hash
from rekal.model import Session, ToolCall, Turn
from rekal.store.copied_sessions import StoredConversations, read_same_beginnings
from rekal.store.database import Connection, insert_rows, without_zone
from rekal.store.tombstones import Forgotten, forgotten_among, words_id

DELIVERED_WITHIN = 5
"""Among so many last turns a queued prompt may wait for its delivery."""


class StoredRows(msgspec.Struct):
    """Kept up to date as sessions come in.

    ``turns`` has the numbers of a turn's copies by its uid and session, ``last`` the highest numbers of a session's
    turns and calls, ``ends`` role and content of a session's last turns, ``others`` conversations that new ones may
    repeat under new ids.
    """

    gone: Forgotten
    sessions: set[str]
    turns: dict[str, dict[str, int]]
    calls: set[str]
    last: dict[str, tuple[int, int]]
    ends: dict[str, list[tuple[str, str]]]
    others: StoredConversations


def look_up(con: Connection, sessions: Sequence[Session]) -> StoredRows:
    """Look up what is stored of ``sessions`` and of the turns and calls that they bring."""
    ids = list({session.id for session in sessions})
    stored = _strings(con, "SELECT id FROM sessions WHERE id IN (SELECT unnest(?::VARCHAR[]))", ids)
    turns: dict[str, dict[str, int]] = {}
    for uid, owner, seq in _copies(con, [turn.uid for session in sessions for turn in session.turns]):
        turns.setdefault(uid, {})[owner] = seq
    calls = "SELECT uid FROM tool_calls WHERE uid IN (SELECT unnest(?::VARCHAR[]))"
    return StoredRows(
        _gone(con, sessions),
        stored,
        turns,
        _strings(con, calls, [call.uid for session in sessions for call in session.tool_calls]),
        _last(con, list(stored)),
        _ends(con, list(stored)),
        read_same_beginnings(con, [session for session in sessions if session.id not in stored]),
    )


def _strings(con: Connection, sql: str, values: Sequence[str]) -> set[str]:
    return {str(row[0]) for row in con.execute(sql, [list(values)]).fetchall()} if values else set()


def _copies(con: Connection, uids: Sequence[str]) -> list[tuple[str, str, int]]:
    if not uids:
        return []
    sql = "SELECT uid, session_id, seq FROM turns WHERE uid IN (SELECT unnest(?::VARCHAR[]))"
    return [(str(uid), str(owner), int(seq)) for uid, owner, seq in con.execute(sql, [list(uids)]).fetchall()]


def _gone(con: Connection, sessions: Sequence[Session]) -> Forgotten:
    """Find what of them was forgotten here; hashes are only taken where there is anything to compare them with."""
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


class Appended(msgspec.Struct, frozen=True):
    """The outcome of one append: counts, and the last turn of the session afterwards (-1: none)."""

    session_id: str
    turns: int = 0
    calls: int = 0
    last_seq: int = -1


def append_sessions(
    con: Connection, sessions: Sequence[Session], pos: int, now: datetime, *, keep_seq: bool = False
) -> list[Appended]:
    """Add what is new of ``sessions``, in their order, at position ``pos``.

    With ``keep_seq`` the numbers of turns and calls are taken as they are (an import: another clone gave them);
    otherwise new turns are numbered after those already stored.
    """
    if not sessions:
        return []
    rows = _Rows(look_up(con, sessions), pos, now, keep_seq=keep_seq)
    appended = [rows.take(session) for session in sessions]
    for table, values in rows.tables.items():
        insert_rows(con, table, values)
    return appended


class _Rows:
    """The rows that sessions add, by table."""

    def __init__(self, known: StoredRows, pos: int, now: datetime, *, keep_seq: bool) -> None:
        self.tables: dict[str, list[tuple[object, ...]]] = defaultdict(list)
        self._known, self._pos, self._now, self._keep = known, pos, now, keep_seq

    def take(self, session: Session) -> Appended:
        """Add the rows of what is new of one session; what follows it finds that known."""
        known = self._known
        if session.id in known.gone:
            return Appended(session.id)
        last_turn, last_call = known.last.get(session.id, (-1, -1))
        if not self._keep and session.id not in known.sessions:
            self._note_copies(session)
        fresh = _fresh_turns(session, known)
        calls = [c for c in session.tool_calls if c.uid not in known.calls and not known.gone.call(c)]
        if not fresh and not calls:
            return Appended(session.id, last_seq=last_turn)
        if session.id not in known.sessions:
            self._head(session)
        turns = fresh if self._keep else [_renumbered(turn, last_turn + 1 + i) for i, turn in enumerate(fresh)]
        self._turns(session.id, turns)
        place = _places(session, known, last_turn)
        moved = [
            msgspec.structs.replace(
                c, seq=c.seq if self._keep else last_call + 1 + i, turn_seq=place.get(c.turn_seq, -1)
            )
            for i, c in enumerate(calls)
        ]
        self._calls(session, calls, moved)
        ends = max([last_turn, *(t.seq for t in turns)]), max([last_call, *(c.seq for c in moved)])
        known.last[session.id] = ends
        return Appended(session.id, len(turns), len(calls), ends[0])

    def _note_copies(self, session: Session) -> None:
        """Take as known what a new session only repeats of another one, under ids of its own."""
        known = self._known
        copied = known.others.find_copied(session)
        for uid, seq in copied.turns.items():
            known.turns.setdefault(uid, {}).setdefault(copied.owner, seq)
        known.calls |= copied.calls
        if not copied.turns:
            known.others.add(session)

    def _head(self, session: Session) -> None:
        s = self._known.gone.without_words(session)
        copied = _origin(session, self._known)
        row = (s.id, s.agent, s.native_id, s.parent_id, s.forked_from or copied, s.actor, s.agent_type, s.description)
        more = (s.spawn_depth, s.author_name, s.author_email, s.origin, s.branch, s.cwd, s.model, s.title)
        self.tables["sessions"].append((*row, *more, without_zone(s.started_at), without_zone(self._now), self._pos))
        self._known.sessions.add(s.id)

    def _turns(self, session_id: str, turns: Sequence[Turn]) -> None:
        at = without_zone(self._now)
        for t in turns:
            row = (session_id, t.seq, t.uid, t.role, t.content, without_zone(t.occurred_at), at, t.model, self._pos)
            self.tables["turns"].append(row)
            self._known.turns.setdefault(t.uid, {})[session_id] = t.seq
        ends = [*self._known.ends.get(session_id, ()), *((t.role, t.content) for t in turns)]
        self._known.ends[session_id] = ends[-DELIVERED_WITHIN:]

    def _calls(self, session: Session, calls: Sequence[ToolCall], moved: Sequence[ToolCall]) -> None:
        for c in moved:
            head = (session.id, c.seq, c.uid, c.turn_seq, c.tool, c.path, c.command, c.outcome, c.excerpt)
            self.tables["tool_calls"].append((*head, without_zone(c.occurred_at), self._pos))
            self._known.calls.add(c.uid)
        numbers = {old.seq: new.seq for old, new in zip(calls, moved, strict=True)}
        # An edit's number is its call's: one edit a call.
        self.tables["edits"] += [
            (session.id, number, number, e.path, list(e.line_hashes), self._pos)
            for e in session.edits
            if (number := numbers.get(e.tool_call_seq)) is not None and not self._known.gone.words_in(e.path)
        ]


def _fresh_turns(session: Session, known: StoredRows) -> list[Turn]:
    """Turns not stored yet, each once, none forgotten, none that only repeats what was typed while the agent worked.

    Within one reading the adapter pairs a queued prompt with its delivery; one that ended between the two leaves the
    delivery, as an ordinary prompt, to the next.
    """
    steering = {content for role, content in known.ends.get(session.id, ()) if role == "steering"}
    seen: set[str] = set()
    fresh = []
    for turn in session.turns:
        repeated = turn.role == "human" and turn.content in steering
        if turn.uid in seen or turn.uid in known.turns or repeated:
            continue
        seen.add(turn.uid)
        if not known.gone.turn(turn):
            fresh.append(turn)
    return fresh


def _renumbered(turn: Turn, seq: int) -> Turn:
    return msgspec.structs.replace(turn, seq=seq)


def _origin(session: Session, known: StoredRows) -> str | None:
    """The session that most of the turns stored elsewhere are of.

    Ties go to the smallest id, so that the same store results whatever order rows came back in.
    """
    owners = Counter(min(known.turns[turn.uid]) for turn in session.turns if turn.uid in known.turns)
    most = max(owners.values(), default=0)
    return min((owner for owner, times in owners.items() if times == most), default=None)


def _places(session: Session, known: StoredRows, before: int) -> dict[int, int]:
    """Return the stored number of each of the session's own turn numbers.

    A turn that lives elsewhere (or was left out) hands its calls to the turn before it. A call made before the first
    turn of a continued reading belongs to ``before``, the last turn stored earlier.
    """
    place: dict[int, int] = {-1: before}
    last = before
    for turn in session.turns:
        last = known.turns.get(turn.uid, {}).get(session.id, last)
        place[turn.seq] = last
    return place
