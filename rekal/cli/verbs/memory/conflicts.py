"""``rekal conflicts``."""

from __future__ import annotations

import click
import msgspec

from rekal.app import memories
from rekal.app.desk import desk_here
from rekal.cli.memory_output import print_conflict
from rekal.cli.output import json_option, print_json, print_line
from rekal.errors import FOUND, NOTHING_FOUND
from rekal.memory.conflicts import Conflict


class ConflictsAnswer(msgspec.Struct, frozen=True):
    """What ``conflicts --json`` prints."""

    conflicts: list[Conflict]


@click.command("conflicts")
@json_option
def command(as_json: bool) -> int:
    """Memories that speak against each other, and those on which two people ruled differently.

    Nothing is resolved here: supersede, retract or reject one of them.
    """
    answer = ConflictsAnswer(memories.list_conflicts(desk_here()))
    if as_json:
        print_json(answer)
    for one in [] if as_json else answer.conflicts:
        print_conflict(one)
    if not answer.conflicts and not as_json:
        print_line("(no conflicts)")
    return FOUND if answer.conflicts else NOTHING_FOUND
