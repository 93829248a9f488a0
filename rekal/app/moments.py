"""Points and lengths of time as people write them, and the user's clock."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta, tzinfo

from rekal.app.context import App
from rekal.errors import UsageError

_AGE = re.compile(r"(\d+)\s*([dwmy])")
_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}


class _Local(tzinfo):
    """The system's zone with its summer times; the one in which a day is looked up decides, not the one of today."""

    def utcoffset(self, when: datetime | None) -> timedelta | None:
        return when.replace(tzinfo=None).astimezone().utcoffset() if when else None

    def dst(self, when: datetime | None) -> timedelta | None:
        return None

    def tzname(self, when: datetime | None) -> str | None:
        return when.replace(tzinfo=None).astimezone().tzname() if when else None


def local_now() -> datetime:
    """Return the time, in the user's zone."""
    return datetime.now().replace(tzinfo=_Local())


def parse_age(text: str) -> timedelta:
    """Return the length of ``90d``, ``12w``, ``6m`` or ``1y``. Raises :class:`UsageError`."""
    match = _AGE.fullmatch(text.strip().lower())
    if match is None:
        raise UsageError(f"{text} is not an age", "write 90d, 12w, 6m or 1y")
    return timedelta(days=int(match[1]) * _DAYS[match[2]])


def read_moment(app: App | None, text: str | None, *, end: bool = False) -> datetime | None:
    """Return a date, a time, an age or a commit as a point in time, and None for None.

    Without ``app`` no commit is known. A date given as an ``end`` means the end of that day. Raises
    :class:`UsageError`.
    """
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        commit = app.repo.commit(text) if app is not None else None
        spelled = commit.committed_at if commit else _parse_words(text, end)
        if spelled:
            return spelled
        try:
            return datetime.now(UTC) - parse_age(text)
        except UsageError:
            hint = "write 2026-03-01, yesterday, 30d or the name of a commit"
            raise UsageError(f"{text} is not a date, an age or a commit", hint) from None
    # `2026-03-01` is ten characters long; anything longer says a time of the day, too.
    if len(text) <= 10 and end:
        found = found.replace(hour=23, minute=59, second=59, microsecond=999999)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _parse_words(text: str, end: bool) -> datetime | None:
    """Return the beginning of a time given in words ("last week"), or its end; None for anything else."""
    from rekal.recall.dates import read_periods  # most times are dates or ages, which need none of it

    for phrase in (text, f"in {text}"):  # a month alone is a date only after a preposition
        for found in read_periods(phrase, local_now()):
            if (found.start, found.stop) == (0, len(phrase)):
                return found.until - timedelta(microseconds=1) if end and found.until else found.since
    return None
