"""One question put to one store: what was measured, and what should have come out."""

from __future__ import annotations

import msgspec
import numpy as np
from stores import Floats, Store, Vectors, is_stranger, keywords_only

from rekal.recall.evidence import coverage, presence, rank_sessions, rank_turns
from rekal.recall.question import Question

NOT_FOUND = 10_000


class Row(msgspec.Struct, kw_only=True):
    """``group`` is what questions are correlated within (a conversation, a repository); ``kind`` what the row is.

    "answerable" rows want INJECT, all others SILENCE. Ranks start at 1, ``NOT_FOUND`` when nothing is; None when there
    is no gold evidence. ``present`` holds the presence features with a model, ``lexical`` those without; ``person``
    and ``person_lexical`` the margins, ``ratio`` the lowest anchor ratio, or None. ``sets`` has a bit for each named
    row set that the row is in.
    """

    id: str
    group: str
    kind: str
    part: str = ""
    thin: bool = False
    present: dict[str, float] = {}
    lexical: dict[str, float] = {}
    person: dict[str, float] | None = None
    person_lexical: dict[str, float] | None = None
    ratio: float | None = None
    session_rank: float | None = None
    turn_rank: float | None = None
    in_window: dict[str, bool] = {}
    sets: int = 0


def rank_of(scores: Floats, gold: list[int]) -> float | None:
    """Rank of the best of ``gold``; ties share the mean of their ranks. None without gold."""
    if not gold:
        return None
    best = scores[gold].max()
    if best <= 0:
        return float(NOT_FOUND)
    return float(1 + (scores > best).sum() + 0.5 * ((scores == best).sum() - 1))


def measure(
    row: Row, store: Store, question: Question, dense: Vectors, sessions: list[int], turns: list[int]
) -> Floats:
    """Fill a row's presence features and ranks; ``sessions`` and ``turns`` are the gold. Returns the turn scores."""
    found = store.find(question, dense)
    covered = coverage(found)
    stranger = is_stranger(store, question)
    row.thin = question.thin is not None
    row.present = presence(found, covered, stranger)
    row.lexical = presence(keywords_only(found), covered, stranger)
    by_session = rank_sessions(found, covered)
    by_turn = rank_turns(found, covered, by_session)
    row.session_rank = rank_of(by_session, sessions)
    row.turn_rank = rank_of(by_turn, turns)
    return by_turn


def window(store: Store, by_turn: Floats, lengths: list[int], budget: int) -> tuple[set[int], int]:
    """Best turns that fit into ``budget`` tokens, best first, and the tokens they take."""
    shown: set[int] = set()
    used = 0
    for place in np.argsort(-by_turn, kind="stable"):
        if used + lengths[place] > budget:
            if used > 0.9 * budget:
                break
            continue
        shown.add(int(place))
        used += lengths[place]
    return shown, used
