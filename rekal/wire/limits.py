"""Limits of a segment, strings and ids as they may cross the border, and the account of what was left out.

Every limit is checked before the memory it stands for is allocated. The writer obeys the same limits, so nothing a
writer made is refused by a reader.
"""

from __future__ import annotations

import re
import uuid
from collections import Counter
from enum import StrEnum

import msgspec

from rekal import ids

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


# Text and paths that crossed a border, and ids as bytes.

_SURROGATE = re.compile("[\ud800-\udfff]")
_CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
_DRIVE = re.compile(r"[A-Za-z]:")
_TO_BASE32 = str.maketrans("0123456789abcdefghjkmnpqrstvwxyz", "0123456789abcdefghijklmnopqrstuv")
_DIGITS = b"0123456789abcdefghjkmnpqrstvwxyz"
_AT_ONCE = 1 << 14
_ID = re.compile("[0-7][0-9a-hjkmnp-tv-z]{25}")
_HEX = re.compile("(?:[0-9a-f]{2}){4,64}")
_UUID = re.compile("[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_TEXT_TAG, _ID_TAG, _UUID_TAG, _HEX_TAG = b"\x00", b"\x01", b"\x02", b"\x03"


def clean_wire_text(text: str) -> str:
    """Return ``text`` with lone surrogates and NUL replaced by U+FFFD; its length stays the same."""
    if "\0" in text:
        text = text.replace("\0", "\ufffd")
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def clip_name(name: str) -> str:
    """Return ``name`` cleaned and cut to ``MAX_NAME`` characters."""
    return clean_wire_text(name[:MAX_NAME])


def safe_path(path: str) -> bool:
    """True if ``path`` stays below the directory it is joined to, on any system, and prints as one line."""
    if not path or len(path) > MAX_NAME or _CONTROL.search(path) or _SURROGATE.search(path):
        return False
    if path[0] in "/\\" or _DRIVE.match(path):
        return False
    return ".." not in path.replace("\\", "/").split("/")


def is_id(key: str | None) -> bool:
    """True if ``key`` is an id as :mod:`rekal.ids` writes them."""
    return key is not None and _ID.fullmatch(key) is not None


def pack_id(key: str) -> bytes:
    """Return the 16 bytes of an id."""
    return int(key.translate(_TO_BASE32), 32).to_bytes(16, "big")


def unpack_id(data: bytes) -> str:
    """Return the id that :func:`pack_id` took."""
    return ids.encode(int.from_bytes(data, "big"))


def unpack_ids(run: bytes) -> list[str]:
    """Return many ids at once, 16 bytes each."""
    # A received turn has one, and unpacked one by one they were a fifth of a receipt.
    import numpy as np  # reading only: a push must not pay for it

    digits, places = np.frombuffer(_DIGITS, np.uint8), np.array((16, 8, 4, 2, 1), np.uint8)
    out: list[str] = []
    for at in range(0, len(run), 16 * _AT_ONCE):
        rows = np.frombuffer(run[at : at + 16 * _AT_ONCE], np.uint8).reshape(-1, 16)
        # 26 digits of five bits are 130 bits: two more than there are.
        bits = np.pad(np.unpackbits(rows, axis=1), ((0, 0), (2, 0))).reshape(-1, ids.ID_LENGTH, 5)
        text = digits[bits @ places].tobytes().decode("ascii")
        out += [text[start : start + ids.ID_LENGTH] for start in range(0, len(text), ids.ID_LENGTH)]
    return out


def pack_key(key: str | None) -> bytes | None:
    """An id, a UUID, a hexadecimal hash or any other string as one byte that tells which, then its bytes."""
    if key is None:
        return None
    if is_id(key):
        return _ID_TAG + pack_id(key)
    if _UUID.fullmatch(key):
        return _UUID_TAG + uuid.UUID(key).bytes
    if _HEX.fullmatch(key):
        return _HEX_TAG + bytes.fromhex(key)
    return _TEXT_TAG + clip_name(key).encode()


def unpack_key(data: bytes | None) -> str | None:
    """The reverse of :func:`pack_key`. Raises :class:`Damaged` for bytes that it does not write."""
    if data is None:
        return None
    tag, rest = data[:1], data[1:]
    if tag == _ID_TAG and len(rest) == 16:
        return unpack_id(rest)
    if tag == _UUID_TAG and len(rest) == 16:
        return str(uuid.UUID(bytes=rest))
    if tag == _HEX_TAG:
        return rest[:64].hex()
    if tag == _TEXT_TAG:
        try:
            return clip_name(rest.decode())
        except UnicodeDecodeError as error:
            raise Damaged(SkipReason.DAMAGED, "a key that is not UTF-8") from error
    raise Damaged(SkipReason.DAMAGED, "a key of an unknown kind")
