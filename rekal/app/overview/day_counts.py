"""A store over time, and its totals: for the timeline and the figures."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from rekal.app.context import App
from rekal.store import queries
from rekal.store.ledger import open_ledger
from rekal.store.overview import overview_rows
from rekal.store.overview.overview_rows import DayCount, NamedCount
from rekal.store.queries import StoreCounts
from rekal.store.source_state import SourceSummary, summarise_sources
from rekal.store.usage_log import UseCount, read_uses

_CHARACTERS_A_TOKEN = 4  # of English and code, as models cut them: good enough for an order of magnitude
_MOST_NAMES = 12
_MOST_OPENED = 10


class TimelineCounts(msgspec.Struct, frozen=True):
    """Days from ``since`` on, oldest first, and why commits have no session. ``last``: when the newest turn was."""

    since: datetime
    last: datetime | None
    days: list[DayCount]
    reasons: dict[str, int]


class OpenedSession(msgspec.Struct, frozen=True):
    """A session with the number of times that it was opened on this machine."""

    id: str
    title: str
    times: int


class StoreFigures(msgspec.Struct, frozen=True):
    """Totals of a store. ``tokens`` is an estimate from the number of characters, ``asked`` recalls by day,
    ``uses`` verdicts and injections by week."""

    counts: StoreCounts
    linked: int
    characters: int
    tokens: int
    data_bytes: int
    index_bytes: int
    vector_bytes: int
    agents: list[NamedCount]
    people: list[NamedCount]
    branches: list[NamedCount]
    opened: list[OpenedSession]
    asked: list[overview_rows.AskedDay]
    uses: list[UseCount]
    sources: list[SourceSummary]


def count_timeline(app: App, days: int) -> TimelineCounts:
    """Count by day over ``days`` days up to the newest turn: a store of old work has a timeline, too."""
    with open_ledger(app.layout.data, read_only=True) as ledger:
        last = overview_rows.find_last_turn(ledger.con)
        since = (last or datetime.now(UTC)) - timedelta(days=days)
        found = overview_rows.count_days(ledger.con, since)
        return TimelineCounts(since, last, found, queries.count_uncovered_commits(ledger.con))


def read_figures(app: App) -> StoreFigures:
    """Read the totals of a store."""
    layout = app.layout
    with open_ledger(layout.data, read_only=True) as ledger:
        con = ledger.con
        characters = overview_rows.measure_ledger_text(con)
        opened = overview_rows.count_opened(con, _MOST_OPENED)
        names = overview_rows.read_titles(con, [one for one, _ in opened])
        return StoreFigures(
            counts=queries.count_rows(con),
            linked=queries.count_linked_commits(con),
            characters=characters,
            tokens=characters // _CHARACTERS_A_TOKEN,
            data_bytes=_size_of_file(layout.data),
            index_bytes=_size_of_file(layout.index),
            vector_bytes=sum(map(_size_of_file, layout.vectors.glob("*"))),
            agents=overview_rows.count_by(con, "agent", _MOST_NAMES),
            people=overview_rows.count_by(con, "author_name", _MOST_NAMES),
            branches=overview_rows.count_by(con, "branch", _MOST_NAMES),
            opened=[OpenedSession(one, names.get(one, ""), times) for one, times in opened],
            asked=overview_rows.count_asked(con),
            uses=read_uses(layout.usage),
            sources=summarise_sources(con),
        )


def _size_of_file(path: Path) -> int:
    return path.stat().st_size if path.is_file() else 0
