"""``rekal receive``."""

from __future__ import annotations

from collections.abc import Iterator

import click

from rekal.app import import_memory
from rekal.app.context import find_app
from rekal.app.import_memory import ImportedMemory
from rekal.cli.output import count_of, json_option, print_record
from rekal.errors import FOUND, NOTHING_FOUND

# Printing the result of an import from teammates, for the two verbs that import.


def print_imported(answer: ImportedMemory, *, as_json: bool) -> int:
    """Print an import and return the exit code of its verb."""
    print_record(answer, as_json, _lines, answer.notes)
    return FOUND if answer.refs else NOTHING_FOUND


def _lines(a: ImportedMemory) -> Iterator[str]:
    if not a.refs:
        yield "nothing new"
        return
    gone = f"; {a.forgotten} things taken out that their owners forgot" if a.forgotten else ""
    sessions = f"{count_of(a.sessions, 'session')} with {count_of(a.turns, 'turn')}"
    yield f"{sessions} and {count_of(a.checkpoints, 'commit')} from {count_of(a.refs, 'ref')}{gone}"


@click.command("receive")
@json_option
def command(as_json: bool) -> int:
    """Import what a plain `git fetch` or `git pull` brought.

    The background worker does this by itself. `rekal sync` fetches first.
    """
    app = find_app()
    app.require_store()
    return print_imported(import_memory.import_fetched(app), as_json=as_json)
