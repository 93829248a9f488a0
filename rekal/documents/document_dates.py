"""Dates as documents and facts write them.

:func:`read_date` takes one moment from a header, a front matter or an export. :func:`read_span` takes the date forms of
facts, in which a year, a half, a quarter or a month is as good as a day, alone or up to another one.
"""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import UTC, date, datetime, timedelta
from email.utils import parsedate_to_datetime

import msgspec

_EARLIEST, _LATEST = datetime(1900, 1, 1, tzinfo=UTC), datetime(2200, 1, 1, tzinfo=UTC)
# Seconds since 1970 have ten digits in our time; exports also write thousandths and millionths.
_EPOCH_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3), (1e8, 1.0))
_IN_NAME = re.compile(r"(?<!\d)((?:19|20)\d\d)[-_.]?(0[1-9]|1[0-2])[-_.]?(0[1-9]|[12]\d|3[01])(?!\d)")
_WORDED = ("%d %B %Y", "%B %d, %Y", "%d %b %Y", "%b %d, %Y", "%d.%m.%Y", "%Y/%m/%d", "%I:%M %p on %d %B, %Y")

_POINT = r"(\d{4})(?:-(?:(\d{2})(?:-(\d{2}))?|Q([1-4])|H([12])))?"
_SPAN = re.compile(rf"\s*{_POINT}(?:\s+to\s+{_POINT})?\s*", re.IGNORECASE)


class DateSpan(msgspec.Struct, frozen=True):
    """A stretch of days, both ends included."""

    first: date
    last: date


def read_date(value: object) -> datetime | None:
    """Read one moment from text or a number; without a zone it is UTC. None for what is no plausible date."""
    if isinstance(value, datetime):
        return _plausible(value)
    if isinstance(value, date):
        return _plausible(datetime(value.year, value.month, value.day, tzinfo=UTC))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return _epoch_moment(float(value))
    if not isinstance(value, str) or not value.strip() or len(value) > 100:
        return None
    return _from_text(value.strip())


def _epoch_moment(number: float) -> datetime | None:
    for least, unit in _EPOCH_UNITS:
        if number >= least:
            try:
                return _plausible(datetime.fromtimestamp(number / unit, UTC))
            except (OverflowError, ValueError, OSError):
                return None
    return None


def _from_text(text: str) -> datetime | None:
    try:
        return _plausible(datetime.fromisoformat(text))
    except ValueError:
        pass
    try:
        return _plausible(parsedate_to_datetime(text))
    except (ValueError, TypeError, IndexError):
        pass
    for form in _WORDED:
        try:
            return _plausible(datetime.strptime(text, form).replace(tzinfo=UTC))
        except ValueError:
            continue
    try:
        return _epoch_moment(float(text))
    except ValueError:
        return None


def _plausible(when: datetime) -> datetime | None:
    aware = when.replace(tzinfo=UTC) if when.tzinfo is None else when
    try:
        # A zone can push a date over the calendar's end.
        return aware if _EARLIEST <= aware.astimezone(UTC) < _LATEST else None
    except OverflowError:
        return None


def date_in_name(name: str) -> datetime | None:
    """Read the date in the name of a file, such as ``2026-03-01 meeting.md``."""
    found = _IN_NAME.search(name)
    try:
        return datetime(*(int(part) for part in found.groups()), tzinfo=UTC) if found else None  # type: ignore[arg-type,misc]
    except ValueError:  # the 31st of a shorter month
        return None


def read_span(text: str) -> DateSpan | None:
    """Read a date of a fact: ``2026``, ``2026-03``, ``2026-03-01``, ``2026-Q1``, ``2026-H2``, or ``A to B`` of these.

    None for anything else, for a day that no calendar has, and for an end before its beginning.
    """
    found = _SPAN.fullmatch(text)
    if found is None:
        return None
    try:
        start = _point(found.groups()[:5])
        end = _point(found.groups()[5:]) if found[6] else start
    except ValueError:
        return None
    return DateSpan(start.first, end.last) if start.first <= end.last else None


def _point(parts: tuple[str | None, ...]) -> DateSpan:
    year, month, day, quarter, half = (int(part) if part else 0 for part in parts)
    if day:
        return DateSpan(date(year, month, day), date(year, month, day))
    if month:
        return DateSpan(date(year, month, 1), _end_of(year, month))
    if quarter:
        return DateSpan(date(year, 3 * quarter - 2, 1), _end_of(year, 3 * quarter))
    if half:
        return DateSpan(date(year, 6 * half - 5, 1), _end_of(year, 6 * half))
    return DateSpan(date(year, 1, 1), date(year, 12, 31))


def _end_of(year: int, month: int) -> date:
    return date(year, month, 1) + timedelta(days=monthrange(year, month)[1] - 1)
