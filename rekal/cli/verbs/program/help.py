"""``rekal help``."""

from __future__ import annotations

import click

from rekal.cli.main import refuse_mistyped
from rekal.cli.output import print_block
from rekal.cli.verb_table import HIDDEN, VERBS
from rekal.errors import UsageError


@click.command("help")
@click.argument("verb", required=False)
@click.pass_context
def command(ctx: click.Context, verb: str | None) -> None:
    """Explain a verb, or list all of them."""
    root = ctx.find_root()
    if verb is None:
        print_block(root.get_help() + "\n")
        return
    found = root.command.get_command(root, verb) if isinstance(root.command, click.Group) else None
    if found is None or verb in HIDDEN:
        refuse_mistyped([verb], [name for name in VERBS if name not in HIDDEN])
        raise UsageError(f"there is no verb {verb}", "`rekal help` lists them")
    print_block(click.Context(found, info_name=verb, parent=root).get_help() + "\n")
