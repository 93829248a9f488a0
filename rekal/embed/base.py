"""What every embedding engine offers, whatever runs behind it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]


class Embedder(Protocol):
    """Texts in, unit vectors out. Any text is accepted: one too long is cut, none is ever refused.

    Every method raises :class:`rekal.errors.EngineError` when the engine behind it fails.
    """

    @property
    def model_id(self) -> str:
        """Names the vector space: vectors of two ids are never compared."""

    @property
    def dim(self) -> int:
        """Length of a vector."""

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        """Rows for texts to be found: float32 ``[len(texts), dim]``, each of length 1."""

    def embed_query(self, text: str) -> Vectors:
        """Vector for a question: float32 ``[dim]``, of length 1."""

    def close(self) -> None:
        """Let go of the model. Calling it twice does no harm."""


def unit_rows(matrix: npt.ArrayLike, dim: int) -> Vectors:
    """The first ``dim`` columns of a ``[n, d]`` matrix, each row scaled to length 1 (a zero row stays zero)."""
    rows = np.asarray(matrix, dtype=np.float32)[:, :dim]
    lengths = np.linalg.norm(rows, axis=1, keepdims=True)
    scaled: Vectors = np.divide(rows, lengths, out=np.zeros_like(rows), where=lengths > 0)
    return scaled
