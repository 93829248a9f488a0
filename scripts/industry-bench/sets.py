"""The data sets as rows, measured once and kept in a cache folder outside the repository."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

import beam
import msgspec
from devrecall import DevRecall
from locomo import LoCoMo
from rows import Row
from vectors import VectorCache

SetName = Literal["locomo", "devrecall", "beam"]


def _measure(name: SetName, data: Path, cache: Path) -> list[Row]:
    vectors = VectorCache(cache / "minilm.sqlite")
    if name == "beam":
        return beam.rows(data / "beam", vectors)
    return LoCoMo(data / "locomo", vectors).rows() if name == "locomo" else DevRecall(data / name, vectors).rows()


def load(name: SetName, data: Path, cache: Path, fresh: bool = False) -> list[Row]:
    """Rows of one set; ``fresh`` measures again what the cache has."""
    path = cache / f"{name}.rows.msgpack"
    if fresh or not path.exists():
        rows = _measure(name, data, cache)
        cache.mkdir(parents=True, exist_ok=True)
        path.write_bytes(msgspec.msgpack.encode(rows))
    return msgspec.msgpack.decode(path.read_bytes(), type=list[Row])
