"""Memory's traffic: the remotes that it may go to, what left for them, what came from teammates."""

from __future__ import annotations

import msgspec

from rekal.app.context import App
from rekal.store.commit_rows import Push, list_pushes
from rekal.store.ledger import open_ledger
from rekal.store.overview import overview_rows
from rekal.store.overview.overview_rows import OriginCount


class SharedRemote(msgspec.Struct, frozen=True):
    """A remote that memory may go to or come from."""

    name: str
    url: str


class Exchange(msgspec.Struct, frozen=True):
    """The traffic of a clone. ``mode`` is ``full``, ``distilled`` or ``none``; departures are newest first.

    ``unsent`` counts commits with sessions that never left.
    """

    mode: str
    mainline: str | None
    remotes: list[SharedRemote]
    left: list[Push]
    departures: int
    came: list[OriginCount]
    unsent: int


def read_exchange(app: App, limit: int) -> Exchange:
    """Read the traffic, the last ``limit`` departures of it."""
    transport = app.config.transport
    with open_ledger(app.layout.data, read_only=True) as ledger:
        pushes = list(list_pushes(ledger.con))
        came, unsent = overview_rows.count_origins(ledger.con), overview_rows.count_unsent(ledger.con)
    remotes = [SharedRemote(name, url) for name, url in sorted(transport.remotes.items())]
    return Exchange(transport.share, transport.mainline, remotes, pushes[:limit], len(pushes), came, unsent)
