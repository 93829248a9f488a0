"""Payloads too large for one frame travel in pieces, in any order and over several segments."""

from __future__ import annotations

import hashlib

from rekal.wire import limits
from rekal.wire.columns import ColumnReader, ColumnWriter
from rekal.wire.limits import Damaged, SkipReason


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
