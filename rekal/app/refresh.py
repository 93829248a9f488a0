"""Keeping the index up to date, for the verbs that have just changed the ledger."""

from __future__ import annotations

import click

from rekal.app.context import App
from rekal.index.build import Indexed, replace_index, update_index
from rekal.index.freshness import KNOWLEDGE, head_tree, read_index_state
from rekal.index.knowledge import knowledge_part, refresh_knowledge
from rekal.index.vectors import prune_vectors
from rekal.store.ledger import Ledger, open_ledger
from rekal.store.locks import hold_lock


def refresh_index(app: App, *, full: bool = False, wait: float = 60.0) -> Indexed:
    """Bring index.db up to the ledger, or build it anew. Raises the store's errors; the old index then stays."""
    lock = hold_lock(app.layout.index_lock, wait=wait, purpose="indexing")
    with lock, open_ledger(app.layout.data, read_only=True, wait=wait) as ledger:
        knowledge = knowledge_part(app.repo, app.scrubber.text, _warn)
        done = update_index(ledger, app.layout.index, full=full, parts=[knowledge])
        _follow_head(app, ledger)
    if done.full:
        prune_vectors(app.layout.index, app.layout.vectors)  # a full build is what follows when something was forgotten
    return done


def _warn(message: str) -> None:
    click.echo(f"rekal: {message}", err=True)


def _follow_head(app: App, ledger: Ledger) -> None:
    """Index the prose of a HEAD that moved while nothing new was captured."""
    tree = head_tree(app.repo)
    if read_index_state(ledger.con, app.layout.index).get(KNOWLEDGE) != tree:
        with replace_index(ledger, app.layout.index, copy=True) as con:
            refresh_knowledge(con, app.repo, tree, app.scrubber.text, _warn)
