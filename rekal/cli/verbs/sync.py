"""``rekal sync``."""

from __future__ import annotations

import click

from rekal.app import import_memory
from rekal.app.context import find_app
from rekal.cli.output import json_option
from rekal.cli.verbs.receive import print_imported
from rekal.errors import STORE_UNUSABLE


@click.command("sync")
@click.option("--remote", help="Only from this remote.")
@json_option
def command(remote: str | None, as_json: bool) -> int:
    """Fetch teammates' memory now and import it.

    The refs come from the remotes that `rekal share` allowed; nothing is sent. A `git fetch` from them brings the same.
    """
    app = find_app()
    app.require_store()
    answer = import_memory.fetch_memory(app, remote)
    code = print_imported(answer, as_json=as_json)
    return code if answer.fetched else STORE_UNUSABLE
