"""Memories in a recall: rows above those of sessions, under a gate of their own.

What a memory rests on is looked up for those that are shown. One that lost its ground (a file or symbol that it names
is gone) is left out, and the answer says so in one line: a claim about what no longer exists helps nobody.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec
import numpy as np

from rekal.app.desk import Desk, place_of_desk
from rekal.errors import FOUND, EngineError, StoreBusy
from rekal.index.dense import Meaning
from rekal.index.reader import IndexReader
from rekal.index.vectors import find_or_embed
from rekal.memory.grounds import GroundReader, Grounds
from rekal.memory.rank import Floats, RankedMemory, rank_memories
from rekal.memory.scope import Place
from rekal.memory.state import Memory, fold
from rekal.model import MemoryEvent
from rekal.recall.answer import Answer, MemoryRow
from rekal.recall.question import read_question

_MOST_EMBEDDED = 16
"""Texts of memories embedded by one recall: a fifth of a second; the worker embeds the rest."""


class Moment(msgspec.Struct, frozen=True):
    """The times that a recall asks about: of the world, and of the store. None is now."""

    as_of: datetime | None = None
    known_at: datetime | None = None


def add_memories(
    desk: Desk,
    answer: Answer,
    events: Sequence[MemoryEvent],
    moment: Moment,
    *,
    file: str | None = None,
    branch: str | None = None,
    reader: IndexReader | None = None,
    meaning: Meaning | None = None,
) -> Answer:
    """The answer with the memories that bear on its question; unchanged when none does.

    ``events`` are those of the repository's store. With ``reader`` a memory's session becomes the turn it cites, with
    ``meaning`` nearness in meaning counts.
    """
    now = moment.as_of or datetime.now(UTC)
    held = [*fold(events, now, moment.known_at).all, *_personal(desk, now, moment)]
    usable = [one for one in held if one.opens_gate]
    asked = read_question(answer.question)
    if not usable or asked.thin or not asked.terms:
        return answer
    place = _asked_place(desk, usable, file, branch)
    ranked = rank_memories(usable, list(asked.terms), place, _memory_cosines(desk, usable, answer.question, meaning))
    rows, lost = _keep_grounded(desk, ranked, reader)
    notes = [*answer.notes, *lost]
    if not rows:
        return msgspec.structs.replace(answer, notes=notes) if lost else answer
    best = max(max(one.covered, one.cosine) for one in ranked)
    support = max(answer.support, min(1.0, round(best, 2)))
    return msgspec.structs.replace(
        answer, verdict="INJECT", reason="", support=support, exit_code=FOUND, notes=notes, memories=rows
    )


def _personal(desk: Desk, now: datetime, moment: Moment) -> tuple[Memory, ...]:
    # Nobody's personal store was there before memories were: a stat for those who have none.
    return fold(desk.events(personal=True), now, moment.known_at).all if desk.personal.data.exists() else ()


def _asked_place(desk: Desk, memories: Sequence[Memory], file: str | None, branch: str | None) -> Place:
    files = (file,) if file else ()
    if not any(one.scope.branch for one in memories):
        return Place(files)
    here = place_of_desk(desk, files)
    return here if branch is None else msgspec.structs.replace(here, branch=branch)


def _memory_cosines(desk: Desk, memories: Sequence[Memory], question: str, meaning: Meaning | None) -> Floats | None:
    if meaning is None or desk.app is None:
        return None
    try:
        texts = [one.all_words for one in memories]
        vectors = find_or_embed(desk.app.layout.vectors, meaning.embedder, texts, _MOST_EMBEDDED)
        return np.asarray(vectors @ meaning.vector(question), np.float64)
    except (EngineError, StoreBusy):
        return None


def _keep_grounded(
    desk: Desk, ranked: Sequence[RankedMemory], reader: IndexReader | None
) -> tuple[list[MemoryRow], list[str]]:
    """Rows of what still has its ground, and a sentence for each that lost it."""
    grounds = GroundReader(desk.app.repo) if desk.app is not None else None
    rows, lost = [], []
    for one in ranked:
        found = grounds.look(one.memory) if grounds is not None else Grounds()
        if found.state == "lost":
            lost.append(f"memory {one.memory.id[:10]} is left out: {found.sentence()}")
        else:
            rows.append(_memory_row(one, found, reader))
    return rows, lost


def _memory_row(one: RankedMemory, grounds: Grounds, reader: IndexReader | None) -> MemoryRow:
    memory = one.memory
    source = memory.source
    if source and reader is not None and "#" not in source:
        turn = reader.turn_before(source, memory.occurred_at)
        source = f"{source}#{turn}" if turn is not None else source
    label = {"dead_end": "RULED-OUT", "decision": "DECIDED"}.get(memory.type, "NOTED")
    scope = [*memory.scope.paths, *([f"branch {memory.scope.branch}"] if memory.scope.branch else [])]
    return MemoryRow(
        memory.id, label, memory.type, memory.text, memory.because, memory.instead, memory.state, memory.actor,  # type: ignore[arg-type]
        memory.actor_type, memory.origin, memory.personal, memory.occurred_at, source, scope, grounds.sentence(),
        one.score,
    )  # fmt: skip
