"""``rekal _worker``."""

from __future__ import annotations

import click

from rekal.app import work_in_background
from rekal.app.context import find_app


@click.command("_worker")
def command() -> None:
    """Drain the spool: capture, link, index. Runs detached; what it has to say goes to a log."""
    work_in_background.work_in_background(find_app())
