"""``rekal index``."""

from __future__ import annotations

from collections.abc import Iterator

import click

from rekal.app.context import find_app
from rekal.cli.output import json_option, print_note, print_record
from rekal.index.build import Indexed, refresh_index


@click.command("index")
@click.option("--full", is_flag=True, help="Build it from nothing instead of adding what is new.")
@json_option
def command(full: bool, as_json: bool) -> None:
    """Bring the index up to the ledger.

    Captures do this by themselves; run it after restoring data.db or when `rekal status` says the index is behind.
    """
    app = find_app()
    app.require_store()
    print_record(refresh_index(app.layout, app.repo, app.scrub, print_note, full=full), as_json, _lines)


def _lines(done: Indexed) -> Iterator[str]:
    why = f" ({done.reason})" if done.reason else ""
    yield f"index {'built' if done.full else 'updated'}{why}: {done.turns} turns of {done.sessions} sessions"
