"""An embedder over a GGUF model on this machine: prefixes, cutting, pooling and scaling around a bare engine."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

import numpy as np

from rekal.embed.base import Vectors, unit_rows
from rekal.embed.profiles import Profile, verify_weights


class Engine(Protocol):
    """llama.cpp behind either of its bindings. Texts given to it fit the model's window."""

    name: str

    def count(self, text: str) -> int:
        """Tokens of ``text``, special tokens included."""

    def pooled(self, texts: Sequence[str]) -> Vectors:
        """One vector a text, ``[n, d]``, of any length."""

    def close(self) -> None:
        """Free the model."""


class EngineFactory(Protocol):
    """Opens an engine on a verified profile; EngineError when it cannot."""

    def __call__(self, profile: Profile, threads: int) -> Engine: ...


class LocalEmbedder:
    """An :class:`rekal.embed.base.Embedder` over one engine. The weights are verified before they are opened."""

    def __init__(self, profile: Profile, factory: EngineFactory, threads: int) -> None:
        digest = verify_weights(profile)
        self._profile = profile
        self._engine = factory(profile, threads)
        # The engine is left out: both local engines give the same vectors (cosine > 0.999).
        self.model_id = f"{profile.name}:{profile.stored_dim}:{digest[:12]}"
        self.dim = profile.stored_dim

    @property
    def engine(self) -> str:
        """Name of the binding that answers, for messages."""
        return self._engine.name

    def embed_documents(self, texts: Sequence[str]) -> Vectors:
        if not texts:
            return np.zeros((0, self.dim), dtype=np.float32)
        return self._pooled([self._fitted(self._profile.document_prefix, text) for text in texts])

    def embed_query(self, text: str) -> Vectors:
        row: Vectors = self._pooled([self._fitted(self._profile.query_prefix, text)])[0]
        return row

    def close(self) -> None:
        self._engine.close()

    def _fitted(self, prefix: str, text: str) -> str:
        return fit_window(prefix + make_valid(text), self._profile.max_tokens, self._engine.count)

    def _pooled(self, texts: list[str]) -> Vectors:
        rows = self._engine.pooled(texts)
        return unit_rows(rows, self.dim) if self._profile.normalise else rows[:, : self.dim]


CHARACTERS_A_TOKEN = 24  # far above what any tokenizer averages: bounds the cost of counting a huge text
SHRINK = 0.97


def make_valid(text: str) -> str:
    """``text`` without what a tokenizer trips over: lone surrogates and NULs are replaced, an empty text is a space."""
    return text.encode("utf-8", "replace").decode().replace("\0", " ") or " "


def fit_window(text: str, limit: int, count: Callable[[str], int]) -> str:
    """The beginning of ``text`` that ``count`` finds to be at most ``limit`` tokens.

    Each round cuts in proportion to the excess, so two or three counts are the rule. A text whose UTF-8 bytes are
    fewer than the limit is not counted at all: no token is shorter than a byte.
    """
    if len(text.encode()) + 2 < limit:  # two special tokens around it
        return text
    text = text[: limit * CHARACTERS_A_TOKEN]
    while (tokens := count(text)) > limit and len(text) > 1:
        text = text[: max(1, min(len(text) - 1, int(len(text) * limit / tokens * SHRINK)))]
    return text
