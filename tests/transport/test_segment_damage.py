"""Whatever bytes a stranger pushes, reading ends soon, takes little memory and says what it left out."""

from __future__ import annotations

import hashlib
import random
import time
import tracemalloc
from collections.abc import Callable

import msgspec
import pytest
import zstandard
from hypothesis import given, settings
from hypothesis import strategies as st

from rekal.errors import RekalError
from rekal.model import Turn
from rekal.wire import frames, limits
from rekal.wire.frames import HEADER, Packer, pack_varint
from rekal.wire.limits import SkipReason, WireReport
from rekal.wire.segment import (
    BUNDLE,
    CHECKPOINT,
    EVENT,
    FRAGMENT,
    REWRITE,
    TOMBSTONE,
    TURNS,
    Record,
    decode_segments,
    encode_segments,
)
from rekal.wire.session_parts import SessionPart, pack_parts
from tests.transport import wire_records as wire

(SEGMENT,) = encode_segments(wire.COMMIT, together=0)
(BUNDLED,) = encode_segments(wire.COMMIT)
WHOLE = list(wire.COMMIT)
SECONDS, BYTES = 5, 120 << 20


def _frame(kind: int, body: bytes, plain: int, flags: int = 0) -> bytes:
    head = pack_varint(kind) + bytes((flags,)) + pack_varint(len(body)) + pack_varint(plain)
    return head + hashlib.blake2b(head + body, digest_size=8).digest() + body


def _read(data: bytes) -> tuple[list[Record], WireReport]:
    return decode_segments([data])


def test_every_truncation_yields_the_frames_before_it() -> None:
    seen = set()
    for end in range(len(SEGMENT.data)):
        found, report = _read(SEGMENT.data[:end])
        assert found == WHOLE[: len(found)]
        assert len(found) < len(WHOLE)
        at_a_border = report.skips == ()
        assert at_a_border or report.count(SkipReason.CUT) == 1
        seen.add((len(found), at_a_border))
    assert {n for n, _ in seen} == set(range(len(WHOLE)))
    assert {n for n, at_a_border in seen if at_a_border} == set(range(len(WHOLE)))


def test_a_flipped_bit_anywhere_costs_at_most_its_frame() -> None:
    for at in range(len(HEADER), len(SEGMENT.data)):
        for bit in (at % 8, (at + 3) % 8):
            data = bytearray(SEGMENT.data)
            data[at] ^= 1 << bit
            found, report = _read(bytes(data))
            assert len(found) == len(WHOLE) - 1, (at, bit)
            assert [one for one in WHOLE if one in found] == found
            assert sum(skip.count for skip in report.skips) == 1


@pytest.mark.parametrize("at", range(len(HEADER)))
def test_a_damaged_header_is_no_segment(at: int) -> None:
    data = bytearray(SEGMENT.data)
    data[at] ^= 64

    found, report = _read(bytes(data))

    assert found == []
    assert report.count(SkipReason.FOREIGN) + report.count(SkipReason.TOO_NEW) == 1


def test_a_frame_of_a_later_type_is_skipped_by_its_length() -> None:
    later = Packer().pack(900, b"what a later version says").data
    flagged = _frame(TURNS, b"anything", 8, flags=64)

    found, report = _read(HEADER + later + flagged + SEGMENT.data[len(HEADER) :] + later)

    assert found == WHOLE
    assert report.skips == (limits.Skip(SkipReason.UNKNOWN_FRAME, 3),)


def test_fields_and_values_of_a_later_version_are_counted() -> None:
    with_field = wire.column_payload(1, [*_rewrite_columns(0), "a new field", {"of": [1, 2, {"any": "shape"}]}])
    with_value = wire.column_payload(1, _rewrite_columns(9))
    packer = Packer()

    found, report = _read(HEADER + b"".join(packer.pack(REWRITE, one).data for one in (with_field, with_value)))

    assert found == [wire.REWRITE]
    assert report.skips == (limits.Skip(SkipReason.UNKNOWN_FIELD, 2), limits.Skip(SkipReason.UNKNOWN_VALUE, 1))


def _rewrite_columns(how: int) -> list[object]:
    tag = b"\x03"
    return [[tag + bytes.fromhex(wire.SHA)], [tag + bytes.fromhex(wire.OTHER_SHA)], [how]]


def _unsafe_checkpoint() -> bytes:
    sha = [b"\x03" + bytes.fromhex(wire.SHA)]
    commit = [[None], sha, [1], [None], [None], [None], [0], "", [0], [1, None], [2], [0]]
    files = [[2, 3], [0, 0], [0, 0]]
    payload = [1, "m@e../../.ssh/x" + "ok.py", [3, 12, 5], *commit, *files, b"", [], [], []]
    return Packer().pack(CHECKPOINT, msgspec.msgpack.encode(payload)).data


def test_unsafe_paths_do_not_come_in() -> None:
    found, report = _read(HEADER + _unsafe_checkpoint())

    (checkpoint,) = found
    assert [file.path for file in getattr(checkpoint, "files")] == ["ok.py"]  # noqa: B009
    assert report.skips == (limits.Skip(SkipReason.UNSAFE_PATH, 1),)


def test_over_long_names_are_cut() -> None:
    tombstone = ["x" * 9_000]
    payload = [1, tombstone[0], [9_000], [b"\x00t"], [1], [1, 5], "", [1]]

    found, report = _read(HEADER + Packer().pack(TOMBSTONE, msgspec.msgpack.encode(payload)).data)

    assert [len(getattr(one, "actor")) for one in found] == [limits.MAX_NAME]  # noqa: B009
    assert report.skips == (limits.Skip(SkipReason.LONG_NAME, 1),)


def _zeros(size: int, content_size: bool) -> bytes:
    return zstandard.ZstdCompressor(level=3, write_content_size=content_size).compress(bytes(size))


def _packed(kind: int, payload: bytes) -> bytes:
    return HEADER + Packer().pack(kind, payload).data


def _lots_of_pieces() -> bytes:
    packer, out = Packer(), [HEADER]
    for i in range(20):
        piece = bytes(limits.FRAGMENT // 16)
        payload = [1, "", [], [TURNS, 0, 32, len(piece)], i.to_bytes(16, "big"), piece]
        out.append(packer.pack(FRAGMENT, msgspec.msgpack.encode(payload)).data)
    return b"".join(out)


BOMBS: dict[str, Callable[[], bytes]] = {
    "zeros": lambda: HEADER + _frame(TURNS, _zeros(64 << 20, False), limits.MAX_PLAIN),
    "zeros with their size": lambda: HEADER + _frame(TURNS, _zeros(64 << 20, True), limits.RATIO_FREE),
    "zeros said to be few": lambda: HEADER + _frame(TURNS, _zeros(64 << 20, False), 1_000),
    "many zeros": lambda: HEADER + _frame(TURNS, _zeros(limits.RATIO_FREE, False), limits.RATIO_FREE) * 50_000,
    "lengths out of this world": lambda: HEADER + b"\x02\x00\xff\xff\xff\x7f\xff\xff\xff\x7f" + bytes(30),
    "an endless number": lambda: HEADER + b"\xff" * 1_000,
    "tiny frames": lambda: HEADER + _frame(99, b"", 0) * 300_000,
    "tiny frames of turns": lambda: HEADER + _frame(TURNS, b"\x90", 1, 1) * 300_000,
    "false beginnings": lambda: HEADER + b"\x28\xb5\x2f\xfd" * (limits.MAX_SEGMENT // 4 - 2),
    "deep": lambda: _packed(TURNS, b"\x91" * 1_000_000),
    "deep in a column": lambda: _packed(TURNS, b"\x95\x01\xa0\x90" + b"\x91" * 1_000_000),
    "many columns": lambda: _packed(TURNS, msgspec.msgpack.encode([0] * 1_000_000)),
    "columns out of this world": lambda: _packed(TURNS, b"\xdd\xff\xff\xff\xff"),
    "entries out of this world": lambda: _packed(TURNS, b"\x95\x01\xa0\xdd\xff\xff\xff\xff\x01\x01"),
    "entries over the limit": lambda: _packed(TURNS, msgspec.msgpack.encode([1, "", [0] * (limits.MAX_ITEMS + 1)])),
    "records out of this world": lambda: _packed(EVENT, msgspec.msgpack.encode([1 << 62, "", [], b"", b""])),
    "negative": lambda: _packed(EVENT, msgspec.msgpack.encode([-1, "", [], b"", b""])),
    "a map": lambda: _packed(EVENT, msgspec.msgpack.encode({"a": 1})),
    "nothing": lambda: _packed(EVENT, b"\xc1"),
    "pieces for ever": lambda: _lots_of_pieces(),
    "too large": lambda: HEADER + bytes(limits.MAX_SEGMENT),
}


@pytest.mark.parametrize("name", BOMBS)
def test_bombs_cost_little_and_are_said(name: str) -> None:
    data = BOMBS[name]()[: limits.MAX_SEGMENT + 1]
    tracemalloc.start()
    start = time.process_time()
    try:
        found, report = _read(data)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()

    assert found == []
    assert report.skips
    assert peak < BYTES
    assert time.process_time() - start < SECONDS


@pytest.mark.soak
@pytest.mark.parametrize("frame", [_frame(99, b"", 0), _frame(REWRITE, b"\x90", 1, 1)], ids=["unknown", "rewrites"])
def test_ten_million_tiny_frames_are_not_walked(frame: bytes) -> None:
    each = (limits.MAX_SEGMENT - len(HEADER)) // len(frame)
    count = -(-10_000_000 // each)
    data = HEADER + frame * each
    tracemalloc.start()
    start = time.process_time()
    try:
        found, report = decode_segments(data for _ in range(count))
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    taken = time.process_time() - start
    print(f"{count * each:,} frames in {count} segments: {taken:.1f} s, {peak >> 20} MiB")

    assert found == []
    assert report.frames == count * limits.MAX_FRAMES
    assert report.count(SkipReason.BOMB) == count
    assert peak < BYTES
    assert taken < 120


def _many_turns() -> bytes:
    """Frames of a quarter million empty turns each, padded so that they compress as well as the limits allow."""
    count = limits.MAX_ITEMS - 1
    part = SessionPart(wire.SESSION_ID, (Turn(0, wire.SESSION_ID, "human", ""),))
    columns = msgspec.msgpack.decode(pack_parts([part]))
    columns[4] = [count]
    for i in (9, 10, 11, 14):
        columns[i] = columns[i] * count
    columns[7] = bytes(16 * count)
    columns[12] = [1, *[None] * count]
    payload = msgspec.msgpack.encode([*columns, random.Random(1).randbytes(12_000)])
    return HEADER + Packer().pack(TURNS, payload).data * 11


def test_many_records_from_few_bytes_are_not_all_taken() -> None:
    data = _many_turns()
    start = time.process_time()

    found, report = _read(data)

    assert len(data) < 200_000
    assert len(found) == 2
    assert report.count(SkipReason.BOMB) == 1
    assert time.process_time() - start < SECONDS


def test_frames_behind_a_bomb_are_read() -> None:
    bomb = _frame(TURNS, _zeros(64 << 20, False), 1_000)

    found, _ = _read(HEADER + bomb + SEGMENT.data[len(HEADER) :])

    assert found == WHOLE


def test_pieces_that_are_held_stay_under_their_limit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(limits, "MAX_HELD", 4 * limits.FRAGMENT // 16)

    _, report = _read(_lots_of_pieces())

    assert report.count(SkipReason.BOMB) == 16
    assert report.count(SkipReason.INCOMPLETE) == 4


def test_a_piece_does_not_hold_pieces() -> None:
    payload = msgspec.msgpack.encode([1, "", [], [FRAGMENT, 0, 1, 1], bytes(16), b"\x90"])

    found, report = _read(_packed(FRAGMENT, payload))

    assert found == []
    assert report.count(SkipReason.DAMAGED) == 1


@given(st.binary(max_size=400))
@settings(max_examples=300, deadline=None)
def test_any_bytes_are_read(data: bytes) -> None:
    for prefix in (b"", HEADER, SEGMENT.data[:60]):
        _read(prefix + data)


@given(st.integers(1, 9), st.binary(max_size=300))
@settings(max_examples=300, deadline=None)
def test_any_payload_in_a_sound_frame_is_read(kind: int, payload: bytes) -> None:
    _read(HEADER + Packer().pack(kind, payload).data)


PAYLOADS = [(one.kind, one.payload) for one in frames.read_frames(SEGMENT.data, range(1, 8), limits.Tally())]


@given(st.sampled_from(PAYLOADS), st.lists(st.tuples(st.integers(0, 1 << 16), st.integers(0, 255)), max_size=4))
@settings(max_examples=500, deadline=None)
def test_a_payload_with_other_bytes_is_read(frame: tuple[int, bytes], changes: list[tuple[int, int]]) -> None:
    kind, payload = frame
    forged = bytearray(payload)
    for at, value in changes:
        forged[at % len(forged)] = value

    found, report = _read(HEADER + Packer().pack(kind, bytes(forged)).data)

    assert found or report.skips


PARTS = [(one.kind, one.payload) for one in frames.read_frames(BUNDLED.data, range(1, 9), limits.Tally())]


def test_a_small_commit_is_one_frame_that_holds_every_kind() -> None:
    assert _read(BUNDLED.data)[0] == WHOLE
    assert [kind for kind, _ in PARTS] == [BUNDLE]
    assert frames.split_payloads(PARTS[0][1], range(1, 7), limits.Tally()) == PAYLOADS
    assert len(BUNDLED.data) < 0.9 * len(SEGMENT.data)


def test_much_at_once_does_not_share_a_frame() -> None:
    long = SessionPart(wire.SESSION_ID, (Turn(0, wire.SESSION_ID, "human", "word " * 8_000),))
    (segment,) = encode_segments([*wire.COMMIT, long])
    assert len(list(frames.read_frames(segment.data, range(1, 9), limits.Tally()))) > 4


def test_a_payload_of_a_bundle_that_is_damaged_costs_itself() -> None:
    turns = dict(PAYLOADS)[TURNS]
    payload = frames.join_payloads(dict(PAYLOADS) | {TURNS: turns[:-1]})

    found, report = _read(_packed(BUNDLE, payload))

    assert found == [record for record in WHOLE if not isinstance(record, SessionPart)]
    assert report.skips == (limits.Skip(SkipReason.DAMAGED, 1),)


@pytest.mark.parametrize(
    ("payload", "reason"),
    [
        (b"", SkipReason.BOMB),
        (msgspec.msgpack.encode([(REWRITE, b"\x90")] * 8), SkipReason.BOMB),
        (b"\xdd\xff\xff\xff\xff", SkipReason.BOMB),
        (b"\x91\xc0", SkipReason.DAMAGED),
        (b"\x91\x92\x05", SkipReason.DAMAGED),
        (msgspec.msgpack.encode([(BUNDLE, b"\x90"), (FRAGMENT, b"\x90"), (99, b"")]), SkipReason.UNKNOWN_FRAME),
    ],
)
def test_a_bundle_that_is_none_yields_nothing(payload: bytes, reason: SkipReason) -> None:
    found, report = _read(_packed(BUNDLE, payload))

    assert found == []
    assert {skip.reason for skip in report.skips} == {reason}


def test_a_damaged_dictionary_is_said_in_one_sentence(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "DICTIONARY_HASH", "0" * 32)
    frames.load_dictionary.cache_clear()
    try:
        with pytest.raises(RekalError, match="dictionary of this installation is damaged"):
            Packer()
    finally:
        frames.load_dictionary.cache_clear()
