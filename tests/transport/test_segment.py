"""What goes into segments comes out of them, whatever its size."""

from __future__ import annotations

import random
from datetime import UTC, datetime

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from rekal import ids
from rekal.model import Edit, FileChange, Session, ToolCall, Turn
from rekal.wire import limits, segment
from rekal.wire.limits import SkipReason, Tally
from rekal.wire.segment import Record, decode_segments, encode_segments
from rekal.wire.session_parts import SessionPart, wire_hash
from tests.transport import wire_records as wire

LETTERS = "abcdefghijklmnopqrstuvwxyz0123456789+/ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def _there_and_back(records: list[Record]) -> list[Record]:
    found, report = decode_segments(one.data for one in encode_segments(records))
    assert report.skips == ()
    return found


def _of(kind: type, records: list[Record]) -> list[Record]:
    return [record for record in records if isinstance(record, kind)]


@given(st.lists(wire.anything, max_size=8))
@settings(max_examples=150, deadline=None)
def test_any_records_come_back_as_they_were(records: list[Record]) -> None:
    found = _there_and_back(records)

    kinds = {type(record) for record in records}
    assert {kind: _of(kind, found) for kind in kinds} == {kind: _of(kind, records) for kind in kinds}
    assert len(found) == len(records)


def test_a_session_travels_as_its_head_and_its_turns() -> None:
    session = replace(wire.HEAD, turns=wire.PART.turns, tool_calls=wire.PART.tool_calls, edits=wire.PART.edits)

    assert _there_and_back([session]) == [wire.HEAD, wire.PART]


def test_the_reader_stamps_the_ref_a_record_came_by() -> None:
    found, _ = decode_segments((one.data for one in encode_segments(wire.COMMIT)), origin="refs/rekal/mara/1")

    assert [getattr(one, "origin", "refs/rekal/mara/1") for one in found] == ["refs/rekal/mara/1"] * len(found)


def test_same_records_same_bytes_and_the_name_is_their_hash() -> None:
    first, second = list(encode_segments(wire.COMMIT)), list(encode_segments(wire.COMMIT))

    assert first == second
    (only,) = first
    assert only.name == segment.segment_name(only.data)
    assert only.file_name == f"{only.name[:16]}.rkl"


def test_nothing_gives_no_segment() -> None:
    assert list(encode_segments([])) == []


def test_line_hashes_keep_their_upper_forty_bits() -> None:
    full = ids.line_hash("return self.budget[host] > 0")
    assert full is not None
    part = replace(wire.PART, edits=(Edit(0, 0, "a.py", (full,)),))

    (found,) = _there_and_back([part])

    assert isinstance(found, SessionPart)
    (kept,) = found.edits[0].line_hashes
    assert kept == wire_hash(full) == wire_hash(kept)
    assert kept >> 23 == full >> 23


def _noise(size: int, seed: int = 1) -> str:
    return "".join(random.Random(seed).choices(LETTERS, k=size))


def _merged(records: list[Record]) -> SessionPart:
    parts = [record for record in records if isinstance(record, SessionPart)]
    return SessionPart(
        parts[0].session_id,
        tuple(turn for part in parts for turn in part.turns),
        tuple(call for part in parts for call in part.tool_calls),
        tuple(edit for part in parts for edit in part.edits),
    )


@pytest.fixture
def small_limits(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments and frames an eighth of their size, so that crossing the border does not take seconds."""
    for name in ("MAX_SEGMENT", "MAX_PLAIN", "FRAGMENT"):
        monkeypatch.setattr(limits, name, getattr(limits, name) // 8)
    monkeypatch.setattr(segment, "_GROUP", segment._GROUP // 8)


@pytest.mark.usefixtures("small_limits")
def test_a_large_session_is_split_between_turns() -> None:
    turns = tuple(Turn(i, ids.derive("t", str(i)), "human", _noise(900, i)) for i in range(750))
    calls = tuple(ToolCall(i, ids.derive("c", str(i)), i // 2, "Read", f"f{i}.py") for i in range(1_500))
    edits = tuple(Edit(i, i * 2, f"f{i * 2}.py", (i << 23,)) for i in range(750))
    part = SessionPart(wire.SESSION_ID, turns, calls, edits)

    segments = list(encode_segments([part]))

    assert len(segments) == 2
    assert all(len(one.data) <= limits.MAX_SEGMENT for one in segments)
    found, report = decode_segments(one.data for one in segments)
    assert report.skips == ()
    assert len(found) > 4
    assert _merged(found) == part


HUGE = SessionPart(wire.SESSION_ID, (Turn(0, wire.SESSION_ID, "human", _noise(900_000)),))


@pytest.fixture
def huge(small_limits: None) -> list[bytes]:
    """A turn too large for one segment, and a head."""
    return [one.data for one in encode_segments([HUGE, wire.HEAD])]


def test_one_huge_turn_crosses_segments_in_any_order(huge: list[bytes]) -> None:
    assert len(huge) > 1
    assert all(len(data) <= limits.MAX_SEGMENT for data in huge)

    found, report = decode_segments(reversed(huge))

    assert sorted(found, key=repr) == sorted([wire.HEAD, HUGE], key=repr)
    assert report.skips == ()


@pytest.mark.soak
def test_segments_of_full_size_hold_what_they_must() -> None:
    part = SessionPart(wire.SESSION_ID, (Turn(0, wire.SESSION_ID, "human", _noise(40_000_000)),))

    full = [one.data for one in encode_segments([part])]

    assert max(map(len, full)) <= limits.MAX_SEGMENT
    assert decode_segments(full)[0] == [part]


def test_a_missing_piece_of_a_huge_turn_is_reported(huge: list[bytes]) -> None:
    found, report = decode_segments(huge[:1])

    assert HUGE not in found
    assert report.count(SkipReason.INCOMPLETE) > 0


def test_an_edit_of_a_quarter_million_lines_survives() -> None:
    many = tuple(i << 23 for i in range(limits.MAX_ITEMS))
    tally = Tally()
    part = SessionPart(wire.SESSION_ID, edits=(Edit(0, 0, "a.csv", many),))

    found, report = decode_segments(one.data for one in encode_segments([part], tally))

    assert found == [part]
    assert report.skips == tally.report().skips == ()


@pytest.mark.parametrize(
    "turn",
    [
        Turn(-2, wire.SESSION_ID, "human", "before the beginning"),
        Turn(1 << 40, wire.SESSION_ID, "human", "after the end"),
        Turn(1, wire.SESSION_ID, "nobody", "a role that is none"),  # type: ignore[arg-type]
        Turn(1, wire.SESSION_ID, "human", "a time nowhere", datetime(2025, 1, 1)),
        Turn(1, wire.SESSION_ID, "human", "x" * (limits.FRAGMENT * limits.MAX_FRAGMENTS + 1)),
    ],
    ids=["negative", "too-late", "role", "naive", "too-long"],
)
def test_a_turn_that_cannot_be_written_costs_only_itself(turn: Turn) -> None:
    tally = Tally()
    part = replace(wire.PART, turns=(wire.PART.turns[0], turn))

    found, report = decode_segments(one.data for one in encode_segments([part, wire.HEAD], tally))

    assert tally.report().count(SkipReason.UNWRITABLE) == 1
    assert report.skips == ()
    assert wire.HEAD in found
    kept = _merged(found)
    assert kept.turns == wire.PART.turns[:1]
    assert kept.tool_calls == wire.PART.tool_calls


UNSAFE = ["/etc/passwd", "../../x", "a/../../b", "a\\..\\b", "C:\\x", "\\\\host\\x", "a\nb", "a\x1b[2J", "a\u202eb", ""]


@pytest.mark.parametrize("path", UNSAFE)
def test_unsafe_paths_do_not_leave(path: str) -> None:
    tally = Tally()
    records: list[Record] = [
        replace(wire.HEAD, cwd=path),
        SessionPart(
            wire.SESSION_ID, (), (ToolCall(0, wire.SESSION_ID, -1, "Read", path),), (Edit(0, 0, path, (1 << 23,)),)
        ),
        replace(wire.CHECKPOINT, files=(FileChange(path, "A"), FileChange("a.py", "R", path))),
    ]

    found, report = decode_segments(one.data for one in encode_segments(records, tally))

    assert tally.report().count(SkipReason.UNSAFE_PATH) == 5
    assert report.skips == ()
    assert found == [
        replace(wire.HEAD, cwd=None),
        SessionPart(wire.SESSION_ID, (), (ToolCall(0, wire.SESSION_ID, -1, "Read", None),)),
        replace(wire.CHECKPOINT, files=(FileChange("a.py", "R"),)),
    ]


def test_nul_and_lone_surrogates_become_replacement_characters() -> None:
    part = SessionPart(wire.SESSION_ID, (Turn(0, "u\0\ud800", "human", "a\0b\udc80c"),))

    (found,) = _there_and_back([part])

    assert found == SessionPart(wire.SESSION_ID, (Turn(0, "u\ufffd\ufffd", "human", "a\ufffdb\ufffdc"),))


def test_a_megabyte_of_one_letter_is_not_taken_for_a_bomb() -> None:
    part = SessionPart(wire.SESSION_ID, (Turn(0, wire.SESSION_ID, "human", "a" * 1_000_000),))

    assert _there_and_back([part]) == [part]


def test_a_small_commit_costs_less_than_two_kilobytes() -> None:
    assert sum(len(one.data) for one in encode_segments(wire.COMMIT)) < 1_200


@given(st.lists(wire.anything, min_size=3, max_size=12))
@settings(max_examples=40, deadline=None)
def test_a_writer_closes_a_segment_before_a_reader_would_stop(records: list[Record]) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(limits, "MAX_ENTRIES", 200)

        found, report = decode_segments(one.data for one in encode_segments(records))

    assert len(found) == len(records)
    assert report.skips == ()


def test_the_report_is_one_sentence() -> None:
    (whole,) = encode_segments(wire.COMMIT, together=0)

    _, report = decode_segments([whole.data, b"GIF89a", whole.data[:-1]])

    assert report.sentence() == (
        "11 records in 2 segments; left out: 1 files that are not segments, 1 segments cut short"
    )


def test_times_of_any_calendar_year_survive() -> None:
    first, last = datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC)
    heads: list[Record] = [replace(wire.HEAD, started_at=when) for when in (first, last, None, first)]

    found = _there_and_back(heads)

    assert [one.started_at for one in found if isinstance(one, Session)] == [first, last, None, first]
