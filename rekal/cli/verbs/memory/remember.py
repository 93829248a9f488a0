"""``rekal remember``."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import click

from rekal.app import memories
from rekal.app.context import parse_age
from rekal.app.desk import desk_here
from rekal.app.memories import NewMemory
from rekal.app.memory_views import find_source
from rekal.cli.memory_output import memory_options, parse_moment, remembered_lines
from rekal.cli.output import json_option, print_record
from rekal.errors import UsageError
from rekal.memory.events import MEMORY_TYPES, Scope
from rekal.memory.matchers import matcher_from


def write_memory(text: tuple[str, ...], type_: str, said: dict[str, Any]) -> int:
    """Remember what the options of :func:`rekal.cli.memory_output.memory_options`, and those of matchers, say."""
    matcher = matcher_from(*(said.pop(name, ()) for name in ("when", "words", "need", "unless")))
    tried = {name: said.pop(name, ()) for name in ("violations", "near_misses")}
    desk, cited = desk_here(), said.pop("source")
    again, as_json = said.pop("again"), said.pop("as_json")
    new = NewMemory(
        " ".join(text),
        type_,  # type: ignore[arg-type]
        scope=Scope(said.pop("scopes"), said.pop("branch")),
        valid_from=parse_moment(said.pop("valid_from")),
        valid_until=parse_moment(said.pop("valid_until"), end=True),
        ttl=_parse_ttl(said.pop("ttl")),
        matcher=matcher or None,
        source=find_source(desk, cited) if cited else None,
        **said,
    )
    answer = memories.remember(desk, new, again=again, **tried)
    print_record(answer, as_json, remembered_lines)
    return 0


@click.command("remember")
@click.argument("text", nargs=-1)
@click.option("--type", "type_", type=click.Choice(MEMORY_TYPES), default="note", show_default=True, help="Its kind.")
@memory_options
@json_option
def command(text: tuple[str, ...], type_: str, **said: Any) -> int:
    """Keep something somebody should know later.

    What a person says is accepted, what an agent says is proposed until a person accepts it (`rekal review`). It is
    scrubbed like a transcript, stays in this clone unless shared, and `rekal forget ID` removes it for good.
    """
    return write_memory(text, type_, said)


_HOUR = timedelta(hours=1)


def _parse_ttl(text: str | None) -> float | None:
    """``24h``, ``30d``, ``1y`` in seconds. Raises :class:`UsageError`."""
    if text is None:
        return None
    low = text.strip().lower()
    if low.endswith("h") and low[:-1].isdecimal() and len(low) < 8:
        return (int(low[:-1]) * _HOUR).total_seconds()
    try:
        return parse_age(text).total_seconds()
    except (UsageError, OverflowError):
        raise UsageError(f"{text[:40]} is no time to live", "write 24h, 30d or 1y") from None
