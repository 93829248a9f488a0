"""``rekal import``."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click

from rekal.app.desk import desk_here
from rekal.app.transfer.import_file import import_file
from rekal.app.transfer.items import ImportReport
from rekal.cli.output import json_option, print_record
from rekal.errors import FOUND, NOTHING_FOUND

_SHOWN = 10


@click.command("import")
@click.argument("path", type=click.Path(path_type=Path))
@click.option("--personal", is_flag=True, help="Into your personal store instead of the repository's.")
@json_option
def command(path: Path, personal: bool, as_json: bool) -> int:
    """Import the store of another memory program; what it is shows in its content.

    Taken are JSON lines of Anthropic's memory server, SQLite files of the rekal memory server, of mcp-memory, of
    claude-mem and of the Python recall, and folders of basic-memory. The file is only read, and importing it again adds
    nothing. What was imported counts as said by that program.
    """
    imported = import_file(desk_here(via="import"), path, personal=personal)
    print_record(imported, as_json, _import_lines, imported.problems[:_SHOWN])
    return FOUND if imported.written else NOTHING_FOUND


def _import_lines(imported: ImportReport) -> Iterator[str]:
    counts = ", ".join(f"{count} {name}" for name, count in imported.read.items()) or "nothing"
    yield f"{imported.format}: {counts} read; {imported.written} events are new, {imported.held} were here"
    if len(imported.problems) > _SHOWN:
        yield f"and {len(imported.problems) - _SHOWN} more notes (--json lists all)"
