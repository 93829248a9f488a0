"""The user's clock keeps the zone's summer times."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta

import pytest

from rekal.app import context
from rekal.cli.output import format_day, format_minute
from rekal.cli.served import _as_if
from rekal.daemon.server import RecallRequest

pytestmark = pytest.mark.skipif(not hasattr(time, "tzset"), reason="the zone cannot be changed on this system")


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Europe/Berlin")
    time.tzset()
    yield
    monkeypatch.undo()
    time.tzset()


@pytest.mark.usefixtures("berlin")
def test_a_day_has_its_own_offset_whatever_today_has() -> None:
    now = context.local_now()
    offsets = [now.replace(month=month, day=15).utcoffset() for month in (1, 7)]
    assert offsets == [timedelta(hours=1), timedelta(hours=2)]
    assert now.replace(month=7, day=15).tzname() == "CEST"


@pytest.mark.usefixtures("berlin")
def test_it_shows_the_time_that_it_is() -> None:
    assert abs(context.local_now().astimezone(UTC).timestamp() - time.time()) < 60


@pytest.mark.usefixtures("berlin")
def test_the_daemon_reads_a_clients_dates_in_the_clients_zone() -> None:
    with _as_if(RecallRequest([], "/", {"TZ": "Asia/Tokyo"}, (False, False))):
        assert context.local_now().utcoffset() == timedelta(hours=9)
    assert context.local_now().replace(month=1, day=15).utcoffset() == timedelta(hours=1)


@pytest.mark.parametrize("zone", ["America/New_York", "Asia/Tokyo"])
@pytest.mark.parametrize("when", [datetime(1, 1, 1, tzinfo=UTC), datetime(9999, 12, 31, 23, 59, tzinfo=UTC)])
def test_the_ends_of_the_calendar_have_a_day(zone: str, when: datetime, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TZ", zone)
    time.tzset()
    try:
        assert (format_day(when), format_minute(when)[-5:]) != ("", "")
    finally:
        monkeypatch.delenv("TZ")
        time.tzset()
