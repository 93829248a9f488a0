"""``rekal index``."""

from __future__ import annotations

import click

from rekal.app.context import here
from rekal.app.refresh import refresh_index
from rekal.cli.output import emit_json, json_option


@click.command("index")
@click.option("--full", is_flag=True, help="Build it from nothing instead of adding what is new.")
@json_option
def command(full: bool, as_json: bool) -> None:
    """Bring the index up to the ledger.

    Captures do this by themselves; run it after restoring data.db or when `rekal status` says the index is behind.
    """
    app = here()
    app.require_store()
    done = refresh_index(app, full=full)
    if as_json:
        emit_json(done)
        return
    why = f" ({done.reason})" if done.reason else ""
    click.echo(f"index {'built' if done.full else 'updated'}{why}: {done.turns} turns of {done.sessions} sessions")
