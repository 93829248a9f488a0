"""Does the evidence belong to whom and to what was asked?

A question about one person is not answered by the same fact about another one. So every sentence that may answer makes
a *claim*: how well it answers, and whom it is about. A small model (:class:`rekal.recall.gate.Attention`) weighs the
claims; nobody wins whose evidence is no better than the others'. A name or number of a question is weighed likewise:
the best passage that has it against the best passage at all.

Half of what is known about a person was said *to* them, and much of it in answer to a question: what answers is
often a sentence without a word of the question, after one that has them all.
"""

from __future__ import annotations

import re

import msgspec
import numpy as np

from rekal.recall.sentences import (
    PLACE_FEATURES,
    SIGNS,
    Bools,
    Floats,
    Ints,
    Sentences,
)

# What a claim weighs by. ``answers``: the turn before asks something; ``asked_*``: how well that question fits.
# ``when``, ``many``: the question wants a time, a number, and the sentence has one.
RELEVANCE = (
    "covered",
    "cosine",
    *PLACE_FEATURES,
    "length",
    "own_window",
    "answers",
    "answers_first",
    "myself",
    "nobody",
    "when",
    "many",
    "asked_cosine",
    "asked_covered",
)
# What tells that a sentence is about who says it rather than about who hears it.
OWNERSHIP = ("myself", "other", "both", "nobody", "asks", "asks_other")

_WHEN = re.compile(r"\b(?:when|(?:what|which) (?:date|day|month|year|time))\b", re.I)
_MANY = re.compile(r"\bhow (?:many|much|long|old|often|far)\b", re.I)


class Claims(msgspec.Struct, frozen=True):
    """Parallel arrays of P sentences: ``relevance`` ``[P, R]`` by ``RELEVANCE``, ``ownership`` ``[P, O]`` by
    ``OWNERSHIP``, and whether the one asked about says, or hears, the sentence. ``session`` is by number; empty where
    nobody asks for it.
    """

    relevance: Floats
    ownership: Floats
    says: Bools
    hears: Bools
    session: Ints = msgspec.field(default_factory=lambda: np.empty(0, np.int64))

    @classmethod
    def of(
        cls, sentences: Sentences, idf: Floats, asked: int, question: str, chosen: Ints, cosine: Floats | None = None
    ) -> Claims:
        """Return the claims of the ``chosen`` sentences (indices); ``cosine`` to the question: None without a model."""
        near = np.zeros(len(sentences.turn))
        if cosine is not None:
            near[chosen] = cosine
        shown = dict(zip(SIGNS, sentences.signs.T, strict=True))
        share = sentences.covered(idf)
        mine, theirs = sentences.sides(asked)
        own, others = sentences.window_scores(idf, mine), sentences.window_scores(idf, theirs)
        window = np.where(mine & theirs, (own + others) / 2, np.where(mine, own, others))
        answers, asked_cosine, asked_covered = _asked_before(sentences, shown["asks"], near, share)
        first = np.diff(sentences.turn, prepend=-1) != 0
        columns = (
            *(share, near, *sentences.standing.T, np.log1p(sentences.length) / 3, window, answers, answers & first),
            *(shown["myself"], ~shown["myself"] & ~shown["other"]),
            *(shown["time"] & bool(_WHEN.search(question)), shown["number"] & bool(_MANY.search(question))),
            *(asked_cosine, asked_covered),
        )
        return Claims(
            relevance=np.stack(columns, axis=1).astype(np.float64)[chosen],
            ownership=_pronouns(shown)[chosen],
            says=(sentences.speaker == asked)[chosen],
            hears=(sentences.listener == asked)[chosen],
            session=sentences.session[chosen],
        )


def _pronouns(shown: dict[str, Bools]) -> Floats:
    myself, other, asks = shown["myself"], shown["other"], shown["asks"]
    columns = (myself & ~other, other & ~myself, myself & other, ~myself & ~other, asks, asks & other & ~myself)
    return np.stack(columns, axis=1).astype(np.float64)


def _asked_before(sentences: Sentences, asks: Bools, near: Floats, share: Floats) -> tuple[Bools, Floats, Floats]:
    """By sentence: whether the turn before in its session asks something, and how well the best of that fits."""
    turns, first, at = np.unique(sentences.turn, return_index=True, return_inverse=True)
    best = np.zeros((3, len(turns)))
    for row, values in enumerate((np.ones(len(asks)), np.maximum(near, 0), share)):
        np.maximum.at(best[row], at[asks], values[asks])
    session = sentences.session[first]
    before = np.zeros((3, len(turns)))
    before[:, 1:] = best[:, :-1] * ((np.diff(turns) == 1) & (session[1:] == session[:-1]))
    answers, cosine, coverage = before[:, at]
    return answers > 0, cosine, coverage
