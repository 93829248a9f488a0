"""Where a receipt goes: batches of several refs are collected and written in one transaction.

Opening and closing the ledger costs as much as importing five hundred sessions.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Protocol

import msgspec

from rekal.store import erase
from rekal.store.import_batch import Batch, Import, Imported, import_batch, note_tip
from rekal.store.layout import Layout
from rekal.store.ledger import Ledger, open_ledger
from rekal.store.locks import hold_lock
from rekal.transport.arrivals import Ref

_WAIT = 60.0
# Characters from which on the ledger is closed with one way of compressing instead of trying them all: measured for
# 60,000 turns, 0.3 s of processor time instead of 2.2 s and 6 % smaller; reading one session takes 7 ms instead of 2.
_LARGE = 4 << 20


class Budget(msgspec.Struct, frozen=True):
    """Most that one ref may cost in one receipt. Ten thousand sessions of ten turns take a hundredth of it."""

    bytes: int = 1 << 30
    frames: int = 1 << 18
    entries: int = 1 << 26
    characters: int = 1 << 32
    batch: int = 24 << 20  # characters that go in at once


class Arriving(Protocol):
    """A ref being read, as the sink sees it."""

    ref: Ref
    imported: Imported


class Pending(msgspec.Struct, frozen=True):
    """A batch on its way in. With a ``signature`` the ref's tip is noted with it: it is all there is of the ref."""

    arrival: Arriving
    batch: Batch
    signature: str | None = None


class Sink:
    """Collects batches and writes them whenever there is enough."""

    def __init__(self, layout: Layout, budget: Budget) -> None:
        self.budget = budget
        self._layout = layout
        self._pending: list[Pending] = []
        self._weight = 0

    def put(self, pending: Pending, weight: int) -> None:
        """Take a batch of about so many characters."""
        self._pending.append(pending)
        self._weight += weight
        if self._weight >= self.budget.batch:
            self.flush()

    def flush(self) -> None:
        """Write what was collected, in one transaction."""
        pending, self._pending = self._pending, []
        large, self._weight = self._weight >= _LARGE, 0
        if not pending:
            return
        if any(one.batch.tombstones for one in pending):
            erase.want_rewrite(self._layout.run)  # noted first: a crash must not leave the text in free pages
        with self._writing(large=large) as ledger:
            for one in pending:
                ref = one.arrival.ref
                done = import_batch(Import(ledger.con, ref.origins, ledger.pos, ledger.now), one.batch)
                one.arrival.imported = one.arrival.imported.plus(done)
                if one.signature is not None:
                    note_tip(ledger.con, ref.name, ref.tip, one.signature)

    def set_tip(self, ref: Ref, tip: str, signature: str) -> None:
        """Remember up to where a ref was read."""
        with self._writing() as ledger:
            note_tip(ledger.con, ref.name, tip, signature)

    @contextmanager
    def _writing(self, *, large: bool = False) -> Iterator[Ledger]:
        with (
            hold_lock(self._layout.lock, wait=_WAIT, purpose="receiving"),
            open_ledger(self._layout.data, read_only=False, wait=_WAIT) as ledger,
        ):
            if large:
                ledger.con.execute("SET force_compression = 'zstd'")
            with ledger.transaction():
                yield ledger
