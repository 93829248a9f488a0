"""``rekal export``."""

from __future__ import annotations

import click

from rekal.app.desk import desk_here
from rekal.app.transfer.export_log import FORMATS, export_log
from rekal.cli.output import print_export
from rekal.errors import FOUND


@click.command("export")
@click.option("--format", "format_", type=click.Choice(sorted(FORMATS)), default="jsonl", show_default=True)
@click.option("--personal", is_flag=True, help="Your personal store instead of the repository's.")
def command(format_: str, personal: bool) -> int:
    """Print memories for others to read.

    events: the log as it is, a line an event. jsonl: memories with their state, a line each. markdown: those that hold.
    anthropic: the knowledge graph as Anthropic's memory server writes it, byte for byte what was imported from there.
    """
    print_export(export_log(desk_here(via="cli"), format_, personal=personal))
    return FOUND
