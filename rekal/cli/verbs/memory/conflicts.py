"""``rekal conflicts``."""

from __future__ import annotations

from collections.abc import Iterator

import click
import msgspec

from rekal.app import memories
from rekal.app.desk import desk_here
from rekal.cli.memory_output import memory_row
from rekal.cli.output import json_option, one_line, print_record
from rekal.errors import FOUND, NOTHING_FOUND
from rekal.memory.conflicts import Conflict


class ConflictsAnswer(msgspec.Struct, frozen=True):
    """The record that ``conflicts --json`` prints."""

    conflicts: list[Conflict]


@click.command("conflicts")
@json_option
def command(as_json: bool) -> int:
    """Memories that speak against each other, and those on which two people ruled differently.

    Nothing is resolved here: supersede, retract or reject one of them.
    """
    answer = ConflictsAnswer(memories.list_conflicts(desk_here()))
    print_record(answer, as_json, _lines)
    return FOUND if answer.conflicts else NOTHING_FOUND


def _lines(answer: ConflictsAnswer) -> Iterator[str]:
    for one in answer.conflicts:
        yield from _conflict_lines(one)
    if not answer.conflicts:
        yield "(no conflicts)"


def _conflict_lines(conflict: Conflict) -> Iterator[str]:
    """Both sides, and why they are one."""
    note = f" ({one_line(conflict.note, 120)})" if conflict.note else ""
    yield f"CONFLICT {conflict.why}{note}"
    yield f"  {memory_row(conflict.first)}"
    if conflict.second.id != conflict.first.id:
        yield f"  {memory_row(conflict.second)}"
