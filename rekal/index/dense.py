"""Nearness in meaning: a question's vector against the vectors of all turns, by brute force.

At 200,000 turns that takes less time than reading the postings of a question; an approximate index would save nothing
and miss some.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cached_property
from threading import Thread

import msgspec
import numpy as np
from numpy.typing import NDArray

from rekal.embed.base import Embedder, Vectors
from rekal.errors import EngineError
from rekal.index.reader import IndexReader, Ints
from rekal.index.vectors import VectorFile

Floats = NDArray[np.float64]


class Dense:
    """Vectors joined to the turns of an index. Keep it as long as both are open: joining them costs most."""

    def __init__(self, reader: IndexReader, vectors: VectorFile) -> None:
        self._reader, self._vectors = reader, vectors

    @property
    def model_id(self) -> str:
        """The model whose vectors these are; those of another one must not be compared with them."""
        return self._vectors.model_id

    @cached_property
    def row(self) -> Ints:
        """The row of ``vectors.matrix`` of each turn, by place; -1 without a vector."""
        found = self._reader.columns("SELECT doc_id, chunk FROM chunks")
        order = np.argsort(self._vectors.keys, kind="stable")
        sorted_keys = self._vectors.keys[order]
        at = np.searchsorted(sorted_keys, found["chunk"])
        hit = at < len(order)
        hit[hit] = sorted_keys[at[hit]] == found["chunk"][hit]
        rows = np.full(len(self._reader.units("turn")), -1, np.int32)
        rows[self._reader.units("turn").place[found["doc_id"][hit]]] = order[at[hit]]
        return rows

    @property
    def share(self) -> float:
        """Share of the turns that have a vector, 0 to 1."""
        return float((self.row >= 0).mean()) if len(self.row) else 1.0

    def cosine(self, query: Vectors, allowed: NDArray[np.bool_] | None = None) -> Floats:
        """Cosine of each turn with the unit vector ``query``, by place; 0 without a vector or where not allowed."""
        known = self.row >= 0 if allowed is None else (self.row >= 0) & allowed
        scores = np.zeros(len(self.row))
        if len(self._vectors):
            scores[known] = _products(self._vectors.matrix, query)[self.row[known]]
        return scores

    @cached_property
    def _spread(self) -> Floats:
        """Length of the sum of each session's vectors, by session number."""
        session = self._reader.units("turn").session
        lengths = np.zeros(len(self._reader.sessions))
        starts = np.flatnonzero(np.diff(session, prepend=-1))
        for start, stop in zip(starts.tolist(), [*starts[1:].tolist(), len(session)], strict=True):
            rows = self.row[start:stop]
            total = self._vectors.matrix[rows[rows >= 0]].sum(axis=0, dtype=np.float64)
            lengths[session[start]] = np.sqrt(total @ total)
        return lengths

    def centroid(self, cosine: Floats) -> Floats:
        """Cosine of each session's mean vector with the query that gave ``cosine`` (unfiltered), by session number."""
        sums = np.bincount(self._reader.units("turn").session, cosine, minlength=len(self._reader.sessions))
        scores: Floats = sums / np.maximum(self._spread, 1e-6)
        return scores


def _products(matrix: Vectors, query: Vectors) -> Vectors:
    """``matrix @ query`` with the same bits for a row wherever it stands.

    BLAS takes four rows at a time and rounds those left over otherwise; so they, too, are made four.
    """
    whole = len(matrix) - len(matrix) % 4
    scores = np.empty(len(matrix), np.float32)
    scores[:whole] = matrix[:whole] @ query
    if whole < len(matrix):
        four = np.zeros((4, matrix.shape[1]), np.float32)
        four[: len(matrix) - whole] = matrix[whole:]
        scores[whole:] = (four @ query)[: len(matrix) - whole]
    return scores


class Nearness(msgspec.Struct, frozen=True):
    """Cosines with one question: ``cosine`` by place of the turn, ``centroid`` by session number."""

    cosine: Floats
    centroid: Floats


class Meaning:
    """Vectors of an index with the model that made them. The model is opened when a question first needs it."""

    def __init__(self, dense: Dense, opener: Callable[[], Embedder]) -> None:
        self.dense, self._opener = dense, opener
        self._questions: dict[str, Vectors] = {}
        self._coming: Thread | None = None

    @cached_property
    def embedder(self) -> Embedder:
        """The model. EngineError when it cannot be opened, or is not the one that the vectors are of."""
        found = self._opener()
        if found.model_id != self.dense.model_id:
            raise EngineError("the vectors are of another model")
        return found

    def vector(self, question: str) -> Vectors:
        """The question's vector, made once: it costs as much as all the search. EngineError."""
        if self._coming is not None:
            self._coming.join()
        if question not in self._questions:
            self._questions[question] = self.embedder.embed_query(question)
        return self._questions[question]

    @contextmanager
    def ahead(self, question: str) -> Iterator[None]:
        """Make the question's vector while the block runs; whoever asks for it within the block waits for it."""
        self._coming = Thread(target=self._make, args=(question,))
        self._coming.start()
        try:
            yield
        finally:
            self._coming.join()  # a model must not be closed while it works

    def _make(self, question: str) -> None:
        with suppress(EngineError):  # raised to whoever asks, who will try again
            self._questions[question] = self.embedder.embed_query(question)

    def near(self, question: str) -> Nearness:
        """Return the cosines of ``question`` with everything, unfiltered. EngineError."""
        cosine = self.dense.cosine(self.vector(question))
        return Nearness(cosine, self.dense.centroid(cosine))
