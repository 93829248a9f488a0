"""Segments written by earlier versions stay readable; this version still writes the same bytes."""

from __future__ import annotations

import pytest
import zstandard

from rekal.model import Rewrite
from rekal.wire.limits import Skip, SkipReason
from rekal.wire.segment import decode_segments
from tests.transport import wire_records as wire
from tests.transport.golden_segments import EARLIER, GOLDEN, SEGMENTS, documented, example

WRITTEN_WITH = (1, 5, 7)  # zstd's compressed bytes are the same within one version of it only


@pytest.mark.parametrize("number", [1, 2])
def test_a_commit_of_every_format_is_read_in_full(number: int) -> None:
    found, report = decode_segments([(GOLDEN / f"format-{number}-commit.rkl").read_bytes()])

    assert found == list(wire.COMMIT)
    assert report.skips == ()


@pytest.mark.parametrize("number", [1, 2])
def test_what_a_later_version_adds_is_skipped_and_counted(number: int) -> None:
    found, report = decode_segments([(GOLDEN / f"format-{number}-later.rkl").read_bytes()])

    assert found == [Rewrite(wire.SHA, wire.OTHER_SHA, "squash")]
    assert report.skips == (
        Skip(SkipReason.UNKNOWN_FRAME, 1),
        Skip(SkipReason.UNKNOWN_FIELD, 1),
        Skip(SkipReason.UNKNOWN_VALUE, 1),
    )


@pytest.mark.skipif(zstandard.ZSTD_VERSION != WRITTEN_WITH, reason="another zstd compresses to other bytes")
@pytest.mark.parametrize("name", SEGMENTS)
def test_the_same_records_give_the_golden_bytes(name: str) -> None:
    assert SEGMENTS[name]() == (GOLDEN / name).read_bytes()


def test_no_golden_segment_goes_untested() -> None:
    assert {path.name for path in GOLDEN.iterdir()} == EARLIER | set(SEGMENTS)


def test_the_worked_example_of_the_document_is_what_is_written() -> None:
    assert documented() == example()
