"""``rekal memories``."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import click

from rekal.app import memories
from rekal.app.desk import desk_here, place_of_desk
from rekal.app.memories import Listed, MemoryQuery
from rekal.cli.memory_output import memory_row, parse_moment
from rekal.cli.output import json_option, print_record
from rekal.errors import FOUND, NOTHING_FOUND
from rekal.memory.events import MEMORY_TYPES
from rekal.memory.scope import Place
from rekal.memory.state import STATES


@click.command("memories")
@click.option("--state", "states", multiple=True, type=click.Choice([*STATES, "all"]), help="Else those that hold.")
@click.option("--type", "types", multiple=True, type=click.Choice(MEMORY_TYPES), help="Only of this type.")
@click.option("--tag", "tags", multiple=True, help="Only with this tag.")
@click.option("--scope", "path", metavar="PATH", help="Only what holds for this file.")
@click.option("--text", help="Only with this text, whatever the case.")
@click.option("--project", help="Only with this label.")
@click.option("--personal/--repository", default=None, help="Only of that store.")
@click.option("--as-of", "as_of", help="As the world was then.")
@click.option("--known-at", "known_at", help="As the store knew it then.")
@click.option("-n", "--limit", type=click.IntRange(0), default=50, show_default=True, help="Memories at most.")
@click.option("--everywhere", is_flag=True, help="Also what holds on other branches alone.")
@json_option
def command(
    states: tuple[str, ...], as_of: str | None, known_at: str | None, everywhere: bool, as_json: bool, **where: Any
) -> int:
    """List memories, newest first: without --state those that hold now, or at the time asked for."""
    desk = desk_here()
    wanted = STATES if "all" in states else states
    query = MemoryQuery(
        states=wanted,  # type: ignore[arg-type]
        as_of=parse_moment(as_of, end=True),
        known_at=parse_moment(known_at, end=True),
        place=Place() if everywhere else place_of_desk(desk),
        **where,
    )
    answer = memories.list_memories(desk, query)
    print_record(answer, as_json, _lines)
    return FOUND if answer.total else NOTHING_FOUND


def _lines(answer: Listed) -> Iterator[str]:
    yield from map(memory_row, answer.memories)
    if answer.total > len(answer.memories):
        yield f"({answer.total - len(answer.memories)} older ones left out; -n {answer.total} shows them)"
    if answer.elsewhere:
        yield f"({answer.elsewhere} more hold on other branches alone; --everywhere lists them)"
    if answer.unreadable:
        yield f"({answer.unreadable} events of the log could not be used)"
    if not answer.total:
        yield "(no memories)"
