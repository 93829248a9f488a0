"""``rekal version``."""

from __future__ import annotations

import click

from rekal import __version__


@click.command("version")
def command() -> None:
    """Print the version."""
    click.echo(f"rekal {__version__}")
