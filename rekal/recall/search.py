"""From a question to the sessions that may answer it.

One reading of the postings scores turns, windows of turns, whole sessions and facets (:mod:`rekal.index.bm25`). A
session's score adds its best turn or window, itself as a whole, and its facets, each relative to the best of its kind
in this search: the sum only orders sessions, it never opens the gate. A sub-agent's session counts for its parent.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from rekal.index import text
from rekal.index.bm25 import Floats, Lexical, best_sessions, best_turn_scores, bm25, terms_at
from rekal.index.dense import Meaning
from rekal.index.filters import Filters
from rekal.index.reader import IndexReader

FACET_WEIGHT = 0.3
DENSE_WEIGHT = 1.4


class Word(msgspec.Struct, frozen=True):
    """A word of the question as typed, what it weighs, and which of the search's terms stand for it."""

    text: str
    weight: float
    terms: NDArray[np.intp]
    known: bool


class Candidate(msgspec.Struct, frozen=True):
    """A session that may answer. ``turns`` are places of its best turns, best first; ``coverage`` is the share of the
    question's weight that the best window around one of them contains."""

    number: int
    score: float
    turns: NDArray[np.int32]
    coverage: float


class Found(msgspec.Struct, frozen=True):
    """A search's outcome: the question's words, candidates best first, and the scores they were cut from."""

    words: list[Word]
    candidates: list[Candidate]
    lexical: Lexical


def search(reader: IndexReader, question: str, filters: Filters, limit: int, meaning: Meaning | None = None) -> Found:
    """Rank the sessions that bear on ``question``, ``limit`` of them."""
    pairs = text.query_words(question)
    terms = list(dict.fromkeys(term for _, own in pairs for term in own))
    lexical = bm25(reader, terms, filters)
    words = [_word(lexical, terms, typed, own) for typed, own in pairs]
    near = np.zeros(len(lexical.turns)) if meaning is None else meaning.near(question).cosine
    scores = _session_scores(reader, lexical, np.maximum(near, 0.0) * lexical.allowed)
    chosen = best_sessions(reader, scores, limit)
    candidates = [_candidate(reader, lexical, words, int(number), float(scores[number])) for number in chosen]
    return Found(words, candidates, lexical)


def _word(lexical: Lexical, terms: list[str], typed: str, own: tuple[str, ...]) -> Word:
    places = np.array([terms.index(term) for term in own], np.intp)
    # The whole identifier is the rarest of its terms; a word weighs what its most telling term weighs.
    return Word(typed, float(lexical.idf[places].max()), places, bool(lexical.postings.known[places].any()))


def _session_scores(reader: IndexReader, lexical: Lexical, near: Floats) -> Floats:
    windows = np.zeros(len(lexical.turns))
    windows[lexical.windows.centre] = lexical.windows.score
    parts = (
        (1.0, best_turn_scores(reader, np.maximum(lexical.turns, 0.0))),
        (0.5, best_turn_scores(reader, windows)),
        (1.0, lexical.sessions),
        (FACET_WEIGHT, lexical.facets),
    )
    total = np.zeros(len(reader.sessions))
    for weight, scores in parts:
        top = float(scores.max(initial=0.0))
        if top > 0:
            total += weight * scores / top
    # Nearness orders what shares words with the question.
    total += np.where(total > 0, DENSE_WEIGHT * best_turn_scores(reader, near), 0.0)
    return _folded(reader, total)


def _folded(reader: IndexReader, scores: Floats) -> Floats:
    """A sub-agent's session stands under its parent: the parent gets the better of the two scores."""
    out = scores.copy()
    for number, parent in enumerate(reader.sessions.parents):
        above = reader.sessions.number(parent) if parent else None
        if above is not None and scores[number] > 0 and scores[above] > 0:
            out[above] = max(out[above], scores[number])
            out[number] = 0.0
    return out


def _candidate(reader: IndexReader, lexical: Lexical, words: list[Word], number: int, score: float) -> Candidate:
    turns = reader.units("turn")
    mine = np.flatnonzero((turns.session == number) & (lexical.turns > 0))
    order = np.lexsort((turns.seq[mine], -lexical.turns[mine]))
    best = mine[order][:8].astype(np.int32)
    return Candidate(number, score, best, _coverage(reader, lexical, words, best))


def _coverage(reader: IndexReader, lexical: Lexical, words: list[Word], best: NDArray[np.int32]) -> float:
    """Weight of the question's words found in the best window of a session, over the weight of all of them."""
    total = sum(word.weight for word in words)
    if not total or not len(best):
        return 0.0
    session = reader.units("turn").session
    last = len(session) - 1
    first = np.array([p - 1 if p and session[p - 1] == session[p] else p for p in best], np.int32)
    until = np.array([p + 1 if p < last and session[p + 1] == session[p] else p for p in best], np.int32)
    present = terms_at(lexical, first, until)
    covered = [sum(w.weight for w in words if row[w.terms].any()) for row in present]
    return max(covered) / total
