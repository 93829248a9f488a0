"""The data sets as rows, measured once and kept in a cache folder outside the repository."""

from __future__ import annotations

import hashlib
from contextlib import closing
from pathlib import Path
from typing import Literal

import beam
import longmemeval
import msgspec
from devrecall import DevRecall
from locomo import LoCoMo
from rows import Row
from vectors import VectorCache

SetName = Literal["locomo", "devrecall", "beam"]


def _measure(name: SetName, data: Path, cache: Path) -> list[Row]:
    with closing(VectorCache(cache / "minilm.sqlite")) as vectors:
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


def load_longmemeval(path: Path, cache: Path, fresh: bool = False) -> list[Row]:
    """Rows of one file of LongMemEval, cached by what it contains; Unreadable when it is none.

    Its vectors have a file of their own: the whole of a vector file is held in memory.
    """
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    kept = cache / f"{path.stem}.{digest[:12]}.rows.msgpack"
    if fresh or not kept.exists():
        with closing(VectorCache(cache / "longmemeval.sqlite")) as vectors:
            rows = longmemeval.rows(path, vectors)
        kept.write_bytes(msgspec.msgpack.encode(rows))
    return msgspec.msgpack.decode(kept.read_bytes(), type=list[Row])
