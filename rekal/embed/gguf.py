"""Read the head of a GGUF model file: what it is, before any engine is trusted with it.

Layout (version 2 and 3, little-endian): ``GGUF``, version u32, tensor count u64, pair count u64, then the pairs: key,
value type u32, value. A string is a u64 length and bytes; an array is an element type u32, a u64 count, the elements.
"""

from __future__ import annotations

import struct
from pathlib import Path
from typing import BinaryIO

import msgspec

from rekal.errors import EngineError

_FIXED = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_STRING, _ARRAY = 8, 9
_LONGEST_STRING = 1 << 24
_MOST_PAIRS = 10_000

Value = str | int | float | bool | None


class GgufHead(msgspec.Struct, frozen=True):
    """``context`` is the window the model was trained with, in tokens; ``pooling`` as in llama.cpp (1 is mean)."""

    architecture: str
    name: str
    context: int
    dim: int
    pooling: int | None

    @classmethod
    def read(cls, path: Path) -> GgufHead:
        """Head of the model file at ``path``; EngineError when it is no usable GGUF embedding model."""
        try:
            with path.open("rb") as file:
                pairs = _read_pairs(file)
        except OSError as error:
            raise EngineError(f"the model file {path} cannot be read ({error.strerror})") from error
        except (_Damaged, struct.error, OverflowError) as error:
            raise EngineError(f"the file {path} is not a GGUF model, or is damaged") from error
        architecture = str(pairs.get("general.architecture", ""))
        context, dim = pairs.get(f"{architecture}.context_length"), pairs.get(f"{architecture}.embedding_length")
        if not isinstance(context, int) or not isinstance(dim, int) or context < 4 or dim < 1:
            raise EngineError(f"the model file {path} does not say its window and dimension")
        pooling = pairs.get(f"{architecture}.pooling_type")
        return cls(
            architecture=architecture,
            name=str(pairs.get("general.name") or path.stem),
            context=context,
            dim=dim,
            pooling=pooling if isinstance(pooling, int) else None,
        )


class _Damaged(Exception):
    """The bytes are not those of a GGUF file."""


def _read_scalar(file: BinaryIO, layout: str) -> int:
    data = file.read(struct.calcsize("<" + layout))
    (value,) = struct.unpack("<" + layout, data)
    return value  # type: ignore[no-any-return]


def _read_string(file: BinaryIO) -> str:
    length = _read_scalar(file, "Q")
    if length > _LONGEST_STRING:
        raise _Damaged
    return file.read(length).decode("utf-8", "replace")


def _read_value(file: BinaryIO, kind: int) -> Value:
    """One value; of an array nothing is kept."""
    if kind == _STRING:
        return _read_string(file)
    if kind == _ARRAY:
        element, count = _read_scalar(file, "I"), _read_scalar(file, "Q")
        if element in _FIXED:
            file.seek(struct.calcsize("<" + _FIXED[element]) * count, 1)
        else:
            for _ in range(count):
                _read_value(file, element)
        return None
    if kind not in _FIXED:
        raise _Damaged
    return _read_scalar(file, _FIXED[kind])


def _read_pairs(file: BinaryIO) -> dict[str, Value]:
    if file.read(4) != b"GGUF":
        raise _Damaged
    if _read_scalar(file, "I") not in (2, 3):
        raise _Damaged
    _read_scalar(file, "Q")
    count = _read_scalar(file, "Q")
    if count > _MOST_PAIRS:
        raise _Damaged
    return {_read_string(file): _read_value(file, _read_scalar(file, "I")) for _ in range(count)}
