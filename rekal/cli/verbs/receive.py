"""``rekal receive``."""

from __future__ import annotations

import click

from rekal.app.context import here
from rekal.app.receive import import_arrived, index_received
from rekal.cli.output import json_option
from rekal.cli.received import report


@click.command("receive")
@json_option
def command(as_json: bool) -> int:
    """Import what a plain `git fetch` or `git pull` brought.

    The background worker does this by itself. `rekal sync` fetches first.
    """
    app = here()
    app.require_store()
    received = import_arrived(app)
    index_received(app, received)
    return report(received, [], [], as_json=as_json)
