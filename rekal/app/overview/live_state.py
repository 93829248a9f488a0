"""The state of a store as a page that is open asks for it every few seconds: without opening a database.

A reader of the ledger keeps writers waiting, and a lock that is tried for a moment looks taken to whoever tries it
then.
"""

from __future__ import annotations

import hashlib
from pathlib import Path

import msgspec

from rekal.app.context import App
from rekal.store import spool
from rekal.store.layout import backfill_asked_for


class LiveState(msgspec.Struct, frozen=True):
    """``mark`` changes whenever the ledger, the index or the spool does. ``waiting`` counts events of the spool.

    ``importing``: past transcripts are being read.
    """

    mark: str
    waiting: int
    importing: bool

    @property
    def sentence(self) -> str:
        """The state in a few words; empty when nothing goes on."""
        if self.importing:
            return "past transcripts are being imported"
        return f"{self.waiting} event{'s' * (self.waiting != 1)} waiting for the worker" if self.waiting else ""


def read_live_state(app: App) -> LiveState:
    """Read the state of the store of ``app`` from its files' times and sizes."""
    layout = app.layout
    log = layout.data.with_name(f"{layout.data.name}.wal")
    waiting, _ = spool.count_events(layout.spool)
    parts = [*map(_stamp, (layout.data, log, layout.index)), str(waiting)]
    mark = hashlib.sha256(" ".join(parts).encode()).hexdigest()[:16]
    return LiveState(mark, waiting, backfill_asked_for(layout.run) is not None)


def _stamp(path: Path) -> str:
    try:
        found = path.stat()
    except OSError:
        return "-"
    return f"{found.st_ino}.{found.st_mtime_ns}.{found.st_size}"
