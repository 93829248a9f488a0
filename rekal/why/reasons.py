"""The sentence that explains an edit."""

from __future__ import annotations

import re
from collections.abc import Collection

import msgspec

from rekal.store.database import Connection
from rekal.store.why_rows import Quote, select_explaining_turn

_SENTENCE = re.compile(r"(?<=[.!?…])\s+|\n+")
_WORD = re.compile(r"[A-Za-z_][A-Za-z_0-9]{2,}")
_CAUSE = re.compile(
    r"\b(because|since|so that|so the|otherwise|instead of|avoid|prevent|ensure|reason|which (?:means|lets|keeps)|"
    r"needs?|must|therefore|in order to|fix(?:es)?|to (?:keep|make|let|stop))\b",
    re.IGNORECASE,
)


def explain_edit(con: Connection, session_id: str, turn_seq: int, after: int, about: Collection[str]) -> Quote | None:
    """The agent's sentence that explains the edits of a turn.

    Taken from the turn itself, else from the nearest one before it that follows turn ``after`` (the prompt), else from
    the first one after it. ``about`` are texts that the sentence should have words in common with.
    """
    turn = select_explaining_turn(con, session_id, turn_seq, after)
    return None if turn is None else msgspec.structs.replace(turn, text=_best_sentence(turn.text, about))


def _best_sentence(text: str, about: Collection[str]) -> str:
    """The sentence of ``text`` that gives a reason or shares most words with ``about``; earlier ones win ties."""
    # A line of signs or a lone list mark is no sentence.
    sentences = [s.strip() for s in _SENTENCE.split(text) if sum(map(str.isalnum, s)) >= 3]
    wanted = {word.lower() for one in about for word in _WORD.findall(one)}

    def worth(sentence: str) -> float:
        words = {word.lower() for word in _WORD.findall(sentence)}
        # The 4 keeps a sentence of two words from winning by one of them.
        return 3.0 * bool(_CAUSE.search(sentence)) + len(words & wanted) / (len(words) + 4) * 10

    return max(sentences, key=worth, default=text.strip())
