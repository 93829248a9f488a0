"""``rekal version``."""

from __future__ import annotations

import click

from rekal import __version__
from rekal.cli.output import print_line


@click.command("version")
def command() -> None:
    """Print the version."""
    print_line(f"rekal {__version__}")
