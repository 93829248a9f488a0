from __future__ import annotations

from datetime import UTC, datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekal.agents.formats.timestamps import parse_time

NOON = datetime(2026, 3, 4, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        "2026-03-04T12:00:00Z",
        "2026-03-04T12:00:00.000Z",
        "2026-03-04T12:00:00.000000000+00:00",
        "2026-03-04T14:00:00+02:00",
        " 2026-03-04 12:00:00 ",
        1772625600,
        1772625600.0,
        1772625600_000,
        1772625600_000_000,
        1772625600_000_000_000,
        "1772625600",
        "1772625600000",
    ],
)
def test_every_spelling_of_one_moment(value: object) -> None:
    assert parse_time(value) == NOON


def test_fractions_are_kept_to_the_microsecond() -> None:
    assert parse_time("2026-03-04T12:00:00.123456789Z") == NOON.replace(microsecond=123456)


@pytest.mark.parametrize(
    "value", [None, True, "", "soon", [], {}, 0, -5, float("nan"), float("inf"), 10**400, "9" * 400]
)
def test_no_time(value: object) -> None:
    assert parse_time(value) is None


@given(st.text() | st.floats() | st.integers())
def test_never_raises_and_is_always_utc(value: object) -> None:
    moment = parse_time(value)
    assert moment is None or moment.tzinfo is UTC
