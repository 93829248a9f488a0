"""Timeline: sessions and commits by day, coverage, and the commits themselves. Figures: totals of the store."""

from __future__ import annotations

from collections.abc import Sequence

from rekal.app.context import read_moment
from rekal.app.overview import day_counts
from rekal.app.read_ledger import read_log
from rekal.store.commit_rows import LogFilter
from rekal.store.overview.overview_rows import DayCount
from rekal.web import plots
from rekal.web.pages.asked import Asked, PageView, Route
from rekal.web.render import with_query

_PERIODS = (30, 90, 365, 3650)  # days
_COMMITS = 25  # a page
_DAYS = 30  # rows of the table of days
_MOST_BARS = 120


def _timeline_page(asked: Asked) -> PageView:
    app = asked.place.app()
    days = asked.number("days", 90)
    days = days if days in _PERIODS else 90
    counts = day_counts.count_timeline(app, days)
    chosen = {name: asked.word(name) for name in ("author", "agent", "until")}
    wanted = LogFilter(
        author=chosen["author"] or None, agent=chosen["agent"] or None,
        until=read_moment(app, chosen["until"] or None, end=True),
    )  # fmt: skip
    log = read_log(app, _COMMITS, wanted)
    oldest = next((one.committed_at for one in reversed(log.checkpoints) if one.committed_at), None)
    older = with_query("/timeline", days=days, **{**chosen, "until": oldest.isoformat()}) if oldest else ""
    shown = _by_week(counts.days) if len(counts.days) > _MOST_BARS else counts.days
    labels = [one.day for one in shown]
    fields = {
        "section": "timeline", "title": "Timeline", "days": days, "periods": _PERIODS, "counts": counts,
        "table": counts.days[::-1][:_DAYS], "hidden_days": max(0, len(counts.days) - _DAYS), "chosen": chosen,
        "turns": plots.plot_bars(labels, [("turns", [one.turns for one in shown])]),
        "commits": plots.plot_bars(labels, [("with a session", [one.linked for one in shown]),
                                      ("without", [one.unlinked for one in shown])]),
        "linked": sum(one.linked for one in counts.days), "unlinked": sum(one.unlinked for one in counts.days),
        "log": log.checkpoints, "older": older if log.truncated else "",
        "newer": with_query("/timeline", days=days, author=chosen["author"], agent=chosen["agent"])
        if chosen["until"] else "",
    }  # fmt: skip
    return PageView("timeline.html", fields)


def _by_week(days: Sequence[DayCount]) -> list[DayCount]:
    """Join days so that a bar can still be seen: as many in a row as it takes."""
    size = -(-len(days) // _MOST_BARS)
    groups = [days[at : at + size] for at in range(0, len(days), size)]
    counts = ("sessions", "turns", "linked", "unlinked")
    return [DayCount(group[0].day, *(sum(getattr(d, name) for d in group) for name in counts)) for group in groups]


def _figures_page(asked: Asked) -> PageView:
    found = day_counts.read_figures(asked.place.app())
    asked_days = found.asked[-90:]
    plot = plots.plot_bars(
        [one.day for one in asked_days],
        [("answered", [one.answered for one in asked_days]), ("opened", [one.opened for one in asked_days])],
    )
    fields = {"section": "stats", "title": "Stats", "f": found, "asked": asked_days, "plot_": plot}
    return PageView("figures.html", fields)


ROUTES: tuple[Route, ...] = (
    ("GET", "/timeline", _timeline_page),
    ("GET", "/stats", _figures_page),
)
