"""``rekal link``."""

from __future__ import annotations

import click

from rekal.app.desk import desk_here
from rekal.app.memories import link_memories
from rekal.cli.output import emit_json, json_option, short


@click.command("link")
@click.argument("memory")
@click.argument("relation")
@click.argument("other")
@click.option("--remove", is_flag=True, help="Take the link away.")
@json_option
def command(memory: str, relation: str, other: str, remove: bool, as_json: bool) -> int:
    """Link two memories: `contradicts`, `related_to`, or any relation of your own."""
    made = link_memories(desk_here(), memory, relation, other, on=not remove)
    if as_json:
        emit_json(made)
    else:
        verb = "unlinked" if remove else "linked"
        click.echo(f"{verb}: {short(made.source)} --{made.relation}--> {short(made.target)}")
    return 0
