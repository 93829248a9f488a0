"""A store in memory: what an index would hold of some sessions, as arrays, and what one question finds in it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import msgspec
import numpy as np
import numpy.typing as npt
from scipy import sparse

from rekal.index.bm25 import FEWEST_SESSIONS, FEWEST_TURNS
from rekal.index.text import document_terms
from rekal.recall.question import Question
from rekal.recall.scores import Found

Floats = npt.NDArray[np.float64]
Vectors = npt.NDArray[np.float32]
Ints = npt.NDArray[np.int64]
Bools = npt.NDArray[np.bool_]

K1, B = 1.2, 0.75  # as in rekal.index.bm25


class Lexicon:
    """Units of text by term: counts, document frequencies, BM25."""

    def __init__(self, texts: Sequence[str], group: Sequence[int] | None = None, fewest: int = 0) -> None:
        """``group`` sums texts into larger units (turns into sessions); ``fewest`` as in rekal.index.bm25.idf."""
        self.fewest = fewest
        self.vocabulary: dict[str, int] = {}
        rows, columns, counts = [], [], []
        for row, text in enumerate(texts):
            for term, count in Counter(document_terms(text)).items():
                rows.append(row if group is None else group[row])
                columns.append(self.vocabulary.setdefault(term, len(self.vocabulary)))
                counts.append(count)
        self.units = len(texts) if group is None else max(group) + 1
        shape = (self.units, len(self.vocabulary))
        self.tf = sparse.csc_matrix((np.array(counts, np.float64), (rows, columns)), shape=shape)
        self.tf.sum_duplicates()
        self.length: Floats = np.asarray(self.tf.sum(axis=1)).ravel()
        self.df = np.diff(self.tf.indptr)

    def ids(self, terms: Sequence[str]) -> Ints:
        """Column of each term, -1 for one never seen."""
        return np.array([self.vocabulary.get(term, -1) for term in terms], np.int64)

    def idf(self, ids: Ints) -> Floats:
        df = np.where(ids >= 0, self.df[np.maximum(ids, 0)] if len(self.df) else 0, 0)
        weights: Floats = np.log1p((max(self.units, self.fewest) - df + 0.5) / (df + 0.5))
        return weights

    def occurrences(self, ids: Ints) -> tuple[Ints, Ints, Floats]:
        """(term, unit, count) of every place where one of the terms stands."""
        parts = [(i, slice(self.tf.indptr[c], self.tf.indptr[c + 1])) for i, c in enumerate(ids) if c >= 0]
        term = np.concatenate([np.full(at.stop - at.start, i, np.int64) for i, at in parts] or [np.empty(0, np.int64)])
        unit = np.concatenate([self.tf.indices[at] for _, at in parts] or [np.empty(0, np.int64)]).astype(np.int64)
        count = np.concatenate([self.tf.data[at] for _, at in parts] or [np.empty(0)])
        return term, unit, count

    def counts(self, ids: Ints) -> Floats:
        """Dense ``[terms, units]``."""
        term, unit, count = self.occurrences(ids)
        dense = np.zeros((len(ids), self.units))
        dense[term, unit] = count
        return dense

    def bm25(self, ids: Ints) -> Floats:
        term, unit, count = self.occurrences(ids)
        norm = K1 * (1 - B + B * self.length / max(float(self.length.mean()), 1.0))
        gain = self.idf(ids)[term] * count * (K1 + 1) / (count + norm[unit])
        scores: Floats = np.bincount(unit, gain, minlength=self.units).astype(np.float64)
        return scores


class Store:
    """Sessions as turns in order. ``session[i]`` is the session of turn ``i``, from 0, never decreasing."""

    def __init__(
        self, texts: Sequence[str], session: Sequence[int], vectors: Vectors, facets: Sequence[str] | None = None
    ) -> None:
        self.texts = list(texts)
        self.session = np.asarray(session, np.int64)
        self.sessions = int(self.session[-1]) + 1
        self.turns = Lexicon(texts, fewest=FEWEST_TURNS)
        self.whole = Lexicon(texts, [int(s) for s in self.session], FEWEST_SESSIONS)
        self.facets = Lexicon(facets, fewest=FEWEST_SESSIONS) if facets is not None else None
        self.vectors = vectors
        sums = np.zeros((self.sessions, vectors.shape[1]), np.float32)
        np.add.at(sums, self.session, vectors)
        self.centroids = sums / np.maximum(np.linalg.norm(sums, axis=1, keepdims=True), 1e-6)

    def knows(self, terms: Sequence[str]) -> bool:
        return any(term in self.turns.vocabulary for term in terms)

    def find(self, question: Question, dense: Vectors) -> Found:
        """All arms for one question; ``dense`` is its vector."""
        ids = self.turns.ids(question.terms)
        term, place, _ = self.turns.occurrences(ids)
        facets = np.zeros(self.sessions)
        if self.facets is not None:
            facets = self.facets.bm25(self.facets.ids(question.terms))
        return Found(
            term=term,
            place=place,
            idf=self.turns.idf(ids),
            session=self.session,
            sessions=self.sessions,
            turns=self.turns.bm25(ids),
            whole=self.whole.bm25(self.whole.ids(question.terms)),
            facets=facets,
            cosine=(self.vectors @ dense).astype(np.float64),
            centroid=(self.centroids @ dense).astype(np.float64),
        )


def keywords_only(found: Found) -> Found:
    """The same without what needs a model."""
    return msgspec.structs.replace(found, cosine=None, centroid=None)


def is_stranger(store: Store, question: Question) -> bool:
    """A proper name this store has never seen, and nobody it knows."""
    if question.of_kind("person"):
        return False
    return any(not store.knows(anchor.terms) for anchor in question.of_kind("name"))
