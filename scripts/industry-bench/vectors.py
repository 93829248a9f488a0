"""Vectors of texts, kept in a file outside the repository so that no text is embedded twice."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from pathlib import Path

import numpy as np

from rekal.embed.base import Vectors
from rekal.embed.open import open_local

BATCH = 32


def _key(text: str) -> bytes:
    return blake2b(text.encode("utf-8", "replace"), digest_size=16).digest()


class VectorCache:
    """Unit vectors of the default model by text, float16 on disk. Opens the model only for a text it has not seen."""

    def __init__(self, path: Path, dim: int = 384) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(path, timeout=60)
        self._db.execute("CREATE TABLE IF NOT EXISTS v (k BLOB PRIMARY KEY, v BLOB)")
        self._dim = dim
        self._known: dict[bytes, bytes] = dict(self._db.execute("SELECT k, v FROM v"))

    def __call__(self, texts: Sequence[str]) -> Vectors:
        """Rows for ``texts``, float32 ``[len(texts), dim]``."""
        self.fill(texts)
        raw = b"".join(self._known[_key(text)] for text in texts)
        rows = np.frombuffer(raw, dtype=np.float16).reshape(len(texts), self._dim).astype(np.float32)
        lengths = np.linalg.norm(rows, axis=1, keepdims=True)
        scaled: Vectors = rows / np.maximum(lengths, 1e-6)
        return scaled

    def fill(self, texts: Iterable[str]) -> None:
        """Embed what is missing, short texts first, saving as it goes."""
        missing = sorted({text for text in texts if _key(text) not in self._known}, key=len)
        if not missing:
            return
        embedder = open_local()
        for start in range(0, len(missing), BATCH):
            batch = missing[start : start + BATCH]
            rows = embedder.embed_documents(batch).astype(np.float16)
            found = {_key(text): row.tobytes() for text, row in zip(batch, rows, strict=True)}
            self._known |= found
            self._db.executemany("INSERT OR REPLACE INTO v VALUES (?, ?)", found.items())
            self._db.commit()
        embedder.close()

    def close(self) -> None:
        self._db.close()
