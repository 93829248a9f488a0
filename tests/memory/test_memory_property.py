"""No memory outside its scope, before its validity or after its end is ever shown: in no arm and no reader."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from rekal.memory.added_lines import check_diff
from rekal.memory.check import RuleNearness, check_text
from rekal.memory.conflicts import all_conflicts
from rekal.memory.events import ReviewNote, Scope, Supersede
from rekal.memory.matchers import Matcher
from rekal.memory.rank import question_terms, rank_memories
from rekal.memory.scope import Place, path_matches
from rekal.memory.state import fold
from rekal.memory.write import Actor, NewMemory, make_event, make_memory
from rekal.model import MemoryEvent

START = datetime(2026, 3, 1, tzinfo=UTC)
PATHS = ("src/api/a.py", "src/web/b.ts", "docs/c.md")
GLOBS = ("src/**", "src/api/**", "src/web/*.ts", "docs/c.md", "nowhere/**")
BRANCHES = (None, "main", "spike")
WORDS = "redis lock queue postgres worker"
DIFF = "diff --git a/{p} b/{p}\n--- a/{p}\n+++ b/{p}\n@@ -1 +1,2 @@\n a\n+redis lock queue\n"

day = st.integers(-5, 5)


def moment(days: int) -> datetime:
    return START + timedelta(days=days)


@st.composite
def logs(draw: st.DrawFn) -> list[MemoryEvent]:
    """Memories of the same words that differ in scope, validity, author, and what became of them."""
    events: list[MemoryEvent] = []
    for number in range(draw(st.integers(1, 5))):
        begins, ends = draw(st.none() | day), draw(st.none() | day)
        if begins is not None and ends is not None and begins >= ends:
            ends = None
        by = Actor("x", draw(st.sampled_from(["human", "agent", "derived"])), "cli")
        new = NewMemory(
            f"{WORDS} {number}",
            draw(st.sampled_from(["decision", "dead_end", "fact"])),
            scope=Scope(tuple(draw(st.lists(st.sampled_from(GLOBS), max_size=2))), draw(st.sampled_from(BRANCHES))),
            valid_from=None if begins is None else moment(begins),
            valid_until=None if ends is None else moment(ends),
            ttl=draw(st.none() | st.sampled_from([3600.0, 200_000.0])),
            matcher=Matcher(("redis",), ("lock",)),
        )
        made = make_memory(new, by, moment(draw(day)), lambda text: text)
        events.append(made)
        kind = draw(st.sampled_from(["", "accept", "reject", "retract", "supersede"]))
        person = Actor("p", "human", "cli")
        if kind == "supersede" and len(events) > 1:
            content = Supersede(by=events[0].memory_id)
            events.append(make_event(made.memory_id, kind, content, person, moment(draw(day))))
        elif kind in ("accept", "reject", "retract"):
            events.append(make_event(made.memory_id, kind, ReviewNote(), person, moment(draw(day))))
    return events


def may_be_shown(log: list[MemoryEvent], memory_id: str, now: datetime, known: datetime | None, place: Place) -> bool:
    """The rule said once more, straight from the events, without the code under test."""
    import json

    seen = [event for event in log if known is None or event.recorded_at <= known]
    mine = [event for event in seen if event.memory_id == memory_id]
    head = json.loads(mine[0].payload)
    start = datetime.fromisoformat(head["valid_from"]) if "valid_from" in head else mine[0].occurred_at
    ends = [datetime.fromisoformat(head["valid_until"])] if "valid_until" in head else []
    if "ttl" in head:
        ends.append(mine[0].occurred_at + timedelta(seconds=head["ttl"]))
    kinds = [event.kind for event in sorted(mine[1:], key=lambda event: event.recorded_at)]
    accepted = mine[0].actor_type == "human" or "accept" in kinds
    if {"reject", "retract"} & set(kinds) or now < start or any(now >= end for end in ends):
        return False
    if mine[0].actor_type == "derived" and not accepted:
        return False
    for event in mine[1:]:
        if event.kind == "supersede" and event.occurred_at <= now:
            other = [e for e in seen if e.memory_id == json.loads(event.payload)["by"]]
            if other and not {"reject", "retract"} & {e.kind for e in other}:
                return False
            if not other:
                return False
    scope = head.get("scope", {})
    paths, branch = scope.get("paths", []), scope.get("branch")
    if place.files and paths and not any(path_matches(file, paths) for file in place.files):
        return False
    return branch is None or place.branch is None or branch == place.branch or branch in place.merged


@settings(max_examples=300, deadline=None)
@given(
    logs(),
    day,
    st.none() | day,
    st.lists(st.sampled_from(PATHS), max_size=1),
    st.sampled_from(BRANCHES),
    st.frozensets(st.sampled_from(["spike"])),
)
def test_only_what_holds_here_and_then_is_shown(
    log: list[MemoryEvent], now: int, known: int | None, files: list[str], branch: str | None, merged: frozenset[str]
) -> None:
    at, known_at = moment(now), None if known is None else moment(known)
    place = Place(tuple(files), branch, merged)
    held = fold(log, at, known_at).all
    near = np.ones(len(held))
    for cosines in (None, near):
        for ranked in rank_memories(held, question_terms(WORDS), place, cosines, limit=99):
            assert may_be_shown(log, ranked.memory.id, at, known_at, place)
    for given_near in (None, RuleNearness(near, near)):
        for found in check_text(held, f"use {WORDS} in the worker", place, given_near):
            assert may_be_shown(log, found.memory.id, at, known_at, place)
    for path in files:
        for found in check_diff(held, DIFF.format(p=path), place):
            assert may_be_shown(log, found.memory.id, at, known_at, Place((path,), branch, merged))
    for conflict in all_conflicts(fold(log, at, known_at)):
        assert conflict.first.current
        assert conflict.second.current


@settings(max_examples=200, deadline=None)
@given(logs(), day)
def test_what_may_be_shown_is_found(log: list[MemoryEvent], now: int) -> None:
    """The other direction: the predicate hides nothing that holds everywhere and now."""
    at = moment(now)
    held = fold(log, at).all
    shown = {one.memory.id for one in rank_memories(held, question_terms(WORDS), Place(), limit=99)}
    assert shown == {one.id for one in held if may_be_shown(log, one.id, at, None, Place())}
