"""``rekal receive``."""

from __future__ import annotations

import click

from rekal.app import import_memory
from rekal.app.context import find_app
from rekal.cli.output import json_option
from rekal.cli.print_imported import print_imported


@click.command("receive")
@json_option
def command(as_json: bool) -> int:
    """Import what a plain `git fetch` or `git pull` brought.

    The background worker does this by itself. `rekal sync` fetches first.
    """
    app = find_app()
    app.require_store()
    return print_imported(import_memory.import_fetched(app), as_json=as_json)
