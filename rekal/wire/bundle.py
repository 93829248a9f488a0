"""Payloads of several kinds in one frame: in a small push each kind alone is too little to compress well."""

from __future__ import annotations

from collections.abc import Container, Mapping

import msgspec

from rekal.wire.limits import MAX_BUNDLED, Reason, Tally

_INNER = msgspec.msgpack.Decoder(list[tuple[int, bytes]])
_ARRAY = 0x90  # of MessagePack, with up to 15 entries; the number is in the lower bits


def join(payloads: Mapping[int, bytes]) -> bytes:
    """One payload of all, by kind."""
    return msgspec.msgpack.encode(list(payloads.items()))


def split(payload: bytes, kinds: Container[int], tally: Tally) -> list[tuple[int, bytes]]:
    """The reverse of :func:`join`: kind and payload of each whose kind is among ``kinds``. Others are counted."""
    if not payload or not _ARRAY < payload[0] <= _ARRAY + MAX_BUNDLED:
        tally.skip(Reason.BOMB)
        return []
    try:
        inner = _INNER.decode(payload)
    except (msgspec.DecodeError, RecursionError):
        tally.skip(Reason.DAMAGED)
        return []
    known = [(kind, data) for kind, data in inner if kind in kinds]
    tally.skip(Reason.UNKNOWN_FRAME, len(inner) - len(known))
    return known
