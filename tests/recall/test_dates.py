"""Dates as questions spell them, read on Thursday 12 March 2026, half past three in the afternoon, in Berlin."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekal.recall.dates import read_periods

ZONE = ZoneInfo("Europe/Berlin")
NOW = datetime(2026, 3, 12, 15, 30, tzinfo=ZONE)


def read(question: str) -> list[tuple[str, str, str]]:
    """Each period as (the words, since, until) to the minute, without a zone."""
    found = read_periods(question, NOW)
    assert all(when is None or when.tzinfo is ZONE for one in found for when in (one.since, one.until))
    return [(question[one.start : one.stop], _minute(one.since), _minute(one.until)) for one in found]


def _minute(when: datetime | None) -> str:
    return when.strftime("%m-%d %H:%M" if when.year == NOW.year else "%Y-%m-%d") if when else ""


@pytest.mark.parametrize(
    ("words", "since", "until"),
    [
        ("2026-03-05", "03-05 00:00", "03-06 00:00"),
        ("March 5", "03-05 00:00", "03-06 00:00"),
        ("on 5 March 2026", "03-05 00:00", "03-06 00:00"),
        ("on the 5th of March", "03-05 00:00", "03-06 00:00"),
        ("Dec 24", "2025-12-24", "2025-12-25"),
        ("in March", "03-01 00:00", "04-01 00:00"),
        ("in may", "2025-05-01", "2025-06-01"),
        ("last March", "2025-03-01", "2025-04-01"),
        ("February 2026", "02-01 00:00", "03-01 00:00"),
        ("2026-02", "02-01 00:00", "03-01 00:00"),
        ("in 2025", "2025-01-01", "01-01 00:00"),
        ("yesterday", "03-11 00:00", "03-12 00:00"),
        ("the day before yesterday", "03-10 00:00", "03-11 00:00"),
        ("yesterday evening", "03-11 18:00", "03-12 00:00"),
        ("last night", "03-11 18:00", "03-12 06:00"),
        ("this morning", "03-12 00:00", "03-12 12:00"),
        ("earlier today", "03-12 00:00", "03-13 00:00"),
        ("two days ago", "03-10 00:00", "03-11 00:00"),
        ("12 days ago", "02-27 00:00", "03-02 00:00"),
        ("a couple of weeks ago", "02-23 00:00", "03-02 00:00"),
        ("an hour ago", "03-12 14:00", "03-12 15:00"),
        ("on Tuesday", "03-10 00:00", "03-11 00:00"),
        ("on Thursday", "03-05 00:00", "03-06 00:00"),
        ("this Monday", "03-09 00:00", "03-10 00:00"),
        ("last Tuesday morning", "03-10 00:00", "03-10 12:00"),
        ("over the weekend", "03-07 00:00", "03-09 00:00"),
        ("this week", "03-09 00:00", "03-16 00:00"),
        ("last week", "03-02 00:00", "03-09 00:00"),
        ("over the last week", "03-05 15:30", "03-12 15:30"),
        ("in the last 3 days", "03-09 15:30", "03-12 15:30"),
        ("last month", "02-01 00:00", "03-01 00:00"),
        ("last year", "2025-01-01", "01-01 00:00"),
        ("since Monday", "03-09 00:00", ""),
        ("after March 5", "03-06 00:00", ""),
        ("before 2026-03-01", "", "03-01 00:00"),
        ("until yesterday", "", "03-12 00:00"),
        ("between March 1 and March 5", "03-01 00:00", "03-06 00:00"),
        ("from Monday to yesterday", "03-09 00:00", "03-12 00:00"),
    ],
)
def test_a_date_is_read(words: str, since: str, until: str) -> None:
    assert read(f"what did we decide about the queue {words}?") == [(words, since, until)]


def test_every_date_of_a_question_is_read_in_order() -> None:
    found = read("did yesterday's fix undo the one of March 5?")
    assert [words for words, _, _ in found] == ["yesterday's", "March 5"]


@pytest.mark.parametrize(
    "question",
    [
        "what changed in the 2024 edition",
        "does it fail after 2000 requests",
        "may 5 workers run at once",
        "the march of progress",
        "is the tarball release-2026-03-05.tar signed",
        "why is 31 February accepted",
        "is v2026.3 out",
        "why do weekly reports on monday.com fail",
        "which certificates expire on 2027-01-01",
        "what happens next week or tomorrow",
        "what is planned in December 2026",
    ],
)
def test_what_only_looks_like_a_date_is_none(question: str) -> None:
    assert read(question) == []


def test_days_begin_in_the_users_zone() -> None:
    at = datetime.fromisoformat("2026-03-12T23:30:00+00:00")
    (berlin,) = read_periods("yesterday", at.astimezone(ZONE))
    (utc,) = read_periods("yesterday", at)
    assert berlin.since and utc.since
    assert (berlin.since.day, utc.since.day) == (12, 11)
    assert (utc.since - berlin.since).total_seconds() == -23 * 3600


WORDS = "in on since before last this the March may 5 31 2026 2026-02-30 999 years weeks ago and to Monday few"


@settings(deadline=None, max_examples=200)
@given(st.lists(st.sampled_from(WORDS.split()) | st.text(max_size=6), max_size=8))
def test_no_question_is_too_strange(words: list[str]) -> None:
    question = " ".join(words)
    stop = 0
    for one in read_periods(question, NOW):
        assert stop <= one.start < one.stop <= len(question)
        stop = one.stop
