"""A deterministic embedder without a model: texts that share words are near each other."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence

import numpy as np

from rekal.embed.base import Vectors, unit_rows


class FakeEmbedder:
    """Each word has a random direction of its own, drawn from its hash; a text is the sum of its words.

    ``calls`` counts the documents embedded, so a test can see that nothing is embedded twice.
    """

    def __init__(self, dim: int = 64, model_id: str = "fake:64") -> None:
        self.dim, self.model_id = dim, model_id
        self.calls = 0
        self.closed = False

    def _word(self, word: str) -> Vectors:
        seed = int.from_bytes(hashlib.blake2b(word.encode(), digest_size=8).digest(), "big")
        return np.random.default_rng(seed).standard_normal(self.dim).astype(np.float32)

    def _words(self, text: str) -> Vectors:
        words = re.findall(r"\w+", text.lower()) or [""]
        return np.stack([self._word(word) for word in words])

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        self.calls += len(texts)
        if not texts:
            return np.zeros((0, self.dim), dtype=np.float32)
        return unit_rows(np.stack([self._words(text).sum(axis=0) for text in texts]), self.dim)

    def embed_query(self, text: str) -> Vectors:
        row: Vectors = unit_rows(self._words(text).sum(axis=0)[None], self.dim)[0]
        return row

    def close(self) -> None:
        self.closed = True
