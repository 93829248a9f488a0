"""``rekal supersede``."""

from __future__ import annotations

import click

from rekal.app import memories
from rekal.app.desk import desk_here
from rekal.app.memories import NewMemory
from rekal.app.memory_views import find_source
from rekal.cli.memory_output import parse_moment, remembered_lines
from rekal.cli.output import json_option, print_record


@click.command("supersede")
@click.argument("memory")
@click.argument("text", nargs=-1)
@click.option("--because", help="The reason.")
@click.option("--instead", help="For a ruled-out approach: what to do instead.")
@click.option("--note", help="Why the old one is replaced.")
@click.option("--valid-from", help="From when on the new one holds; else from now.")
@click.option("--from", "source", metavar="ID:TURN|COMMIT|FILE", help="What it rests on; else the current session.")
@json_option
def command(
    memory: str, text: tuple[str, ...], because: str | None, instead: str | None, note: str | None,
    valid_from: str | None, source: str | None, as_json: bool,
) -> int:  # fmt: skip
    """Replace a memory by a new one. The old one stays in the log, closed at that time and linked to the new one."""
    desk = desk_here()
    new = NewMemory(
        " ".join(text),
        because=because,
        instead=instead,
        valid_from=parse_moment(valid_from),
        source=find_source(desk, source) if source else None,
    )
    answer = memories.supersede(desk, memory, new, note)
    print_record(answer, as_json, remembered_lines)
    return 0
