"""Conversations that an agent copied under new ids: what such a copy repeats is not stored a second time.

Most copies keep the ids of turns, which the ledger looks for. Some agents write every id anew when a conversation is
forked, imported or handed to a sub-agent. They keep what was said and when: a new session that begins with the same
words of a person and of an agent, at the same moments, is the same conversation so far. Documents have no such pair.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from rekal.model import LOCAL, Session, Turn
from rekal.store.database import Connection, without_zone

_LEAST = 2  # turns: one prompt may be given to two sessions at once

Said = tuple[str, str, datetime | None]  # role, content, time in UTC without a zone
Done = tuple[str, str | None, str | None, datetime | None]  # tool, path, command, time


class CopiedTurns(msgspec.Struct, frozen=True):
    """Turns of a session that ``owner`` has: its numbers by the uid in the copy; and the uids of copied calls."""

    owner: str = ""
    turns: dict[str, int] = {}
    calls: frozenset[str] = frozenset()


class StoredConversations(msgspec.Struct):
    """By session its turns with their numbers, and its calls; ``openings`` has sessions by their first turn."""

    openings: dict[Said, list[str]]
    turns: dict[str, list[tuple[Said, int]]]
    calls: dict[str, set[Done]]

    def add(self, session: Session) -> None:
        """Keep a session that goes in now: one that comes with it may be its copy."""
        if not session.turns or session.turns[0].occurred_at is None:
            return
        said: list[tuple[Said, int]] = [
            ((t.role, t.content, without_zone(t.occurred_at)), t.seq) for t in session.turns
        ]
        self.openings.setdefault(said[0][0], []).append(session.id)
        self.turns[session.id] = said
        self.calls[session.id] = {(c.tool, c.path, c.command, without_zone(c.occurred_at)) for c in session.tool_calls}

    def find_copied(self, session: Session) -> CopiedTurns:
        """Return what a new session repeats of another one from its beginning on; nothing below two turns."""
        said = [((t.role, t.content, without_zone(t.occurred_at)), t.uid) for t in session.turns]
        if len(said) < _LEAST or session.turns[0].occurred_at is None:
            return CopiedTurns()
        best = CopiedTurns()
        for owner in self.openings.get(said[0][0], ()):
            turns: dict[str, int] = {}
            for (mine, uid), (theirs, seq) in zip(said, self.turns[owner], strict=False):
                if mine != theirs:
                    break
                turns[uid] = seq
            both = _has_both_sides(session.turns[: len(turns)])
            if both and owner != session.id and len(turns) > len(best.turns):
                done = self.calls.get(owner, set())
                calls = frozenset(
                    c.uid for c in session.tool_calls
                    if (c.tool, c.path, c.command, without_zone(c.occurred_at)) in done
                )  # fmt: skip
                best = CopiedTurns(owner, turns, calls)
        return best


def _has_both_sides(turns: Sequence[Turn]) -> bool:
    """True if a person and an agent speak in ``turns``."""
    return {turn.role for turn in turns} >= {"human", "assistant"}


def read_same_beginnings(con: Connection, fresh: Sequence[Session]) -> StoredConversations:
    """Read this clone's sessions whose first turn is of the same moment as that of one of ``fresh``."""
    found = StoredConversations({}, {}, {})
    # A document's chunks are all of one side: a mailbox would be read whole for each of its mails of one minute.
    talks = [session for session in fresh if session.turns and _has_both_sides(session.turns)]
    times = {without_zone(s.turns[0].occurred_at) for s in talks if s.turns[0].occurred_at}
    if not times:
        return found
    rows = con.execute(
        """WITH same AS (SELECT DISTINCT t.session_id FROM turns t JOIN sessions s ON s.id = t.session_id
                         WHERE t.seq = 0 AND s.origin = ? AND t.occurred_at IN (SELECT unnest(?::TIMESTAMP[])))
           SELECT session_id, role, content, occurred_at, seq FROM turns SEMI JOIN same USING (session_id)
           ORDER BY session_id, seq""",
        [LOCAL, list(times)],
    ).fetchall()
    for owner, role, content, at, seq in rows:
        turns = found.turns.setdefault(owner, [])
        if not turns:
            found.openings.setdefault((role, content, at), []).append(owner)
        turns.append(((role, content, at), int(seq)))
    calls = "SELECT session_id, tool, path, command, occurred_at FROM tool_calls WHERE list_contains(?, session_id)"
    for owner, *call in con.execute(calls, [list(found.turns)]).fetchall() if rows else ():
        found.calls.setdefault(owner, set()).add((call[0], call[1], call[2], call[3]))
    return found
