"""Search among memories by words, meaning and age: what the memory servers call a search. It has no gate.

Filters come before ranking, so a small project is never starved by a large one.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from contextlib import closing
from datetime import UTC, datetime

import msgspec
import numpy as np
from numpy.typing import NDArray

from rekal.app.desk import Desk
from rekal.app.resources import KEY
from rekal.config import read_variable
from rekal.embed.base import Embedder, Vectors
from rekal.errors import EngineError, StoreBusy, UsageError
from rekal.index.text import document_terms, query_terms
from rekal.index.vectors import find_or_embed
from rekal.memory.state import Memory

_MOST_EMBEDDED = 64
_WORD_FLOOR = 1e-9
NEAR_IN_MEANING = 0.3  # a cosine below says nothing about kinship
Floats = NDArray[np.float64]


class RankWeights(msgspec.Struct, frozen=True):
    """Weights of words, meaning and age; after ``half_life`` days age counts half. UsageError for unusable ones."""

    words: float = 0.4
    meaning: float = 0.4
    age: float = 0.2
    half_life: float = 30.0

    def __post_init__(self) -> None:
        parts = (self.words, self.meaning, self.age)
        if not all(math.isfinite(part) and part >= 0 for part in parts) or not (
            math.isfinite(self.half_life) and self.half_life > 0
        ):
            raise UsageError("a weight of ranking is no usable number", "weights are 0 or more, half_life above 0")


class ScoredMemory(msgspec.Struct, frozen=True):
    """A memory and its score between 0 and the sum of the weights."""

    memory: Memory
    score: float


def rank_by_text(
    desk: Desk,
    memories: Sequence[Memory],
    query: str,
    limit: int,
    weights: RankWeights = RankWeights(),  # noqa: B008
) -> list[ScoredMemory]:
    """The ``limit`` memories that come nearest to ``query``, best first; those that share nothing with it are left out.

    Meaning is left out where there is no model.
    """
    if not memories or not query.strip():
        return []
    texts = [" ".join((one.all_words, *one.tags)) for one in memories]
    words = share_words(texts, query)
    near = measure_meaning(desk, [one.all_words for one in memories], query) if weights.meaning else None
    now = datetime.now(UTC)
    scored = []
    for n, one in enumerate(memories):
        meaning = max(0.0, float(near[n])) if near is not None else 0.0
        if words[n] <= _WORD_FLOOR and meaning < NEAR_IN_MEANING:
            continue
        age = 0.5 ** (max(0.0, (now - one.occurred_at).total_seconds()) / 86400 / weights.half_life)
        score = weights.words * words[n] + weights.meaning * meaning + weights.age * age
        scored.append(ScoredMemory(one, round(score, 6)))
    scored.sort(key=lambda found: (-found.score, found.memory.id))
    return scored[:limit]


def share_words(texts: Sequence[str], query: str) -> list[float]:
    """Return for each text the share of the query's weight that its words hold, from 0 to 1.

    A word that few of the texts have weighs more.
    """
    asked = list(dict.fromkeys(query_terms(query)))
    documents = [frozenset(document_terms(text)) for text in texts]
    weights = {
        term: math.log(1 + (len(documents) + 1) / (sum(term in document for document in documents) + 0.5))
        for term in asked
    }
    total = sum(weights.values()) or 1.0
    return [sum(weights[term] for term in asked if term in document) / total for document in documents]


def measure_meaning(desk: Desk, texts: Sequence[str], query: str) -> Floats | None:
    """Return the cosine of each text with ``query``; None where there is no model."""
    return _with_embedder(desk, texts, lambda vectors, embedder: np.asarray(vectors @ embedder.embed_query(query)))


def embed_texts(desk: Desk, texts: Sequence[str]) -> Floats | None:
    """Return the vectors of texts, a row each; None where there is no model."""
    return _with_embedder(desk, texts, lambda vectors, embedder: np.asarray(vectors))


def _with_embedder(desk: Desk, texts: Sequence[str], use: Callable[[Vectors, Embedder], Floats]) -> Floats | None:
    from rekal.embed.open import open_chosen

    if desk.config.embed.engine == "off" or not texts:
        return None
    try:
        layout = desk.layout_of(personal=desk.app is None)
        with closing(open_chosen(desk.config.embed, read_variable(desk.env, KEY))) as embedder:
            vectors = find_or_embed(layout.vectors, embedder, texts, _MOST_EMBEDDED)
            return np.asarray(use(vectors, embedder), np.float64)
    except (EngineError, StoreBusy):
        return None
