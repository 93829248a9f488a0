"""Printing the result of an import from teammates, for the two verbs that import."""

from __future__ import annotations

from collections.abc import Iterator

from rekal.app.import_memory import ImportedMemory
from rekal.cli.output import count_of, print_record
from rekal.errors import FOUND, NOTHING_FOUND


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
