"""Memories for a question: which of them bear on it, under a gate of their own.

A memory is one or two sentences that somebody chose to keep, so it is weighed whole: how much of what the question
weighs does it hold, and how near is it in meaning. Neither is compared with the store's best, so a store with nothing
to say says nothing.
"""

from __future__ import annotations

import functools
import math
from collections import Counter
from collections.abc import Collection, Sequence

import msgspec
import numpy as np
from numpy.typing import NDArray

from rekal.index.text import document_terms, query_terms
from rekal.memory.scope import Place, in_scope
from rekal.memory.state import Memory
from rekal.recall.question import read_question

Floats = NDArray[np.float64]

# Set on the development half of labelled proposals, taken as questions; see docs/memories.md for both branches.
COVERED = 0.5  # share of the question's weight that the memory's words hold
NAMED = 0.3  # share of the weight of the memory's own sentence that the question names
NEAR = 0.42  # cosine with all of the memory's text
_NAMED_AND_NEAR = 0.2, 0.32
_FEWEST = 2  # words in common, where words alone decide
MOST_SHOWN = 5
_STEM_PREFIX = 4


class RankedMemory(msgspec.Struct, frozen=True):
    """A memory that bears on a question. ``covered`` and ``cosine`` are what the gate looked at."""

    memory: Memory
    score: float
    covered: float
    cosine: float


class _Words:
    """Measures what questions and memories have in common; a word that few memories have weighs more."""

    def __init__(self, documents: Sequence[frozenset[str]]) -> None:
        self._frequency = Counter(term for document in documents for term in document)
        self._count = len(documents)

    def _weight(self, term: str) -> float:
        return math.log(1 + (self._count + 1) / (self._frequency[term] + 0.5))

    def share(self, whole: Collection[str], part: Collection[str]) -> float:
        """Share of the weight of ``whole`` that ``part`` has."""
        total = sum(map(self._weight, sorted(whole)))  # in order, so that sums round the same way every time
        return sum(self._weight(term) for term in sorted(whole) if term in part) / total if total else 0.0


@functools.lru_cache(maxsize=4096)  # a millisecond each, of every recall by the daemon
def _head_terms(text: str) -> frozenset[str]:
    return frozenset(read_question(text).terms)


def _document(memory: Memory, asked: Sequence[str]) -> frozenset[str]:
    """The terms of a memory; none if it has no word that begins like one of the question's."""
    text = " ".join((memory.all_words, *memory.tags))
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
    heads = [_head_terms(memories[n].text) if documents[at] else frozenset() for at, n in enumerate(allowed)]
    words = _Words(documents)
    covered = np.array([words.share(asked, document) for document in documents])
    named = np.array([words.share(head, set(asked)) for head in heads])
    held = np.array([len(document & set(asked)) for document in documents])
    near = np.zeros(len(allowed)) if cosines is None else cosines[allowed]
    enough = held >= min(_FEWEST, len(asked))
    opens = (enough & ((covered >= COVERED) | (named >= NAMED))) | (near >= NEAR)
    opens |= (named >= _NAMED_AND_NEAR[0]) & (near >= _NAMED_AND_NEAR[1])
    scores = covered + named + near
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
