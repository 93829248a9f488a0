"""``rekal link``."""

from __future__ import annotations

import click

from rekal.app import memories
from rekal.app.desk import desk_here
from rekal.cli.output import json_option, print_record, short_id


@click.command("link")
@click.argument("memory")
@click.argument("relation")
@click.argument("other")
@click.option("--remove", is_flag=True, help="Take the link away.")
@json_option
def command(memory: str, relation: str, other: str, remove: bool, as_json: bool) -> int:
    """Link two memories: `contradicts`, `related_to`, or any relation of your own."""
    made = memories.link_memories(desk_here(), memory, relation, other, on=not remove)
    verb = "unlinked" if remove else "linked"
    print_record(
        made, as_json, lambda link: [f"{verb}: {short_id(link.source)} --{link.relation}--> {short_id(link.target)}"]
    )
    return 0
