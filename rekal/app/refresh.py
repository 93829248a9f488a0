"""Keeping the index up to date, for the verbs that have just changed the ledger."""

from __future__ import annotations

from collections.abc import Callable

from rekal.app.context import App
from rekal.index.build import Indexed, replace_index, update_index
from rekal.index.freshness import KNOWLEDGE, head_tree, read_index_state
from rekal.index.knowledge import knowledge_part, refresh_knowledge
from rekal.index.vectors import prune_vectors
from rekal.store.layout import Layout
from rekal.store.ledger import Ledger, open_ledger
from rekal.store.locks import hold_lock
from rekal.store.ownership.catalogue import note_own_file


def refresh_index(app: App, warn: Callable[[str], None], *, full: bool = False, wait: float = 60.0) -> Indexed:
    """Bring index.db up to the ledger, or build it anew. Raises the store's errors; the old index then stays.

    ``warn`` gets a sentence when the tracked prose could not be indexed.
    """
    lock = hold_lock(app.layout.index_lock, wait=wait, purpose="indexing")
    with lock, open_ledger(app.layout.data, read_only=True, wait=wait) as ledger:
        knowledge = knowledge_part(app.repo, app.scrubber.text, warn)
        done = update_index(ledger, app.layout.index, full=full, parts=[knowledge])
        _follow_head(app, ledger, warn)
        note_own_file(app.layout.index, app.layout.run)
    if done.full:
        # A full build is what follows when something was forgotten.
        prune_vectors(app.layout.index, app.layout.vectors)
    return done


def _follow_head(app: App, ledger: Ledger, warn: Callable[[str], None]) -> None:
    """Index the prose of a HEAD that moved while nothing new was captured."""
    tree = head_tree(app.repo)
    if read_index_state(ledger.con, app.layout.index).get(KNOWLEDGE) != tree:
        with replace_index(ledger, app.layout.index, copy=True) as con:
            refresh_knowledge(con, app.repo, tree, app.scrubber.text, warn)


def refresh_documents(layout: Layout, *, changed: bool, wait: float = 60.0) -> None:
    """Bring the index of documents up to their ledger. ``changed``: something was taken out, so vectors may be stale.

    Raises the store's errors; the old index then stays.
    """
    with (
        hold_lock(layout.index_lock, wait=wait, purpose="indexing"),
        open_ledger(layout.data, read_only=True, wait=wait) as ledger,
    ):
        update_index(ledger, layout.index)
    if changed:
        prune_vectors(layout.index, layout.vectors)
