"""Dates of documents and of facts."""

from __future__ import annotations

from datetime import UTC, date, datetime

import pytest

from rekal.documents.document_dates import date_in_name, read_date, read_span

MARCH = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    "value",
    [
        "2026-03-01",
        "2026-03-01T00:00:00Z",
        "2026-03-01T01:00:00+01:00",
        "Sun, 01 Mar 2026 00:00:00 +0000",
        "1 March 2026",
        "March 1, 2026",
        "01.03.2026",
        "2026/03/01",
        1772323200,
        1772323200.0,
        1772323200000,
        "1772323200",
        date(2026, 3, 1),
        datetime(2026, 3, 1),
    ],
)
def test_a_moment_is_read_in_every_shape(value: object) -> None:
    assert read_date(value) == MARCH


@pytest.mark.parametrize(
    "value", ["", "soon", "2026-02-31", "0001-01-01", "9999-12-31", 17, True, None, [], "1" * 200, 1e300]
)
def test_what_is_no_plausible_date_is_none(value: object) -> None:
    assert read_date(value) is None


@pytest.mark.parametrize("name", ["2026-03-01 notes.md", "20260301.txt", "minutes_2026_03_01.pdf", "2026.03.01-a.md"])
def test_a_name_may_hold_a_date(name: str) -> None:
    assert date_in_name(name) == MARCH


@pytest.mark.parametrize("name", ["notes.md", "2026-02-31.md", "120260301.md", "2026-13-01.md"])
def test_a_name_may_hold_none(name: str) -> None:
    assert date_in_name(name) is None


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("2026", "2026-01-01", "2026-12-31"),
        ("2026-02", "2026-02-01", "2026-02-28"),
        ("2024-02", "2024-02-01", "2024-02-29"),
        ("2026-03-01", "2026-03-01", "2026-03-01"),
        ("2026-Q1", "2026-01-01", "2026-03-31"),
        ("2026-q4", "2026-10-01", "2026-12-31"),
        ("2026-H1", "2026-01-01", "2026-06-30"),
        ("2026-H2", "2026-07-01", "2026-12-31"),
        ("2025 to 2026", "2025-01-01", "2026-12-31"),
        ("2025-11 to 2026-02-03", "2025-11-01", "2026-02-03"),
        ("2025-Q3 to 2026-Q1", "2025-07-01", "2026-03-31"),
        ("2026-03-01 to 2026-03-09", "2026-03-01", "2026-03-09"),
    ],
)
def test_every_form_of_a_facts_date_is_read(text: str, first: str, last: str) -> None:
    span = read_span(text)
    assert span is not None
    assert (str(span.first), str(span.last)) == (first, last)


@pytest.mark.parametrize(
    "text",
    ["", "2026-13", "2026-02-30", "2026-Q5", "2026-H3", "26-01-01", "2026 to 2025", "soon", "2026-03-01T10:00", "0000"],
)
def test_a_date_that_no_calendar_has_is_none(text: str) -> None:
    assert read_span(text) is None
