"""Bytes of text files as text."""

from __future__ import annotations

import codecs
from pathlib import Path

_MARKS = (
    (codecs.BOM_UTF8, "utf-8-sig"),
    (codecs.BOM_UTF32_LE, "utf-32"),  # before UTF-16, whose mark it begins with
    (codecs.BOM_UTF32_BE, "utf-32"),
    (codecs.BOM_UTF16_LE, "utf-16"),
    (codecs.BOM_UTF16_BE, "utf-16"),
)
_LOOKED_AT = 65536  # bytes from which an encoding is guessed


def decode_text(data: bytes) -> str:
    """Decode by byte order mark, else as UTF-8, else by what the bytes look like; no byte makes it fail."""
    for mark, name in _MARKS:
        if data.startswith(mark):
            return _with_lines(data.decode(name, "replace"))
    try:
        return _with_lines(data.decode("utf-8"))
    except UnicodeDecodeError:
        return _with_lines(data.decode(_guess_encoding(data), "replace"))


def _with_lines(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\r", "\n").replace("\0", "")


def _guess_encoding(data: bytes) -> str:
    try:
        from charset_normalizer import from_bytes  # comes with git-rekal[documents]
    except ImportError:
        return "cp1252"  # decodes nearly every byte, and is what most old files of Western Europe are in
    best = from_bytes(data[:_LOOKED_AT]).best()
    return best.encoding if best is not None else "cp1252"


def read_text(path: Path) -> str:
    """The text of a file, lines ended by a line feed."""
    return decode_text(path.read_bytes())
