"""What waits for a person's word, with all that is needed to give it."""

from __future__ import annotations

import msgspec

from rekal.app.desk import Desk
from rekal.errors import UsageError
from rekal.memory.conflicts import Conflict, conflicts_of
from rekal.memory.grounds import GroundReader, Grounds
from rekal.memory.matchers import missing_examples
from rekal.memory.state import Memory
from rekal.memory.trial import Trial, try_examples, try_history


class ReviewItem(msgspec.Struct, frozen=True):
    """A proposed memory: what its patterns would have hit so far, what became of what it names, what it contradicts."""

    memory: Memory
    trial: Trial
    grounds: Grounds
    conflicts: list[Conflict]


def try_patterns(desk: Desk, memory: Memory) -> Trial:
    """Try a memory's patterns on its writer's proposals, the files at HEAD and the last commits; empty without any.

    Raises UsageError when there are too few proposals, or the patterns are wrong about one.
    """
    if not memory.matcher:
        return Trial()
    if lacking := missing_examples(memory.matcher):
        raise UsageError("patterns are accepted once they were tried on proposals", f"give {lacking}")
    examples = try_examples(memory, memory.matcher.hits, memory.matcher.misses)
    for one in examples:
        if not one.right:
            ought = "miss" if one.violation else "hit"
            raise UsageError(f"the patterns {ought} {one.text[:80]!r} ({one.reason})", "mend the patterns first")
    held = try_history(desk.app.repo, memory) if desk.app is not None and not memory.personal else Trial()
    return msgspec.structs.replace(held, examples=examples)


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
