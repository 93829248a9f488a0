"""Memories that may travel: accepted, released by their owner, made at a commit of the repository."""

from __future__ import annotations

from collections import defaultdict
from datetime import UTC, datetime

from rekal.memory.state import fold
from rekal.model import LOCAL, MemoryEvent
from rekal.store.database import Connection
from rekal.store.memory_log import read_events
from rekal.transport.outgoing import Claim


def claims_of(con: Connection, *, share_all: bool) -> list[Claim]:
    """This clone's own memories with a commit, each with its events. With ``share_all`` every accepted one is free.

    A teammate's memory is the teammate's to send, and so is what was ruled on it here: it stays.
    """
    events = read_events(con)
    own: dict[str, list[MemoryEvent]] = defaultdict(list)
    for event in events:
        if event.origin == LOCAL:
            own[event.memory_id].append(event)
    return [
        Claim(one.id, one.commit, one.state == "accepted" and (one.shared or share_all), tuple(own[one.id]))
        for one in fold(events, datetime.now(UTC)).all
        if one.origin == LOCAL and one.commit is not None and not one.personal
    ]
