"""The most that a segment may hold, and the account of what was left out.

Every limit is checked before the memory it stands for is allocated. The writer obeys the same limits, so nothing a
writer made is refused by a reader.
"""

from __future__ import annotations

from collections import Counter
from enum import StrEnum

import msgspec

MAX_SEGMENT = 4 << 20  # bytes of one segment
MAX_FRAMES = 16_384  # frames of one segment
MAX_PLAIN = 8 << 20  # bytes of one payload, uncompressed
MAX_SEGMENT_PLAIN = 64 << 20  # bytes of all payloads of one segment, uncompressed
MAX_RATIO = 1_000  # uncompressed to compressed bytes of one payload ...
RATIO_FREE = 64 << 10  # ... that is larger than this
MAX_BUNDLED = 7  # payloads in one frame
MAX_COLUMNS = 64  # columns of one payload
MAX_ITEMS = 1 << 18  # entries of one column
# Entries of all columns of one segment, past which no further frame is read: decoding costs by the entry, and 80 KB of
# frames that compress well held 2.9 million turns. Real turns bring ids that do not compress: 4 MiB hold 1.5 million.
MAX_ENTRIES = 1 << 21
MAX_NAME = 4_096  # characters of a name: path, branch, tool, model, e-mail ...
MAX_SEQ = (1 << 31) - 1  # places in a session, and counts
MAX_FRAGMENTS = 32  # pieces of one payload too large for a frame
FRAGMENT = 2 << 20  # bytes of such a piece
MAX_HELD = 64 << 20  # bytes of pieces a reader keeps while it waits for the others


class SkipReason(StrEnum):
    """Why something was left out, as a plural noun phrase that follows a number."""

    FOREIGN = "files that are not segments"
    TOO_NEW = "segments of a later format"
    TOO_LARGE = "segments over the size limit"
    CUT = "segments cut short"
    DAMAGED = "damaged frames"
    BOMB = "frames over a limit"
    UNKNOWN_FRAME = "frames of an unknown type"
    UNKNOWN_FIELD = "fields of a later version"
    UNKNOWN_VALUE = "items with a value of a later version"
    UNSAFE_PATH = "unsafe paths"
    LONG_NAME = "over-long names cut"
    INCOMPLETE = "pieces without their other pieces"
    UNWRITABLE = "records outside the format's limits"


class Skip(msgspec.Struct, frozen=True):
    """One reason and how often it held."""

    reason: SkipReason
    count: int


class WireReport(msgspec.Struct, frozen=True):
    """Counts of what was read or written and of what was left out."""

    segments: int = 0
    frames: int = 0
    records: int = 0
    skips: tuple[Skip, ...] = ()

    def count(self, reason: SkipReason) -> int:
        """Return how often ``reason`` held."""
        return sum(skip.count for skip in self.skips if skip.reason is reason)

    def sentence(self) -> str:
        """Return the report in one sentence without a full stop."""
        head = f"{self.records} records in {self.segments} segments"
        left_out = ", ".join(f"{skip.count} {skip.reason}" for skip in self.skips)
        return f"{head}; left out: {left_out}" if left_out else head


class Tally:
    """Counts while reading or writing; :meth:`report` is the result."""

    def __init__(self) -> None:
        self.segments = 0
        self.frames = 0
        self.records = 0
        self.entries = 0  # of all columns read
        self._skips: Counter[SkipReason] = Counter()

    def skip(self, reason: SkipReason, count: int = 1) -> None:
        """Note that ``count`` things were left out for ``reason``."""
        if count:
            self._skips[reason] += count

    def report(self) -> WireReport:
        """Return the counts so far, reasons in the order of :class:`SkipReason`."""
        skips = tuple(Skip(reason, self._skips[reason]) for reason in SkipReason if self._skips[reason])
        return WireReport(self.segments, self.frames, self.records, skips)


class Damaged(ValueError):
    """A frame cannot be used; ``reason`` says which way."""

    def __init__(self, reason: SkipReason, message: str) -> None:
        super().__init__(message)
        self.reason = reason
