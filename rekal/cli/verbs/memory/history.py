"""``rekal history``."""

from __future__ import annotations

import click

from rekal.app.desk import desk_here
from rekal.app.memories import LogEntry, MemoryHistory, memory_history
from rekal.cli.memory_output import memory_row
from rekal.cli.output import emit_json, json_option, minute, one_line, short


def entry_row(entry: LogEntry) -> str:
    """One event of the log on one line."""
    who = f"{one_line(entry.actor, 40)} ({entry.actor_type})"
    whose = "personal" if entry.personal else "" if entry.origin == "local" else f"from {entry.origin}"
    said = one_line(bytes(entry.payload).decode("utf-8", "replace"), 200)
    return f"{minute(entry.recorded_at)}  {short(entry.memory_id)}  {entry.kind:<10}  {who}  {whose}  {said}"


@click.command("history")
@click.argument("memory")
@json_option
def command(memory: str, as_json: bool) -> int:
    """All that ever happened to a memory: who said, accepted, changed or replaced it, when and through what."""
    answer = memory_history(desk_here(), memory)
    if as_json:
        emit_json(answer)
    else:
        _print(answer)
    return 0


def _print(answer: MemoryHistory) -> None:
    click.echo(memory_row(answer.memory))
    for entry in answer.events:
        click.echo(f"  {entry_row(entry)}")
    for link in answer.links:
        click.echo(f"  link {short(link.source)} --{link.relation}--> {short(link.target)}")
    if len(answer.chain) > 1:
        click.echo(f"  replaced: {' -> '.join(map(short, answer.chain))}")
    for ruling in answer.memory.rulings:
        if not ruling.counts:
            click.echo(f"  {ruling.actor} ({ruling.origin}) ruled otherwise: {ruling.kind}, {ruling.note or 'no note'}")
