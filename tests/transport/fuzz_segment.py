"""Minutes of hostile segments; collected by ``make soak`` through :mod:`tests.transport.test_fuzz_segment`.

    python -m tests.transport.fuzz_segment [SEED] [ROUNDS]

A round takes a sound segment and a sound payload, damages both in one of several ways and reads them. Reading must not
raise, whatever comes.
"""

from __future__ import annotations

import random
import sys
from collections.abc import Callable

from rekal.wire.frames import HEADER, Packer, read_frames
from rekal.wire.limits import MAX_SEGMENT, Tally
from rekal.wire.segment import decode_segments, encode_segments
from tests.transport import wire_records as wire

_SPECIAL = bytes.fromhex("00017f8081909ca0bfc0c1c2c4c6c7cacfd3d9dcdddedfe0ff")


def _flip(data: bytearray, chance: random.Random) -> None:
    for _ in range(chance.randrange(1, 6)):
        data[chance.randrange(len(data))] ^= 1 << chance.randrange(8)


def _overwrite(data: bytearray, chance: random.Random) -> None:
    for _ in range(chance.randrange(1, 4)):
        data[chance.randrange(len(data))] = chance.choice(_SPECIAL)


def _insert(data: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(data))
    data[at:at] = chance.randbytes(chance.randrange(1, 9))


def _remove(data: bytearray, chance: random.Random) -> None:
    at = chance.randrange(len(data))
    del data[at : at + chance.randrange(1, 9)]


def _repeat(data: bytearray, chance: random.Random) -> None:
    start = chance.randrange(len(data))
    data += data[start : start + chance.randrange(1, 400)] * chance.randrange(1, 4)


def _inflate(data: bytearray, chance: random.Random) -> None:
    data[chance.randrange(len(data)) :] = b"\xdd" + chance.randbytes(4) + bytes(data[:20])


DAMAGE: tuple[Callable[[bytearray, random.Random], None], ...] = (
    _flip,
    _overwrite,
    _insert,
    _remove,
    _repeat,
    _inflate,
)


def fuzz(seed: int, rounds: int) -> int:
    """Read ``rounds`` damaged segments; return how many records came out of them all."""
    chance = random.Random(seed)
    packer = Packer()
    records = [*wire.COMMIT, *wire.COMMIT]
    segments = [segment.data for together in (0, 1 << 20) for segment in encode_segments(records, together=together)]
    payloads = [frame for data in segments for frame in read_frames(data, range(1, 9), Tally())]
    found = 0
    for _ in range(rounds):
        whole = bytearray(chance.choice(segments))
        chance.choice(DAMAGE)(whole, chance)
        frame = chance.choice(payloads)
        inner = bytearray(frame.payload)
        chance.choice(DAMAGE)(inner, chance)
        kind = frame.kind if chance.random() < 0.8 else chance.randrange(10)
        forged = HEADER + packer.pack(kind, bytes(inner)).data
        found += len(decode_segments([bytes(whole[:MAX_SEGMENT]), forged])[0])
    return found


if __name__ == "__main__":
    print(fuzz(int(sys.argv[1]) if len(sys.argv) > 1 else 1, int(sys.argv[2]) if len(sys.argv) > 2 else 100_000))
