"""Read the records of an append-only JSONL file, whatever happened to it.

Files in the field hold glued records, a truncated record run into by the next one, runs of NUL bytes, a byte order
mark, one record spread over several lines, lone surrogates and lines of many megabytes. One bad line costs that line
and its bytes are counted. Lines end at ``\\n`` alone: U+2028 and form feeds are ordinary text.

A last line that is not yet a whole record is left for the next reading. Memory is bounded by :data:`MAX_LINE`,
not by the file.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

import msgspec

from rekal.agents.contract import Resume, refuse_source
from rekal.plain_text import lazy_pattern

Record = dict[str, Any]

MAX_LINE = 16 << 20
"""Bytes; a longer line is skipped."""

# The ends are enough to notice a rewritten file; hashing all of it would cost each look the file's length.
_HASHED = 64 << 10
_NOISE_BUDGET = 256 << 20  # characters looked through by failed tries at one line: a fifth of a second
# Against a file made to be slow: beyond it the rest of a line counts as noise.
_RETRY_BUDGET = 1 << 30
_BOM = b"\xef\xbb\xbf"
_OPENING = lazy_pattern(r'\{\s*"')
_SURROGATE = lazy_pattern("[\ud800-\udfff]")
_SPACE = lazy_pattern(r"[ \t\r\n\ufeff]*")
# Not strict: a record spread over several lines has raw newlines inside its strings.
_TOLERANT = json.JSONDecoder(strict=False)


def clean_text(text: str) -> str:
    """``text`` without lone surrogates (each becomes U+FFFD) and without NUL; a split pair is put together again."""
    # DuckDB refuses NUL in a text, and a crash leaves runs of them in a log.
    if "\0" in text:
        text = text.replace("\0", "")
    # The common case: no surrogate can be in it, which is known without a search.
    if text.isascii():
        return text
    if _SURROGATE.search(text) is None:
        return text
    # Through UTF-16, where the two halves of a split pair meet again.
    return text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")


def clean_tree(value: Any) -> Any:
    """:func:`clean_text` for every string of a decoded JSON value, keys included."""
    if isinstance(value, str):
        return clean_text(value)
    if isinstance(value, list):
        return [clean_tree(item) for item in value]
    if isinstance(value, dict):
        return {clean_text(key): clean_tree(item) for key, item in value.items()}
    return value


def hash_prefix(path: Path, offset: int, read_to: int | None = None) -> str:
    """Name the first ``offset`` bytes of a file by their first and last 64 KiB, for :class:`Resume`.

    ``read_to`` records how far the file had been read when the next reading must start earlier than that.
    """
    try:
        with path.open("rb") as file:
            digest = hashlib.blake2b(file.read(min(offset, _HASHED)), digest_size=16)
            file.seek(max(0, offset - _HASHED))
            digest.update(file.read(min(offset, _HASHED)))
    except OSError as error:
        raise refuse_source(path, error) from error
    # Behind the plus: how much further the file was read than the next reading starts.
    ahead = (read_to or offset) - offset
    return f"{digest.hexdigest()}+{ahead}" if ahead > 0 else digest.hexdigest()


class _Line:
    """One line as the tolerant reader took it: its records, the bytes lost, the tail that waits for more."""

    def __init__(self) -> None:
        self.records: list[Record] = []
        self.skipped = 0
        self.open_tail: str | None = None


def _ran_out(content_end: int, error: json.JSONDecodeError) -> bool:
    return error.msg.startswith("Unterminated string") or error.pos >= content_end


def _scan(text: str) -> _Line:
    """Decode every object of ``text``.

    Where a truncated record was run into by the next one, the decoder stops at or just behind the opening of the
    second (its ``{"`` may have been taken for the end of a string), so the search goes on two characters before.
    """
    line = _Line()
    position = spent = 0
    content_end = len(text.rstrip())
    while (position := _space_end(text, position)) < len(text):
        try:
            value, end = _TOLERANT.raw_decode(text, position)
        except json.JSONDecodeError as error:
            if _ran_out(content_end, error) and text[position] == "{":
                line.open_tail = text[position:]
                return line
            # Each failure counts the line feeds before it, so noise would cost its length squared: what is left of a
            # line that used up its budget is noise, too.
            spent += error.pos
            opening = _OPENING.search(text, max(error.pos - 2, position + 1)) if spent < _NOISE_BUDGET else None
            end = opening.start() if opening else len(text)
            value = None
        except (ValueError, RecursionError):
            end, value = len(text), None
        if isinstance(value, dict):
            line.records.append(clean_tree(value))
        else:
            line.skipped += len(text[position:end].encode("utf-8", "surrogatepass"))
        position = end
    return line


def _space_end(text: str, position: int) -> int:
    match = _SPACE.match(text, position)
    return match.end() if match else position


class LineReader:
    """The records of one file from where the last reading stopped.

    Iterating yields ``(offset, record)``, the offset being that of the first byte of the record's line. ``offset``
    is the first byte not consumed, ``skipped_bytes`` those no record could be made of, ``start`` where this reading
    began, ``seen`` up to where an earlier one had already read, and ``restarted`` says that the resume point did
    not fit the file. Iterate once. Raises :class:`SourceError` when the file cannot be read.
    """

    def __init__(self, path: Path, resume: Resume | None = None) -> None:
        self.path = path
        self.skipped_bytes = 0
        self.restarted = False
        self.start = self.seen = 0
        if resume is not None:
            self._resume(resume)
        self.offset = self.start
        self._tail: list[str] = []  # the lines of an unfinished record, from self.offset on
        self._attempts = 0  # characters spent on trying to finish it

    def _resume(self, resume: Resume) -> None:
        digest, _, ahead = resume.prefix_hash.partition("+")
        if resume.offset > 0 and (self._size() < resume.offset or hash_prefix(self.path, resume.offset) != digest):
            self.restarted = True
            return
        self.start = resume.offset
        self.seen = resume.offset + (int(ahead) if ahead.isdecimal() else 0)

    def _size(self) -> int:
        try:
            return self.path.stat().st_size
        except OSError as error:
            raise refuse_source(self.path, error) from error

    def __iter__(self) -> Iterator[tuple[int, Record]]:
        try:
            with self.path.open("rb") as file:
                file.seek(self.start)
                for begin, raw in self._lines(file):
                    for record in self._decode(begin, raw):
                        yield self.offset, record
                    if not self._tail:
                        self.offset = begin + len(raw)
        except OSError as error:
            raise refuse_source(self.path, error) from error

    def _lines(self, file: BinaryIO) -> Iterator[tuple[int, bytes]]:
        begin = self.start
        while raw := file.readline(MAX_LINE + 1):
            if len(raw) <= MAX_LINE:
                yield begin, raw
                begin += len(raw)
                continue
            end = begin + len(raw)
            while not raw.endswith(b"\n"):
                raw = file.readline(1 << 20)
                end += len(raw)
                if not raw:
                    return
            self._give_up_tail()
            self.skipped_bytes += end - begin
            self.offset = begin = end

    def _decode(self, begin: int, raw: bytes) -> list[Record]:
        try:
            value = msgspec.json.decode(raw)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            return self._decode_odd(begin, raw)
        # An indented object is part of the record that a client or an exporter spread over several lines.
        if isinstance(value, dict) and value and not (self._tail and raw[:1].isspace()):
            if self._tail:
                self._give_up_tail(begin)
            return [value]
        return self._decode_odd(begin, raw)

    def _give_up_tail(self, resume_at: int | None = None) -> None:
        """Count an unfinished record as lost: what follows it is a record of its own."""
        self.skipped_bytes += sum(len(part.encode()) for part in self._tail)
        self._tail, self._attempts = [], 0
        if resume_at is not None:
            self.offset = resume_at

    def _decode_odd(self, begin: int, raw: bytes) -> list[Record]:
        text = raw.replace(b"\0", b"").removeprefix(_BOM).decode("utf-8", "replace")
        nuls = raw.count(b"\0")
        if self._tail:
            if (joined := self._join(text)) is not None:
                self.skipped_bytes += nuls
                return joined
            self._give_up_tail(begin)
        elif not raw.endswith(b"\n"):
            return self._last(text)
        line = _scan(text)
        self.skipped_bytes += line.skipped + nuls
        self._tail = [line.open_tail] if line.open_tail else []
        return line.records

    def _join(self, text: str) -> list[Record] | None:
        """Add a line to the unfinished record; None when it is better read on its own."""
        alone = _scan(text)
        if any(alone.records) and not alone.skipped and not text[:1].isspace():
            return None
        length = sum(map(len, self._tail)) + len(text)
        if length > MAX_LINE or self._attempts > _RETRY_BUDGET:
            return None
        self._tail.append(text)
        self._attempts += len(self._tail)
        if not text.rstrip().endswith("}"):
            return []
        self._attempts += length
        line = _scan("".join(self._tail))
        if line.open_tail is not None and not line.records:
            return []
        self.skipped_bytes += line.skipped
        self._tail, self._attempts = [line.open_tail] if line.open_tail else [], 0
        return line.records

    def _last(self, text: str) -> list[Record]:
        """The last line, without its newline: taken when it is whole, else left for the next reading."""
        line = _scan(text)
        whole = bool(line.records) and not line.skipped and line.open_tail is None
        if not whole:
            self._tail = [text]
        return line.records if whole else []
