"""One question put to one store: what was measured, and what should have come out."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec
import numpy as np
from stores import Bools, Floats, Store, Vectors, is_stranger, keywords_only

from rekal.recall.claims import Claims
from rekal.recall.dates import Period
from rekal.recall.excerpts import NAMED
from rekal.recall.question import Question
from rekal.recall.scores import Found, measure_coverage, measure_presence, rank_sessions, rank_turns

NOT_FOUND = 10_000


class Packed(msgspec.Struct, frozen=True):
    """Claims as bytes, half precision: a row set has ten thousand of them."""

    relevance: bytes
    ownership: bytes
    says: bytes
    hears: bytes

    @staticmethod
    def of(claims: Claims) -> Packed:
        relevance, ownership = (values.astype(np.float16).tobytes() for values in (claims.relevance, claims.ownership))
        return Packed(relevance, ownership, claims.says.tobytes(), claims.hears.tobytes())

    def claims(self) -> Claims:
        relevance, ownership = (
            np.frombuffer(b, np.float16).astype(np.float64) for b in (self.relevance, self.ownership)
        )
        says, hears = np.frombuffer(self.says, np.bool_), np.frombuffer(self.hears, np.bool_)
        return Claims(relevance.reshape(len(says), -1), ownership.reshape(len(says), -1), says, hears)


class Row(msgspec.Struct, kw_only=True):
    """``group`` is what questions are correlated within (a conversation, a repository); ``kind`` what the row is.

    "answerable" rows want INJECT, all others SILENCE. Ranks start at 1, ``NOT_FOUND`` when nothing is; None when there
    is no gold evidence; those of ``_all`` are of the last of the evidence, the others of the first. ``present`` holds
    the presence features with a model, ``lexical`` those without; ``person`` and ``person_lexical`` the claims,
    ``ratio`` the lowest anchor ratio, or None. ``sets`` has a bit for each named row set that the row is in. ``turns``
    is how many the store has, 0 where that was not kept.
    """

    id: str
    group: str
    kind: str
    part: str = ""
    thin: bool = False
    present: dict[str, float] = {}
    lexical: dict[str, float] = {}
    person: Packed | None = None
    person_lexical: Packed | None = None
    ratio: float | None = None
    session_rank: float | None = None
    turn_rank: float | None = None
    session_rank_all: float | None = None
    turn_rank_all: float | None = None
    in_window: dict[str, bool] = {}
    sets: int = 0
    turns: int = 0


def rank_of(scores: Floats, gold: list[int], every: bool = False) -> float | None:
    """Rank of the best of ``gold``, or of the last when ``every`` one is wanted; ties share the mean of their ranks.
    None without gold.
    """
    if not gold:
        return None
    score = scores[gold].min() if every else scores[gold].max()
    if score <= 0:
        return float(NOT_FOUND)
    return float(1 + (scores > score).sum() + 0.5 * ((scores == score).sum() - 1))


class Ranked(msgspec.Struct, frozen=True):
    """What a question found and the scores that order turns, before any boost; ``standing`` is theirs among all."""

    found: Found
    by_turn: Floats
    standing: Floats


def ranked(found: Found) -> tuple[Floats, Ranked]:
    """Session scores, and the rest."""
    covered = measure_coverage(found)
    by_session = rank_sessions(found, covered)
    by_turn = rank_turns(found, covered, by_session)
    return by_session, Ranked(found, by_turn, found.place_features(covered))


def measure(
    row: Row, store: Store, question: Question, dense: Vectors, sessions: list[int], turns: list[int], times: Bools
) -> tuple[Ranked, Ranked, Floats]:
    """Fill a row's presence features and ranks; ``sessions`` and ``turns`` are the gold, ``times`` says for each
    session whether it is of a time that the question names.

    Returns what was found with vectors, what with keywords alone, and the scores that order what is shown.
    """
    found = store.find(question, dense)
    covered, stranger = measure_coverage(found), is_stranger(store, question)
    row.thin = question.thin is not None
    row.present = measure_presence(found, covered, stranger)
    row.lexical = measure_presence(keywords_only(found), covered, stranger)
    by_session, full = ranked(found)
    named = np.where(times, NAMED, 1.0)
    shown = full.by_turn * named[store.session]
    row.session_rank = rank_of(by_session * named, sessions)
    row.turn_rank = rank_of(shown, turns)
    row.session_rank_all = rank_of(by_session * named, sessions, every=True)
    row.turn_rank_all = rank_of(shown, turns, every=True)
    return full, ranked(keywords_only(found))[1], shown


def in_time(named: Sequence[Period], times: Sequence[datetime | None]) -> Bools:
    """By session whether it is of a time that the question names; one without a time never is."""
    within = [
        time is not None and any((not p.since or p.since <= time) and (not p.until or time < p.until) for p in named)
        for time in times
    ]
    return np.array(within, np.bool_)


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
