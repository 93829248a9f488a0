"""What waits for a person's word, with all that is needed to give it."""

from __future__ import annotations

import msgspec

from rekal.app.desk import Desk
from rekal.memory.conflicts import Conflict, conflicts_of
from rekal.memory.grounds import GroundReader, Grounds
from rekal.memory.state import Memory
from rekal.memory.trial import Trial, try_history


class ReviewItem(msgspec.Struct, frozen=True):
    """A proposed memory: what its patterns would have hit so far, what became of what it names, what it contradicts."""

    memory: Memory
    trial: Trial
    grounds: Grounds
    conflicts: list[Conflict]


def review_queue(desk: Desk) -> list[ReviewItem]:
    """Proposed memories that nobody ruled on, oldest first, teammates' left out: theirs is theirs to rule on."""
    held = desk.memories().all
    waiting = [one for one in held if one.state == "proposed" and one.origin == "local"]
    repo = desk.app.repo if desk.app is not None else None
    reader = GroundReader(repo) if repo is not None else None
    return [
        ReviewItem(
            one,
            try_history(repo, one) if repo is not None and not one.personal else Trial(),
            reader.look(one) if reader is not None else Grounds(),
            conflicts_of(one, held),
        )
        for one in waiting
    ]
