"""Dates as English questions spell them: "2026-03-05", "in March", "two days ago", "since last Tuesday".

A question asks about the past, so a date without a year is the latest one that has begun. A word alone is no date where
it can be something else: a year or a bare month takes a preposition ("the 2024 edition" names no time), ``may`` and
``march`` take a capital.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from datetime import date, datetime, time, timedelta
from functools import cache

import msgspec

Span = tuple[datetime, datetime]


class Period(msgspec.Struct, frozen=True):
    """``text[start:stop]`` of a question means the time from ``since`` up to, not including, ``until``.

    None is an open end: "since March" has no ``until``. ``lead`` is the preposition before it, lower case, or empty.
    """

    start: int
    stop: int
    since: datetime | None
    until: datetime | None
    lead: str = ""


class Rule(msgspec.Struct, frozen=True):
    """A spelling, how to read it (the match, now, the lead), and the leads that it takes to be a date; none: any."""

    spelling: re.Pattern[str]
    read: Callable[[re.Match[str], datetime, str], Span]
    leads: frozenset[str] = frozenset()


_CALENDAR = """
january february march april may june july august september october november december
monday tuesday wednesday thursday friday saturday sunday
"""
_NUMBERS = "one two three four five six seven eight nine ten eleven twelve"
CALENDAR = tuple(_CALENDAR.split())
"""English names of the months, then of the days of the week."""

_MONTHS = {key: at for at, name in enumerate(CALENDAR[:12], 1) for key in (name, name[:3])} | {"sept": 9}
_WEEKDAYS = {name[:3]: at for at, name in enumerate(CALENDAR[12:])}
_COUNTS = {"a": 1, "an": 1, "a couple of": 2, "a few": 3} | {word: at for at, word in enumerate(_NUMBERS.split(), 1)}
_UNIT_DAYS = {"hour": 1 / 24, "day": 1, "week": 7, "month": 30, "year": 365}
_DAY_PARTS = {"morning": (0, 12), "afternoon": (12, 18), "evening": (18, 24), "night": (18, 30)}  # hours
_ONE_DAY = timedelta(days=1)
_FIRST_YEAR = 1980  # no transcript is older, and not every system can tell the zone of such a time

# Written in lower case these are words first.
_CAPITAL = "(?:May|March|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)"
_PLAIN = "(?i:january|february|april|june|july|august|september|october|november|december)"
_MONTH = rf"(?P<month>{_PLAIN}|{_CAPITAL})\b\.?"
_DAY = r"(?P<day>\d{1,2})(?:st|nd|rd|th)?"
_YEAR = r"(?P<year>(?:19|20)\d\d)"
_WEEKDAY = rf"(?P<weekday>(?i:{'|'.join(CALENDAR[12:])})|Mon|Tues?|Wed|Thu|Fri|Sat|Sun)"
_PART = r"(?P<part>morning|afternoon|evening|night)"
_COUNT = rf"(?P<count>\d{{1,3}}|{'|'.join(sorted(_COUNTS, key=len, reverse=True))})"
_UNIT = r"(?P<unit>hour|day|week|month|year)"
# What may follow a year: in "after 2000 requests" it counts something.
_NO_NOUN = (
    r"(?=\s*(?:[?.!,;:)]|$|(?:and|or|but|to|when|while|did|do|was|were|is|are|we|i|you|they|the|with|for|by|on)\b))"
)

_AFTER, _BEFORE = frozenset({"since", "after"}), frozenset({"before", "until", "till"})
_IN = frozenset({"in", "during", "from", "between", *_AFTER, *_BEFORE})
_IN_MONTH = _IN | {"this", "last", "around"}
_ON = _IN_MONTH | {"on", "past"}
_LEAD = re.compile(rf"\b({'|'.join(sorted(_ON | {'at', 'over', 'within'}))})\s+(?:the\s+)?$", re.I)
_JOINT = re.compile(r"\s*(?:and|to|until|till|through|-|–)\s*", re.I)
# One of these, or a digit, stands in every date: most questions are done with after one look.
_HINTS = re.compile(
    rf"\d|(?i:{'|'.join(CALENDAR)}|day|night|ago|last|past|previous|this|weekend)"
    rf"|{_CAPITAL}|Mon|Tue|Wed|Thu|Fri|Sat|Sun"
)


def _days(first: date, after: date, now: datetime) -> Span:
    return datetime.combine(first, time(), now.tzinfo), datetime.combine(after, time(), now.tzinfo)


def _read_day_part(day: date, part: str | None, now: datetime) -> Span:
    """A day, or its morning, afternoon, evening or night."""
    if not part:
        return _days(day, day + _ONE_DAY, now)
    edges = (divmod(hour, 24) for hour in _DAY_PARTS[part.lower()])
    since, until = (datetime.combine(day + days * _ONE_DAY, time(hour), now.tzinfo) for days, hour in edges)
    return since, until


def _month(year: int, month: int, now: datetime) -> Span:
    return _days(date(year, month, 1), date(year + month // 12, month % 12 + 1, 1), now)


def _iso(found: re.Match[str], now: datetime, lead: str) -> Span:
    day = date(int(found["year"]), int(found["number"]), int(found["day"]))
    return _days(day, day + _ONE_DAY, now)


def _iso_month(found: re.Match[str], now: datetime, lead: str) -> Span:
    return _month(int(found["year"]), int(found["number"]), now)


def _month_day(found: re.Match[str], now: datetime, lead: str) -> Span:
    month, day = _MONTHS[found["month"].lower()], int(found["day"])
    year = int(found["year"] or now.year - ((month, day) > (now.month, now.day)))
    return _days(date(year, month, day), date(year, month, day) + _ONE_DAY, now)


def _month_year(found: re.Match[str], now: datetime, lead: str) -> Span:
    return _month(int(found["year"]), _MONTHS[found["month"].lower()], now)


def _bare_month(found: re.Match[str], now: datetime, lead: str) -> Span:
    month = _MONTHS[found["month"].lower()]
    return _month(now.year - (month > now.month or (lead == "last" and month == now.month)), month, now)


def _year(found: re.Match[str], now: datetime, lead: str) -> Span:
    return _days(date(int(found["year"]), 1, 1), date(int(found["year"]) + 1, 1, 1), now)


def _weekday(found: re.Match[str], now: datetime, lead: str) -> Span:
    """The last such day before today; with "this" the one of the current week."""
    ahead = _WEEKDAYS[found["weekday"].lower()[:3]] - now.weekday()
    back = -ahead if lead == "this" else -ahead % 7 or 7
    return _read_day_part(now.date() - timedelta(days=back), found["part"], now)


def _near_day(found: re.Match[str], now: datetime, lead: str) -> Span:
    said = found["near"].lower()
    back = 2 if said.startswith("the") else int(said in ("yesterday", "last"))
    return _read_day_part(now.date() - back * _ONE_DAY, "night" if said == "tonight" else found["part"], now)


def _weekend(found: re.Match[str], now: datetime, lead: str) -> Span:
    saturday = now.date() - timedelta(days=(now.weekday() - 5) % 7)
    return _days(saturday, saturday + 2 * _ONE_DAY, now)


def _this_or_last(found: re.Match[str], now: datetime, lead: str) -> Span:
    """The current or the previous week, month or year; "the last week" and "past week" are the days up to now."""
    which, unit, today = found["which"].lower(), found["unit"].lower(), now.date()
    if which == "past" or (found["the"] and which == "last"):
        return now - timedelta(days=_UNIT_DAYS[unit]), now
    back = int(which != "this")
    if unit == "week":
        monday = today - timedelta(days=today.weekday() + 7 * back)
        return _days(monday, monday + 7 * _ONE_DAY, now)
    if unit == "year":
        return _days(date(today.year - back, 1, 1), date(today.year - back + 1, 1, 1), now)
    year, month = divmod(today.year * 12 + today.month - 1 - back, 12)
    return _month(year, month + 1, now)


def _number(found: re.Match[str]) -> int:
    said = " ".join(found["count"].lower().split())
    return int(said) if said.isdigit() else _COUNTS[said]


def _rolling_span(found: re.Match[str], now: datetime, lead: str) -> Span:
    return now - timedelta(days=_number(found) * _UNIT_DAYS[found["unit"].lower()]), now


def _ago(found: re.Match[str], now: datetime, lead: str) -> Span:
    """Up to six days ago is that day; whoever counts further means about then: half a unit either way."""
    count, unit = _number(found), found["unit"].lower()
    about = now - timedelta(days=count * _UNIT_DAYS[unit])
    if unit == "hour":
        return about - timedelta(hours=0.5), about + timedelta(hours=0.5)
    slack = timedelta(days=int(count > 6) if unit == "day" else _UNIT_DAYS[unit] // 2)
    return _days(about.date() - slack, about.date() + slack + _ONE_DAY, now)


def _make_rule(
    core: str,
    read: Callable[[re.Match[str], datetime, str], Span],
    *,
    leads: frozenset[str] = frozenset(),
    flags: int = 0,
) -> Rule:
    spelling = re.compile(rf"(?<![\w./@#:-])(?:{core})(?:['’]s)?(?![\w/@%-]|[.:]\w)", flags)
    return Rule(spelling, read, leads)


@cache
def _rules() -> tuple[Rule, ...]:
    """Longer forms first: what one of them has read is not read again."""
    any_case = re.IGNORECASE
    near = r"the\s+day\s+before\s+yesterday|yesterday|today|tonight"
    return (
        _make_rule(rf"{_YEAR}[-/](?P<number>\d\d)[-/](?P<day>\d\d)", _iso),
        _make_rule(rf"{_YEAR}-(?P<number>\d\d)", _iso_month),
        _make_rule(rf"{_MONTH}\s+{_DAY}(?:,?\s+{_YEAR})?", _month_day),
        _make_rule(rf"{_DAY}\s+(?:of\s+)?{_MONTH}(?:,?\s+{_YEAR})?", _month_day),
        _make_rule(rf"{_MONTH},?\s+{_YEAR}", _month_year),
        _make_rule(rf"{_MONTH}(?!,?\s+\d)", _bare_month, leads=_IN_MONTH),
        _make_rule(r"(?P<month>march|may)(?!\s+\d)", _bare_month, leads=frozenset({"in", "last"})),
        _make_rule(rf"{_WEEKDAY}(?:\s+{_PART})?", _weekday, leads=_ON),
        _make_rule(rf"(?:the\s+year\s+)?{_YEAR}{_NO_NOUN}", _year, leads=_IN, flags=any_case),
        _make_rule(rf"(?:earlier\s+)?(?P<near>{near})(?:\s+{_PART})?", _near_day, flags=any_case),
        _make_rule(rf"(?P<near>this|last)\s+{_PART}", _near_day, flags=any_case),
        _make_rule(r"(?:last\s+|this\s+)?weekend", _weekend, leads=_ON | {"over"}, flags=any_case),
        _make_rule(rf"(?:the\s+)?(?:last|past|previous)\s+{_COUNT}\s+{_UNIT}s?", _rolling_span, flags=any_case),
        _make_rule(rf"(?P<the>the\s+)?(?P<which>this|last|past|previous)\s+{_UNIT}", _this_or_last, flags=any_case),
        _make_rule(rf"(?:(?:about|around|some)\s+)?{_COUNT}\s+{_UNIT}s?\s+ago", _ago, flags=any_case),
    )


def read_periods(text: str, now: datetime) -> list[Period]:
    """The times up to ``now`` that a question names, in order. ``now`` is aware; days begin and end in its zone."""
    if not _HINTS.search(text):
        return []
    found: list[Period] = []
    for rule in _rules():
        for match in rule.spelling.finditer(text):
            one = _read_rules(rule, match, text, now)
            if one and not any(one.start < other.stop and other.start < one.stop for other in found):
                found.append(one)
    return list(_read_ranges(sorted(found, key=lambda one: one.start), text))


def _read_rules(rule: Rule, match: re.Match[str], text: str, now: datetime) -> Period | None:
    lead = _LEAD.search(text, 0, match.start())
    said = lead[1].lower() if lead else ""
    if rule.leads and said not in rule.leads:
        return None
    try:
        since, until = rule.read(match, now, said)
    except ValueError:  # the 31st of February
        return None
    if since > now or since.year < _FIRST_YEAR:
        return None
    start = lead.start() if lead else match.start()
    if said in _AFTER:
        return Period(start, match.end(), since if said == "since" else until, None, said)
    return Period(start, match.end(), None if said in _BEFORE else since, since if said == "before" else until, said)


def _read_ranges(found: list[Period], text: str) -> Iterator[Period]:
    """Joins "from A to B" and "between A and B"."""
    open_: Period | None = None
    for one in found:
        joined = open_ and open_.lead in ("from", "between") and _JOINT.fullmatch(text[open_.stop : one.start])
        if open_ and joined:
            yield Period(open_.start, one.stop, open_.since, one.until, open_.lead)
            open_ = None
            continue
        if open_:
            yield open_
        open_ = one
    if open_:
        yield open_
