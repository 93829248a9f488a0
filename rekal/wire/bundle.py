"""Payloads of several kinds in one frame: in a small push each kind alone is too little to compress well."""

from __future__ import annotations

from collections.abc import Container, Mapping

import msgspec

from rekal.wire.limits import MAX_BUNDLED, SkipReason, Tally

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
