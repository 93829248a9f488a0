"""Print what an import from teammates brought."""

from __future__ import annotations

import click
import msgspec

from rekal.cli.output import emit_json
from rekal.errors import FOUND, NOTHING_FOUND
from rekal.transport.receive import Received


class ReceivedAnswer(msgspec.Struct, frozen=True):
    """What ``sync --json`` and ``receive --json`` print.

    ``refs`` had news; ``forgotten`` counts what was taken out because its owner forgot it; ``notes`` say what was left
    out and why.
    """

    fetched: list[str]
    refs: int
    sessions: int
    turns: int
    checkpoints: int
    memories: int
    forgotten: int
    notes: list[str]


def report(received: Received, fetched: list[str], notes: list[str], *, as_json: bool) -> int:
    """Print what was received; the exit code."""
    i = received.imported
    said = [*notes, *received.notes]
    if as_json:
        emit_json(ReceivedAnswer(fetched, received.refs, i.sessions, i.turns, i.checkpoints, i.events, i.erased, said))
    else:
        for note in said:
            click.echo(f"rekal: {note}", err=True)
        click.echo(received.sentence() if received.refs else "nothing new")
    return FOUND if received.refs else NOTHING_FOUND
