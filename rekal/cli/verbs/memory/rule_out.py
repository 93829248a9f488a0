"""``rekal rule-out``."""

from __future__ import annotations

from typing import Any

import click

from rekal.cli.memory_output import Command, memory_options
from rekal.cli.output import json_option
from rekal.cli.verbs.memory.remember import write_memory

_PATTERNS = (
    click.option(
        "--when", multiple=True, metavar="REGEX", help="Code of it: an import, a command, a dependency, a name."
    ),
    click.option("--word", "words", multiple=True, metavar="REGEX", help="Words for it: names, kin, its effect."),
    click.option("--need", multiple=True, metavar="REGEX", help="Must stand beside them to be certain."),
    click.option("--unless", multiple=True, metavar="REGEX|GLOB", help="The alternative's names, or files it allows."),
    click.option("--hits", "violations", multiple=True, metavar="TEXT", help="A proposal its patterns must hit."),
    click.option("--misses", "near_misses", multiple=True, metavar="TEXT", help="A proposal they must leave alone."),
)


def matcher_options(command: Command) -> Command:
    """The patterns of a memory, and examples to try them on."""
    for option in reversed(_PATTERNS):
        command = option(command)
    return command


@click.command("rule-out")
@click.argument("approach", nargs=-1)
@click.option("--instead", help="What to do instead.")
@matcher_options
@memory_options
@json_option
def command(approach: tuple[str, ...], **said: Any) -> int:
    """Rule an approach out, so that nobody proposes it again.

    Without patterns `rekal check` only says CONSULT. With them it says RULED-OUT where one holds: give the imports,
    commands and names of it (--when), words for it (--word), two proposals that they must hit (--hits) and two that
    come near and are fine (--misses).
    """
    return write_memory(approach, "dead_end", said)
