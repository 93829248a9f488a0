"""The envelope: a segment's header and its frames, and how small and large payloads fit into them.

A frame is ``type, flags, compressed length, uncompressed length, checksum, payload``. Reading never trusts a number:
lengths and the ratio between them are compared with :mod:`rekal.wire.limits` first, the checksum covers
everything else in the frame, and only then is the payload decompressed, into exactly the size that was announced. After
a frame that makes no sense the search for the next one goes by zstd's magic number, in bounded time.
"""

from __future__ import annotations

import hashlib
from collections.abc import Container, Iterator, Mapping
from functools import cache
from pathlib import Path

import msgspec
import zstandard

from rekal.errors import RekalError
from rekal.wire import limits
from rekal.wire.columns import ColumnReader, ColumnWriter
from rekal.wire.limits import MAX_BUNDLED, Damaged, SkipReason, Tally

MAGIC = b"RKL"
FORMAT = 2
FORMATS = (1, FORMAT)  # that are read; 1 had no frame with payloads of several kinds
DICTIONARY = "dictionary-1.zst"  # of both
HEADER = MAGIC + bytes((FORMAT, 0))
_HEADERS = [MAGIC + bytes((number, 0)) for number in FORMATS]
STORED = 1  # flag: the payload is not compressed
WITH_DICTIONARY = 2  # flag: it is compressed with the dictionary
LEVEL = 19
DICTIONARY_HASH = "f2a343624d02557078cf0e94c203fbec"

# Over 54 sessions the dictionary saves 14 % at 250 bytes and 2 % at 120 KB, nothing at 300 KB, and costs 2 % at 730 KB,
# where the frame's own statistics serve better than the dictionary's.
_DICTIONARY_UP_TO = 256 << 10
_ZSTD_MAGIC = b"\x28\xb5\x2f\xfd"
_CHECKSUM = 8
_LEAST, _MOST = 12, 22  # bytes of a frame's header
_NEAR = 32 << 10  # places behind damage that are all tried; further on, zstd's magic number leads ...
_SEARCHES = 4_096  # ... to at most so many more
_SEARCHED = 4 * limits.MAX_SEGMENT  # bytes hashed in one segment while looking for frames behind damage


@cache
def load_dictionary() -> zstandard.ZstdCompressionDict:
    """Return the dictionary of these formats. It belongs to the format byte: other bytes would be another format."""
    data = Path(__file__).with_name(DICTIONARY).read_bytes()
    if hashlib.blake2b(data, digest_size=16).hexdigest() != DICTIONARY_HASH:
        raise RekalError("the compression dictionary of this installation is damaged", "install rekal again")
    return zstandard.ZstdCompressionDict(data)


class Packed(msgspec.Struct, frozen=True):
    """A finished frame: its bytes, and how many its payload takes uncompressed."""

    data: bytes
    plain: int


class Packer:
    """Builds frames. Not to be shared between threads."""

    def __init__(self) -> None:
        self._plain = zstandard.ZstdCompressor(level=LEVEL, write_content_size=False, write_dict_id=False)
        self._primed = zstandard.ZstdCompressor(
            level=LEVEL, write_content_size=False, write_dict_id=False, dict_data=load_dictionary()
        )

    def pack(self, kind: int, payload: bytes) -> Packed:
        """``payload`` as a frame, stored as it is when that is smaller or when no reader would believe the ratio."""
        primed = len(payload) <= _DICTIONARY_UP_TO
        flags = WITH_DICTIONARY if primed else 0
        body = (self._primed if primed else self._plain).compress(payload)
        if len(body) >= len(payload) or len(payload) > _most_plain(len(body)):
            body, flags = payload, STORED
        head = pack_varint(kind) + bytes((flags,)) + pack_varint(len(body)) + pack_varint(len(payload))
        return Packed(head + _checksum(head, body) + body, len(payload))


def pack_varint(value: int) -> bytes:
    """Unsigned LEB128, shortest form."""
    out = bytearray()
    while value > 127:
        out.append(value & 127 | 128)
        value >>= 7
    out.append(value)
    return bytes(out)


def _checksum(head: bytes, body: bytes | memoryview) -> bytes:
    digest = hashlib.blake2b(head, digest_size=_CHECKSUM)
    digest.update(body)
    return digest.digest()


def _most_plain(packed: int) -> int:
    return min(limits.MAX_PLAIN, max(limits.RATIO_FREE, packed * limits.MAX_RATIO))


class _Header(msgspec.Struct, frozen=True):
    kind: int
    flags: int
    plain: int
    head: bytes
    checksum: bytes
    start: int  # of the payload in the segment
    end: int


class _Cut(Exception):
    """The segment ends inside a frame's header."""


def _read_varint(data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 28, 7):
        if at >= len(data):
            raise _Cut
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        if byte < 128:
            if byte == 0 and shift:
                break
            return value, at
    raise Damaged(SkipReason.DAMAGED, "a number that is not in its shortest form")


def _read_header(data: bytes, at: int) -> _Header:
    first = at
    kind, at = _read_varint(data, at)
    flags, at = (data[at], at + 1) if at < len(data) else (0, at)
    packed, at = _read_varint(data, at)
    plain, at = _read_varint(data, at)
    start = at + _CHECKSUM
    if start > len(data):
        raise _Cut
    if plain > _most_plain(packed) or packed > limits.MAX_SEGMENT:
        raise Damaged(SkipReason.BOMB, "lengths over the limits")
    return _Header(kind, flags, plain, data[first:at], data[at:start], start, start + packed)


def _intact(data: bytes, header: _Header) -> bool:
    body = memoryview(data)[header.start : header.end]
    return header.end <= len(data) and _checksum(header.head, body) == header.checksum


class Frame(msgspec.Struct, frozen=True):
    """Kind and uncompressed payload of an intact frame."""

    kind: int
    payload: bytes


class _Search:
    """Finds the next intact frame behind damage. The work is bounded for the whole segment, not for one search."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self._near = _NEAR
        self._places = _SEARCHES
        self._bytes = _SEARCHED

    def _intact_at(self, at: int) -> _Header | None:
        # Cheap looks first: of the bytes that are no header nearly all fail here.
        if self._data[at] > 127 or self._data[at + 1] > WITH_DICTIONARY:
            return None
        try:
            header = _read_header(self._data, at)
        except (Damaged, _Cut):
            return None
        if header.end > len(self._data) or self._bytes < header.end - header.start:
            return None
        self._bytes -= header.end - header.start
        return header if _intact(self._data, header) else None

    def _near_by(self, at: int) -> _Header | None:
        last = min(at + self._near, len(self._data) - _LEAST)
        self._near -= max(0, last - at)
        return next(filter(None, map(self._intact_at, range(at, last + 1))), None)

    def after(self, at: int) -> _Header | None:
        """The header of the first intact frame at or after ``at``; far from there, of a compressed one."""
        found = self._near_by(at)
        payload = self._data.find(_ZSTD_MAGIC, at + _LEAST)
        while found is None and payload >= 0 and self._places > 0:
            self._places -= 1
            places = range(max(at, payload - _MOST), payload - _LEAST + 1)
            found = next(filter(None, map(self._intact_at, places)), None)
            payload = self._data.find(_ZSTD_MAGIC, payload + 1)
        return found


def _next_header(data: bytes, at: int, search: _Search, tally: Tally) -> _Header | None:
    reason = SkipReason.DAMAGED
    resume = at + 1
    try:
        header = _read_header(data, at)
        if _intact(data, header):
            return header
        if header.end > len(data):
            reason = SkipReason.CUT
        elif _starts_frame(data, header.end):
            resume = header.end
    except _Cut:
        reason = SkipReason.CUT
    except Damaged as error:
        reason = error.reason
    found = _read_header(data, resume) if resume > at + 1 else search.after(resume)
    tally.skip(SkipReason.DAMAGED if found and reason is SkipReason.CUT else reason)
    return found


def _starts_frame(data: bytes, at: int) -> bool:
    try:
        return _intact(data, _read_header(data, at))
    except (Damaged, _Cut):
        return False


def _decompress(zstd: zstandard.ZstdDecompressor, body: bytes, header: _Header) -> bytes:
    if header.flags == STORED:
        plain = body
    else:
        try:
            # The frame's own idea of its size would be allocated as it stands.
            claimed = zstandard.get_frame_parameters(body).content_size
            if claimed not in (zstandard.CONTENTSIZE_UNKNOWN, header.plain):
                raise Damaged(SkipReason.BOMB, "two sizes for one payload")
            plain = zstd.decompress(body, max_output_size=header.plain, allow_extra_data=False)
        except zstandard.ZstdError as error:
            raise Damaged(SkipReason.DAMAGED, "a payload that does not decompress") from error
    if len(plain) != header.plain:
        raise Damaged(SkipReason.DAMAGED, "a payload of another size")
    return plain


def _is_segment(data: bytes, tally: Tally) -> bool:
    if len(data) > limits.MAX_SEGMENT:
        tally.skip(SkipReason.TOO_LARGE)
    elif data[: len(HEADER)] in _HEADERS:
        return True
    elif any(header.startswith(data) for header in _HEADERS):
        tally.skip(SkipReason.CUT)
    else:
        tally.skip(SkipReason.TOO_NEW if data.startswith(MAGIC) else SkipReason.FOREIGN)
    return False


def _headers(data: bytes, tally: Tally) -> Iterator[_Header]:
    search = _Search(data)
    at, plain = len(HEADER), 0
    for _ in range(limits.MAX_FRAMES):
        if at == len(data):
            return
        header = _next_header(data, at, search, tally)
        if header is None:
            return
        at = header.end
        plain += header.plain
        if plain > limits.MAX_SEGMENT_PLAIN:
            break
        yield header
    if at < len(data):
        tally.skip(SkipReason.BOMB)


def read_frames(data: bytes, kinds: range, tally: Tally) -> Iterator[Frame]:
    """Yield the intact frames of one segment whose type is in ``kinds``; count everything else in ``tally``."""
    if not _is_segment(data, tally):
        return
    tally.segments += 1
    plain = zstandard.ZstdDecompressor(max_window_size=limits.MAX_PLAIN)
    primed = zstandard.ZstdDecompressor(dict_data=load_dictionary(), max_window_size=limits.MAX_PLAIN)
    for header in _headers(data, tally):
        tally.frames += 1
        if header.kind not in kinds or header.flags not in (0, STORED, WITH_DICTIONARY):
            tally.skip(SkipReason.UNKNOWN_FRAME)
            continue
        try:
            zstd = primed if header.flags == WITH_DICTIONARY else plain
            payload = _decompress(zstd, data[header.start : header.end], header)
        except Damaged as error:
            tally.skip(error.reason)
            continue
        yield Frame(header.kind, payload)


# Payloads of several kinds in one frame: in a small push each kind alone is too little to compress well.

_INNER = msgspec.msgpack.Decoder(list[tuple[int, bytes]])
_ARRAY = 0x90  # of MessagePack, with up to 15 entries; the number is in the lower bits


def join_payloads(payloads: Mapping[int, bytes]) -> bytes:
    """Return one payload that holds all of ``payloads``, which are by kind."""
    return msgspec.msgpack.encode(list(payloads.items()))


def split_payloads(payload: bytes, kinds: Container[int], tally: Tally) -> list[tuple[int, bytes]]:
    """Return kind and payload of each whose kind is among ``kinds``, as :func:`join_payloads` took them.

    Others are counted in ``tally``.
    """
    if not payload or not _ARRAY < payload[0] <= _ARRAY + MAX_BUNDLED:
        tally.skip(SkipReason.BOMB)
        return []
    try:  # a stranger's bytes: any error of the decoder is damage
        inner = _INNER.decode(payload)
    except (msgspec.DecodeError, RecursionError):
        tally.skip(SkipReason.DAMAGED)
        return []
    known = [(kind, data) for kind, data in inner if kind in kinds]
    tally.skip(SkipReason.UNKNOWN_FRAME, len(inner) - len(known))
    return known


# Payloads too large for one frame travel in pieces, in any order and over several segments.


def _payload_digest(payload: bytes) -> bytes:
    return hashlib.blake2b(payload, digest_size=16).digest()


def _pack_fragment(kind: int, digest: bytes, index: int, count: int, piece: bytes) -> bytes:
    out = ColumnWriter(1)
    out.ints([kind, index, count, len(piece)])
    out.blob(digest)
    out.blob(piece)
    return out.payload()


def cut_payload(kind: int, payload: bytes) -> list[bytes]:
    """Return the payloads of the frames that carry ``payload`` of type ``kind``; none when it is too large."""
    starts = range(0, len(payload), limits.FRAGMENT)
    if len(starts) > limits.MAX_FRAGMENTS:
        return []
    digest = _payload_digest(payload)
    return [
        _pack_fragment(kind, digest, index, len(starts), payload[start : start + limits.FRAGMENT])
        for index, start in enumerate(starts)
    ]


class Pieces:
    """Pieces of payloads too large for one frame, until they are complete. What is held is bounded."""

    def __init__(self, kinds: range) -> None:
        self._kinds = kinds
        self._held: dict[tuple[int, bytes, int], dict[int, bytes]] = {}
        self._bytes = 0

    @property
    def waiting(self) -> int:
        """Number of pieces that are held."""
        return sum(map(len, self._held.values()))

    def add(self, columns: ColumnReader) -> tuple[int, bytes] | None:
        """Take one piece; the kind and the payload once it is whole. Raises :class:`Damaged`."""
        kind, index, count, size = columns.ints(4)
        digest, piece = columns.blob(16), columns.blob(size)
        columns.close()
        if not 0 <= index < count <= limits.MAX_FRAGMENTS or kind not in self._kinds:
            raise Damaged(SkipReason.DAMAGED, "a piece of nothing")
        if self._bytes + size > limits.MAX_HELD:
            raise Damaged(SkipReason.BOMB, "too many unfinished pieces")
        pieces = self._held.setdefault((kind, digest, count), {})
        self._bytes += size - len(pieces.get(index, b""))
        pieces[index] = piece
        if len(pieces) < count:
            return None
        del self._held[kind, digest, count]
        payload = b"".join(pieces[i] for i in range(count))
        self._bytes -= len(payload)
        if _payload_digest(payload) != digest:
            raise Damaged(SkipReason.DAMAGED, "pieces that do not fit together")
        return kind, payload
