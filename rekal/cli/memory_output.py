"""Memories as lines for a person, and the options that several verbs share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any, TypeVar

import click

from rekal.app.context import parse_age
from rekal.app.memories import Remembered
from rekal.cli.output import format_day, format_source, one_line, short_id
from rekal.errors import UsageError
from rekal.memory.state import Memory
from rekal.model import CitedMemory

Command = TypeVar("Command", bound=Callable[..., Any])

_LABELS = {"dead_end": "RULED-OUT", "decision": "DECIDED"}


def label_of(memory: Memory) -> str:
    """``RULED-OUT``, ``DECIDED`` or ``NOTED``."""
    return _LABELS.get(memory.type, "NOTED")


def memory_row(memory: Memory, grounds: str = "") -> str:
    """One memory on one line: what, id, when, who, how it stands, where it holds."""
    place = ", ".join((*memory.scope.paths, *((f"branch {memory.scope.branch}",) if memory.scope.branch else ())))
    marks = [
        memory.type if label_of(memory) == "NOTED" else "",
        memory.state,
        "personal" if memory.personal else "" if memory.origin == "local" else f"from {memory.origin}",
        f"scope {place}" if place else "",
        grounds,
        f"by {memory.superseded_by[:10]}" if memory.state == "superseded" and memory.superseded_by else "",
    ]
    said = f'"{one_line(memory.text, 300)}"'
    said += f" because {one_line(memory.because, 300)}" if memory.because else ""
    said += f"; instead: {one_line(memory.instead, 200)}" if memory.instead else ""
    cited = f"  [{one_line(format_source(memory.source), 60)}]" if memory.source else ""
    head = f"{label_of(memory)} {short_id(memory.id)}  {format_day(memory.occurred_at)}  {one_line(memory.actor, 40)}"
    return f"{head}  {', '.join(mark for mark in marks if mark)}  {said}{cited}"


def cited_row(memory: CitedMemory) -> str:
    """A memory beside the turn or commit that it cites, on one line."""
    because = f" because {one_line(memory.because, 160)}" if memory.because else ""
    head = f"{memory.label} {short_id(memory.id)}  {one_line(memory.actor, 40)}, {memory.state}"
    return f'{head}  "{one_line(memory.text, 200)}"{because}'


def remembered_lines(answer: Remembered) -> Iterator[str]:
    """Lines for a memory that was written: itself, what it goes against, how its patterns did."""
    yield memory_row(answer.memory)
    for conflict in answer.conflicts:
        yield f"  conflict, {conflict.why}: {memory_row(conflict.second)}"
    for one in answer.examples:
        wanted = "should hit" if one.violation else "should not hit"
        yield f'  {"ok  " if one.right else "FAIL"} {wanted}: "{one_line(one.text, 100)}" ({one.reason})'
    for note in answer.notes:
        yield f"  {note}"


def parse_moment(text: str | None, *, end: bool = False) -> datetime | None:
    """A date or time as somebody writes it; a date alone is its beginning, or its end. Raises :class:`UsageError`."""
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text.strip())
        if len(text.strip()) <= 10 and end:
            found = found.replace(hour=23, minute=59, second=59, microsecond=999999)
        # The system's zone is not known for the first and last days of the calendar.
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError):
        pass
    try:
        return datetime.now(UTC) - parse_age(text)
    except (UsageError, OverflowError):
        raise UsageError(
            f"{text[:40]} is not a date", "write 2026-03-01 or 2026-03-01T10:00Z, or an age as 30d"
        ) from None


def memory_options(command: Command) -> Command:
    """Add the options that any memory which is written can have."""
    for option in reversed(_WRITTEN):
        command = option(command)
    return command


_WRITTEN = (
    click.option("--because", help="The reason."),
    click.option("--scope", "scopes", multiple=True, metavar="GLOB", help="Where it holds: a path or glob."),
    click.option("--branch", help="It holds on this branch until the branch is merged."),
    click.option("--tag", "tags", multiple=True, help="A tag."),
    click.option("--subject", help="What it is about, in a few words: two decisions on one subject conflict."),
    click.option("--valid-from", help="From when on it holds in the world; else from now."),
    click.option("--until", "valid_until", help="Until when it holds."),
    click.option("--ttl", help="For how long it holds: 24h, 30d, 1y."),
    click.option("--project", help="A label inside the store."),
    click.option("--from", "source", metavar="ID:TURN|COMMIT|FILE", help="What it rests on; else the current session."),
    click.option("--personal", is_flag=True, help="Into the person's own store: it never travels."),
    click.option("--share", "shared", is_flag=True, help="It may travel once accepted and its commit is merged."),
    click.option("--again", is_flag=True, help="Also when the same is remembered already."),
)
