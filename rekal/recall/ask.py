"""Recall: one question, one verdict.

The gate looks at absolute evidence: the share of the question's weight (idf) that stands together in one window of the
best session. A score relative to its neighbours only orders what is shown.
"""

from __future__ import annotations

import msgspec
import numpy as np

from rekal.errors import FOUND, NOTHING_FOUND
from rekal.index import text
from rekal.index.dense import Meaning
from rekal.index.filters import Filters
from rekal.index.reader import IndexReader
from rekal.recall.answer import Answer, Hit, Reason
from rekal.recall.digest import hits
from rekal.recall.search import Found, Word, search

# At strictness 0.5. A question is answered when one window holds this share of its weight.
_CUT = 0.5
_SHOWN_WITHIN = 0.6


class Options(msgspec.Struct, frozen=True):
    """How to answer. ``strictness`` 0 to 1, ``budget`` in tokens, ``limit`` in sessions."""

    strictness: float = 0.5
    budget: int = 600
    limit: int = 5
    explain: bool = False


def recall(
    reader: IndexReader, question: str, filters: Filters, options: Options, meaning: Meaning | None = None
) -> Answer:
    """Answer ``question`` from the index, by keywords alone without ``meaning``. Same index and question, same answer.

    EngineError when the model fails.
    """
    if not len(reader.units("turn")):
        return _silence(question, "empty_store")
    if thin(question):
        return _silence(question, "thin_question")
    found = search(reader, question, filters, options.limit, meaning)
    support = _support(found)
    if not found.candidates:
        reason: Reason = "filtered_out" if not found.lexical.allowed.any() else "below_gate"
        return _silence(question, reason, 0.0, found)
    if support < _cut(options.strictness):
        return _silence(question, "below_gate", support, found)
    best = found.candidates[0].score
    shown = [c for c in found.candidates if c.score >= best * _SHOWN_WITHIN and len(c.turns)]
    sessions = hits(reader, found, shown or found.candidates[:1], options.budget)
    features = _features(found) if options.explain else {}
    uncovered = _uncovered(found.words, sessions)
    return Answer("INJECT", "", round(support, 2), question, sessions, uncovered, [], FOUND, features)


def thin(question: str) -> bool:
    """Whether a question has nothing to look for: no word of two letters or digits, nor of a dense script."""
    return not any(len(term) > 1 or not term.isascii() for term in text.query_tokens(question))


def _cut(strictness: float) -> float:
    return float(np.clip(_CUT + (strictness - 0.5), 0.05, 0.95))


def _support(found: Found) -> float:
    return max((c.coverage for c in found.candidates), default=0.0)


def _features(found: Found) -> dict[str, float]:
    return {
        "coverage": round(_support(found), 4),
        "candidates": float(len(found.candidates)),
        "unknown_words": float(sum(not word.known for word in found.words)),
    }


def _silence(question: str, reason: Reason, support: float = 0.0, found: Found | None = None) -> Answer:
    uncovered = [word.text for word in found.words if not word.known] if found else []
    return Answer("SILENCE", reason, round(support, 2), question, [], uncovered, [], NOTHING_FOUND)


def _uncovered(words: list[Word], sessions: list[Hit]) -> list[str]:
    """Words of the question that nothing shown contains."""
    shown = {term for hit in sessions for row in hit.rows for term in text.tokens(row.text)}
    return [word.text for word in words if not shown & set(text.query_tokens(word.text))]
