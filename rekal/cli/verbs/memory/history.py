"""``rekal history``."""

from __future__ import annotations

from collections.abc import Iterator

import click

from rekal.app import memories
from rekal.app.desk import desk_here
from rekal.app.memories import LogEntry, MemoryHistory
from rekal.cli.memory_output import memory_row
from rekal.cli.output import format_minute, json_option, one_line, print_record, short_id


def entry_row(entry: LogEntry) -> str:
    """One event of the log on one line."""
    who = f"{one_line(entry.actor, 40)} ({entry.actor_type})"
    whose = "personal" if entry.personal else "" if entry.origin == "local" else f"from {entry.origin}"
    said = one_line(bytes(entry.payload).decode("utf-8", "replace"), 200)
    return f"{format_minute(entry.recorded_at)}  {short_id(entry.memory_id)}  {entry.kind:<10}  {who}  {whose}  {said}"


@click.command("history")
@click.argument("memory")
@json_option
def command(memory: str, as_json: bool) -> int:
    """All that ever happened to a memory: who said, accepted, changed or replaced it, when and through what."""
    answer = memories.memory_history(desk_here(), memory)
    print_record(answer, as_json, _history_lines)
    return 0


def _history_lines(answer: MemoryHistory) -> Iterator[str]:
    yield memory_row(answer.memory)
    for entry in answer.events:
        yield f"  {entry_row(entry)}"
    for link in answer.links:
        yield f"  link {short_id(link.source)} --{link.relation}--> {short_id(link.target)}"
    if len(answer.chain) > 1:
        yield f"  replaced: {' -> '.join(map(short_id, answer.chain))}"
    for ruling in answer.memory.rulings:
        if not ruling.counts:
            yield f"  {ruling.actor} ({ruling.origin}) ruled otherwise: {ruling.kind}, {ruling.note or 'no note'}"
