"""What was said around an edit: the prompt that led to it and the sentence that explains it."""

from __future__ import annotations

import re
from collections.abc import Collection
from datetime import datetime

import msgspec

from rekal.model import Role
from rekal.store.database import Connection
from rekal.store.rows import aware

_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]{2,}")
_CAUSE = re.compile(
    r"\b(because|since|so that|so the|otherwise|instead of|avoid|prevent|ensure|reason|which (?:means|lets|keeps)|"
    r"needs?|must|therefore|in order to|fix(?:es)?|to (?:keep|make|let|stop))\b",
    re.IGNORECASE,
)


class Said(msgspec.Struct, frozen=True):
    """Words of one turn."""

    session_id: str
    seq: int
    role: Role
    occurred_at: datetime | None
    text: str


def prompt_of(con: Connection, session_id: str, turn_seq: int) -> Said | None:
    """The last thing a person said at or before a turn: in the session, else in what it is a copy of."""
    row = con.execute(
        """SELECT session_id, seq, role, occurred_at, content FROM turns
           WHERE session_id = ? AND seq <= ? AND role IN ('human', 'steering') ORDER BY seq DESC LIMIT 1""",
        [session_id, turn_seq],
    ).fetchone()
    # A resumed or forked copy holds only what was said after the two parted.
    row = (
        row
        or con.execute(
            """SELECT t.session_id, t.seq, t.role, t.occurred_at, t.content
           FROM sessions s JOIN turns t ON t.session_id = s.forked_from
           JOIN turns e ON e.session_id = s.id AND e.seq = $seq
           WHERE s.id = $id AND t.role IN ('human', 'steering') AND t.occurred_at <= e.occurred_at
           ORDER BY t.seq DESC LIMIT 1""",
            {"id": session_id, "seq": turn_seq},
        ).fetchone()
    )
    return None if row is None else _said(row)


def _said(row: tuple[str, int, Role, datetime | None, str]) -> Said:
    return Said(row[0], row[1], row[2], aware(row[3]), row[4])


def because_of(con: Connection, session_id: str, turn_seq: int, after: int, about: Collection[str]) -> Said | None:
    """The agent's sentence that explains the edits of a turn.

    Taken from the turn itself, else from the nearest one before it that follows turn ``after`` (the prompt), else from
    the first one after it. ``about`` are texts that the sentence should have words in common with.
    """
    row = con.execute(
        """SELECT session_id, seq, role, occurred_at, content FROM turns
           WHERE session_id = $id AND role = 'assistant' AND seq >= $after
             AND seq < coalesce((SELECT min(seq) FROM turns WHERE session_id = $id AND seq > $seq AND role = 'human'),
                                2147483647)
           ORDER BY seq > $seq, abs(seq - $seq) LIMIT 1""",
        {"id": session_id, "seq": turn_seq, "after": after},
    ).fetchone()
    if row is None:
        return None
    said = _said(row)
    return msgspec.structs.replace(said, text=telling_sentence(said.text, about))


def telling_sentence(text: str, about: Collection[str]) -> str:
    """The sentence of ``text`` that gives a reason or shares most words with ``about``; earlier ones win ties."""
    sentences = [s.strip() for s in _SENTENCE.split(text) if sum(map(str.isalnum, s)) >= 3]
    wanted = {word.lower() for one in about for word in _WORD.findall(one)}

    def worth(sentence: str) -> float:
        words = {word.lower() for word in _WORD.findall(sentence)}
        return 3.0 * bool(_CAUSE.search(sentence)) + len(words & wanted) / (len(words) + 4) * 10

    return max(sentences, key=worth, default=text.strip())
