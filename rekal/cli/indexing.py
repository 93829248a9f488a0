"""Keeping the index up to date, for the verbs that have just changed the ledger."""

from __future__ import annotations

from rekal.cli.app import App
from rekal.index.build import Indexed, update
from rekal.index.vectors import prune
from rekal.store.ledger import open_ledger
from rekal.store.locks import exclusive


def refresh_index(app: App, *, full: bool = False, wait: float = 60.0) -> Indexed:
    """Bring index.db up to the ledger, or build it anew. Raises the store's errors; the old index then stays."""
    lock = exclusive(app.layout.index_lock, wait=wait, purpose="indexing")
    with lock, open_ledger(app.layout.data, read_only=True, wait=wait) as ledger:
        done = update(ledger, app.layout.index, full=full)
    if done.full:
        prune(app.layout.index, app.layout.vectors)  # a full build is what follows when something was forgotten
    return done
