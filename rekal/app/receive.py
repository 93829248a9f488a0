"""Bringing in what teammates published, for the verbs that do it by hand and for the worker."""

from __future__ import annotations

from collections.abc import Collection

from rekal.app.context import App
from rekal.app.refresh import refresh_index
from rekal.transport import fetch_stamp
from rekal.transport.receive import Received, receive


def import_arrived(app: App, remotes: Collection[str] | None = None) -> Received:
    """Import what fetches brought from all allowed remotes, or from these; the index is the caller's."""
    now = fetch_stamp.stamp(app.repo.common_dir)
    received = receive(app.layout, app.repo, app.config.transport.remotes if remotes is None else remotes)
    if remotes is None:
        fetch_stamp.imported(app.layout.run, now)
    return received


def has_news(app: App) -> bool:
    """Whether a fetch may have brought something since the last import."""
    last = fetch_stamp.stamp(app.repo.common_dir)
    return bool(app.config.transport.remotes) and fetch_stamp.unread(app.layout.run, last)


def index_received(app: App, received: Received) -> None:
    """Bring the index up to what was received: added to where that is enough, built anew where something went."""
    gone = received.imported.erased + received.imported.displaced
    if received.changed or gone:
        refresh_index(app, full=bool(gone))
