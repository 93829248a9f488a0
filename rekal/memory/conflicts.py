"""Memories that speak against each other: shown, never resolved by a machine."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from rekal.memory.scope import path_matches
from rekal.memory.state import Memories, Memory
from rekal.plain_text import lazy_pattern

CONTRADICTS = "contradicts"
Why = Literal["link", "subject", "opposite", "ruling", "rejected before", "same"]

_WORD = lazy_pattern(r"\w+")
_SAME_WORDS = 0.6  # share of the shorter text's words that the other has, for "near"
_FEWEST_WORDS = 3
_GRAMMAR = frozenset(
    _WORD.findall("a an the of to in on for by with and or is are be as at it its we not no never use using")
)
OPPOSED = {"decision": ("dead_end",), "dead_end": ("decision", "procedure", "preference"), "procedure": ("dead_end",),
           "preference": ("dead_end",)}  # fmt: skip
"""Types of memories that can say the opposite of one another, both ways."""


class Conflict(msgspec.Struct, frozen=True):
    """Two memories that contradict each other, or one on which two people ruled differently (then both are it).

    ``why``: a ``link`` says so; the same ``subject`` with another text; near texts of ``opposite`` types; a
    ``ruling`` of a teammate that differs; a text ``rejected before``; the ``same`` text once more.
    """

    why: Why
    first: Memory
    second: Memory
    note: str = ""


def _words(text: str) -> frozenset[str]:
    return frozenset(_WORD.findall(text.casefold())) - _GRAMMAR


def _near(a: frozenset[str], b: frozenset[str]) -> bool:
    shorter = min(len(a), len(b))
    return shorter >= _FEWEST_WORDS and len(a & b) >= _SAME_WORDS * shorter


def _overlap(a: Memory, b: Memory) -> bool:
    """True if there is a place where both hold."""
    if a.scope.branch and b.scope.branch and a.scope.branch != b.scope.branch:
        return False
    one, other = a.scope.paths, b.scope.paths
    if not one or not other:
        return True
    return any(_glob_base(x) == _glob_base(y) or path_matches(_glob_base(x), other) or path_matches(_glob_base(y), one)
               for x in one for y in other)  # fmt: skip


def _glob_base(glob: str) -> str:
    return glob.split("*")[0].rstrip("/")


def _normal(text: str) -> str:
    return " ".join(text.casefold().split())


def conflicts_of(new: Memory, memories: Iterable[Memory]) -> list[Conflict]:
    """The memories that ``new`` contradicts or repeats, itself left out. Those that do not hold any more cannot
    contradict; a rejected one of the same words is named as such.
    """
    subject, text, words = _normal(new.subject or ""), _normal(new.text), _words(new.text)
    found = []
    for one in memories:
        if one.id == new.id or one.personal != new.personal or one.project != new.project:
            continue
        same = _normal(one.text) == text
        if same and one.state == "rejected":
            found.append(Conflict("rejected before", new, one, _why_rejected(one)))
        elif not one.current or not _overlap(new, one):
            continue
        elif same and one.type == new.type:
            found.append(Conflict("same", new, one))
        elif subject and _normal(one.subject or "") == subject:
            found.append(Conflict("subject", new, one))
        elif _opposed(new, one) and _near(words, _words(one.text)):
            found.append(Conflict("opposite", new, one))
    return found


def _opposed(a: Memory, b: Memory) -> bool:
    return b.type in OPPOSED.get(a.type, ())


def _why_rejected(one: Memory) -> str:
    return next((ruling.note or "" for ruling in reversed(one.rulings) if ruling.kind == "reject"), "")


def all_conflicts(memories: Memories) -> list[Conflict]:
    """Every pair that speaks against each other now, in the order in which the first was recorded."""
    by_id = {one.id: one for one in memories.all}
    found = [
        Conflict("link", by_id[link.source], by_id[link.target])
        for link in memories.links
        if link.relation == CONTRADICTS and by_id[link.source].current and by_id[link.target].current
    ]
    current = memories.current()
    found += list(_by_subject(current))
    found += list(_opposites(current))
    for one in memories.all:
        found += [
            Conflict("ruling", one, one, f"{r.actor}: {r.kind}") for r in one.rulings if _differs(one, r.kind, r.counts)
        ]
    unique = {(c.why, *sorted((c.first.id, c.second.id)), c.note): c for c in found}
    return list(unique.values())


def _differs(one: Memory, kind: str, counts: bool) -> bool:
    return not counts and (
        (kind in ("reject", "retract") and one.current) or (kind == "accept" and one.state == "rejected")
    )


def _by_subject(current: Sequence[Memory]) -> Iterator[Conflict]:
    groups: dict[tuple[str, str | None, bool], list[Memory]] = defaultdict(list)
    for one in current:
        if one.subject:
            groups[_normal(one.subject), one.project, one.personal].append(one)
    for group in groups.values():
        for at, first in enumerate(group):
            for second in group[at + 1 :]:
                if _normal(first.text) != _normal(second.text) and _overlap(first, second):
                    yield Conflict("subject", first, second)


def _opposites(current: Sequence[Memory]) -> Iterator[Conflict]:
    rules = [(one, _words(one.text)) for one in current if one.is_rule]
    for at, (first, words) in enumerate(rules):
        for second, others in rules[at + 1 :]:
            opposed = _opposed(first, second) and first.project == second.project
            if opposed and first.personal == second.personal and _near(words, others) and _overlap(first, second):
                yield Conflict("opposite", first, second)
