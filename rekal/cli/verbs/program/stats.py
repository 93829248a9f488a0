"""``rekal stats``."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import click

from rekal.app import read_status
from rekal.app.context import find_app
from rekal.app.read_status import UsageStats, WeekStats
from rekal.cli.output import json_option, print_record
from rekal.errors import FOUND, NOTHING_FOUND

_HEAD = (
    "week",
    "sessions",
    "turns",
    "commits",
    "INJECT",
    "KNOWLEDGE",
    "SILENCE",
    "tokens",
    "unasked",
    "tokens",
    "opened",
)


@click.command("stats")
@click.option("-n", "--weeks", type=click.IntRange(1), default=12, show_default=True, help="Weeks shown at most.")
@click.option("--all", "everything", is_flag=True, help="All weeks.")
@json_option
def command(weeks: int, everything: bool, as_json: bool) -> int:
    """Count by week: sessions, turns, commits, verdicts, tokens printed and given unasked.

    `opened` is sessions that were read with `rekal show`, from the capture after it on. Counted on this machine, and
    kept here: no word of a question is.
    """
    app = find_app()
    app.require_store()
    answer = read_status.read_stats(app, -1 if everything else weeks)
    print_record(answer, as_json, _lines)
    return FOUND if answer.weeks else NOTHING_FOUND


def _lines(answer: UsageStats) -> Iterator[str]:
    if not answer.weeks:
        yield "(nothing is captured or asked yet)"
        return
    rows = [_HEAD, *map(_cells, (*answer.weeks, answer.total))]
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    for row in rows:
        first, *rest = zip(row, widths, strict=True)
        yield "  ".join([f"{first[0]:{first[1]}}", *(f"{cell:>{width}}" for cell, width in rest)])
    yield f"agents: {_list_counts(answer.total.agents)}"
    if answer.total.injected:
        yield f"unasked: {_list_counts(answer.total.injected)}"


def _cells(w: WeekStats) -> tuple[str, ...]:
    verdicts = (w.verdicts.get(name, 0) for name in ("INJECT", "KNOWLEDGE", "SILENCE"))
    given = sum(w.injected.values())
    counts = (w.sessions, w.turns, w.commits, *verdicts, w.printed, given, w.injected_tokens, w.opened)
    return (w.week, *(f"{count:,}" for count in counts))


def _list_counts(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{name} {count:,}" for name, count in counts.items()) or "none"
