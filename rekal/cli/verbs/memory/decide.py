"""``rekal decide``."""

from __future__ import annotations

from typing import Any

import click

from rekal.cli.memory_output import memory_options
from rekal.cli.output import json_option
from rekal.cli.verbs.memory.remember import write_memory
from rekal.cli.verbs.memory.rule_out import matcher_options


@click.command("decide")
@click.argument("decision", nargs=-1)
@matcher_options
@memory_options
@json_option
def command(decision: tuple[str, ...], **said: Any) -> int:
    """Record a decision, to be consulted by `rekal check` and shown by `rekal recall`.

    Patterns tell what going against it looks like.
    """
    return write_memory(decision, "decision", said)
