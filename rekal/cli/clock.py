"""The user's clock."""

from __future__ import annotations

from datetime import datetime, timedelta, tzinfo


class _Local(tzinfo):
    """The system's zone with its summer times; the one in which a day is looked up decides, not the one of today."""

    def utcoffset(self, when: datetime | None) -> timedelta | None:
        return when.replace(tzinfo=None).astimezone().utcoffset() if when else None

    def dst(self, when: datetime | None) -> timedelta | None:
        return None

    def tzname(self, when: datetime | None) -> str | None:
        return when.replace(tzinfo=None).astimezone().tzname() if when else None


def now() -> datetime:
    """The time, in the user's zone."""
    return datetime.now().replace(tzinfo=_Local())
