"""Bringing in what teammates published, for the verbs that do it by hand and for the worker."""

from __future__ import annotations

from collections.abc import Collection

import click
import msgspec

from rekal.cli.app import App
from rekal.cli.indexing import refresh_index
from rekal.cli.output import emit_json
from rekal.errors import FOUND, NOTHING_FOUND
from rekal.transport import news
from rekal.transport.receive import Received, receive


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


def import_arrived(app: App, remotes: Collection[str] | None = None) -> Received:
    """Import what fetches brought from all allowed remotes, or from these; the index is the caller's."""
    now = news.stamp(app.repo.common_dir)
    received = receive(app.layout, app.repo, app.config.transport.remotes if remotes is None else remotes)
    if remotes is None:
        news.imported(app.layout.run, now)
    return received


def has_news(app: App) -> bool:
    """Whether a fetch may have brought something since the last import."""
    return bool(app.config.transport.remotes) and news.unread(app.layout.run, news.stamp(app.repo.common_dir))


def index_received(app: App, received: Received) -> None:
    """Bring the index up to what was received: added to where that is enough, built anew where something went."""
    gone = received.imported.erased + received.imported.displaced
    if received.changed or gone:
        refresh_index(app, full=bool(gone))


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
