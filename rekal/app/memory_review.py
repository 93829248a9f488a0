"""What waits for a person's word, with all that is needed to give it."""

from __future__ import annotations

from collections.abc import Sequence

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
    reader = GroundReader(desk.app.repo) if desk.app is not None else None
    return [_make_item(desk, one, held, reader) for one in _waiting_among(held)]


def list_waiting(desk: Desk) -> list[Memory]:
    """List the memories of :func:`review_queue`, without what takes git to find out."""
    return _waiting_among(desk.memories().all)


def prepare_item(desk: Desk, memory: Memory) -> ReviewItem:
    """Return one memory as :func:`review_queue` does."""
    reader = GroundReader(desk.app.repo) if desk.app is not None else None
    return _make_item(desk, memory, desk.memories().all, reader)


def _waiting_among(held: Sequence[Memory]) -> list[Memory]:
    return [one for one in held if one.state == "proposed" and one.origin == "local"]


def _make_item(desk: Desk, one: Memory, held: Sequence[Memory], reader: GroundReader | None) -> ReviewItem:
    trial = try_history(desk.app.repo, one) if desk.app is not None and not one.personal else Trial()
    return ReviewItem(one, trial, reader.look(one) if reader is not None else Grounds(), conflicts_of(one, held))
