"""Memories for a question: which of them bear on it, under a gate of their own.

A memory is one or two sentences that somebody chose to keep, so it is weighed whole: how much of what the question
weighs does it hold, and how near is it in meaning. Neither is compared with the store's best, so a store with nothing
to say says nothing.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from rekal.index.text import document_terms, query_terms
from rekal.memory.scope import Place, in_scope
from rekal.memory.state import Memory

Floats = NDArray[np.float64]

# Measured on the development half of labelled proposals taken as questions, see docs/memories.md.
COVERED = 0.5  # share of the question's weight that the memory's words hold
NEAR = 0.4  # cosine with all of the memory's text
_BOTH_COVERED, _BOTH_NEAR = 0.3, 0.3
_FEWEST = 2  # words in common, where words alone decide
MOST_SHOWN = 5
_STEM_PREFIX = 4


class RankedMemory(msgspec.Struct, frozen=True):
    """A memory that bears on a question. ``covered`` and ``cosine`` are what the gate looked at."""

    memory: Memory
    score: float
    covered: float
    cosine: float


def _coverage(documents: Sequence[frozenset[str]], asked: Sequence[str]) -> Floats:
    """Share of the question's weight that each document holds: a word that few memories have weighs more."""
    count = len(documents)
    frequency = Counter(term for document in documents for term in document if term in set(asked))
    weights = {term: math.log(1 + (count + 1) / (frequency[term] + 0.5)) for term in asked}
    total = sum(weights.values()) or 1.0
    return np.array([sum(weights[term] for term in asked if term in document) / total for document in documents])


def _document(memory: Memory, asked: Sequence[str]) -> frozenset[str]:
    """The terms of a memory; none if it has no word that begins like one of the question's."""
    text = " ".join((memory.said, *memory.tags))
    low = text.casefold()
    # A stem's first letters stand in every word that it is the stem of; looking for them costs a tenth of analysing.
    if not any(term[:_STEM_PREFIX] in low for term in asked):
        return frozenset()
    return frozenset(document_terms(text))


def rank_memories(
    memories: Sequence[Memory],
    terms: Sequence[str],
    place: Place,
    cosines: Floats | None = None,
    limit: int = MOST_SHOWN,
) -> list[RankedMemory]:
    """The memories that answer a question of ``terms`` (without grammar), best first; none when none does.

    ``cosines`` are parallel to ``memories``. Only what holds, in a scope that ``place`` allows, and was not merely
    guessed by a machine, is looked at.
    """
    allowed = [n for n, one in enumerate(memories) if one.opens_gate and in_scope(one.scope, place)]
    asked = list(dict.fromkeys(terms))
    if not allowed or not asked:
        return []
    documents = [_document(memories[n], asked) for n in allowed]
    covered = _coverage(documents, asked)
    near = np.zeros(len(allowed)) if cosines is None else cosines[allowed]
    held = np.array([sum(term in document for term in asked) for document in documents])
    opens = ((covered >= COVERED) & (held >= min(_FEWEST, len(asked)))) | (near >= NEAR)
    opens |= (covered >= _BOTH_COVERED) & (near >= _BOTH_NEAR)
    scores = covered + near
    order = [int(at) for at in np.argsort(-scores, kind="stable") if opens[at]]
    return [
        RankedMemory(
            memories[allowed[at]], round(float(scores[at]), 3), round(float(covered[at]), 3), round(float(near[at]), 3)
        )
        for at in order[:limit]
    ]


def question_terms(question: str) -> list[str]:
    """The terms of a question, for callers without an index at hand."""
    return query_terms(question)
