"""What is true of memories now, or was at a time: a reading of the log, folded from its events.

Two clocks. The world's (``as_of``): a memory holds from ``valid_from`` until ``valid_until``, its time to live or the
moment it was replaced. The store's (``known_at``): what was recorded later is not looked at.

Whose word counts: a memory is changed by events of this clone and of the clone that it came from. A teammate's ruling
on somebody else's memory changes nothing; it stands beside it as a ruling that differs. Accepting takes a person.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal, get_args

import msgspec

from rekal.memory.events import (
    Amend,
    Assert,
    LinkTo,
    MemoryType,
    Permit,
    ReviewNote,
    RuleOut,
    Scope,
    Supersede,
    decode_payload,
)
from rekal.memory.matchers import Matcher
from rekal.model import LOCAL, MemoryEvent

State = Literal["proposed", "accepted", "superseded", "rejected", "retracted", "expired", "not_yet"]
STATES: tuple[State, ...] = get_args(State)
CURRENT: tuple[State, ...] = ("proposed", "accepted")
_FIELDS = ("text", "type", "subject", "because", "instead", "scope", "tags", "valid_from", "valid_until", "project",
           "matcher")  # fmt: skip
_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)


class MemoryRuling(msgspec.Struct, frozen=True):
    """A decision of somebody about a memory. ``counts`` is False for a teammate's word on what isn't theirs."""

    kind: Literal["accept", "reject", "retract"]
    actor: str
    at: datetime
    note: str | None = None
    origin: str = LOCAL
    counts: bool = True


class Memory(msgspec.Struct, frozen=True, omit_defaults=True):
    """One memory as the events tell it. ``text`` of a dead end is the approach that is ruled out.

    ``actor_type`` is who asserted it (``human``, ``agent``, ``derived``, ``imported``); ``source`` what it rests on
    (``<session>#<turn>``, a commit, a file). ``ends_at`` is when it ceased or will cease to hold; ``commit`` the HEAD
    it was made at. ``superseded_by`` and ``supersedes`` are ids. ``personal``: of the personal store.
    """

    id: str
    type: MemoryType
    text: str
    state: State
    actor: str
    actor_type: str
    occurred_at: datetime
    recorded_at: datetime
    updated_at: datetime
    origin: str = LOCAL
    source: str | None = None
    subject: str | None = None
    because: str | None = None
    instead: str | None = None
    scope: Scope = Scope()
    tags: tuple[str, ...] = ()
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    ends_at: datetime | None = None
    project: str | None = None
    conversation: str | None = None
    matcher: Matcher | None = None
    commit: str | None = None
    quote: str | None = None
    shared: bool = False
    personal: bool = False
    via: str = ""
    superseded_by: str | None = None
    supersedes: tuple[str, ...] = ()
    rulings: tuple[MemoryRuling, ...] = ()

    @property
    def current(self) -> bool:
        """True if it holds: proposed or accepted, in its time, not replaced."""
        return self.state in CURRENT

    @property
    def is_rule(self) -> bool:
        """True for what `check` consults: decisions and ruled-out approaches."""
        return self.type in ("decision", "dead_end")

    @property
    def opens_gate(self) -> bool:
        """True if it may be shown unasked: it holds, and a machine's guess at it was accepted by a person."""
        return self.state == "accepted" or (self.state == "proposed" and self.actor_type != "derived")

    @property
    def all_words(self) -> str:
        """Its words, for comparing: text, subject, reason, alternative."""
        return " ".join(part for part in (self.text, self.subject, self.because, self.instead) if part)


class MemoryLink(msgspec.Struct, frozen=True):
    """A link between two memories by id."""

    source: str
    target: str
    relation: str
    created_at: datetime
    actor: str = ""


class Memories(msgspec.Struct, frozen=True):
    """All memories of a log, in the order they were recorded. ``unreadable`` counts events that could not be used."""

    all: tuple[Memory, ...] = ()
    links: tuple[MemoryLink, ...] = ()
    unreadable: int = 0

    def named(self, prefix: str) -> list[Memory]:
        """Memories whose id starts with ``prefix``, in order of id."""
        return sorted((one for one in self.all if one.id.startswith(prefix)), key=lambda one: one.id)

    def current(self) -> list[Memory]:
        """The memories that hold."""
        return [one for one in self.all if one.current]


class Draft(msgspec.Struct):
    """A memory while its events are read."""

    event: MemoryEvent
    head: Assert
    rulings: list[MemoryRuling]
    updated_at: datetime
    shared: bool
    replaced: list[tuple[datetime, str, str]]  # when in the world, by which memory, who said so
    supersedes: list[str]
    accepted: bool = False
    rejected: bool = False
    retracted: bool = False


def fold(events: Iterable[MemoryEvent], now: datetime, known_at: datetime | None = None) -> Memories:
    """Read the log. ``now`` is the moment of the world that is asked about, ``known_at`` that of the store.

    Events may come in any order but for ties of their recording time. Neither an unknown kind nor an event that its
    sender may not make costs more than itself; both are counted.
    """
    drafts: dict[str, Draft] = {}
    later: list[MemoryEvent] = []
    unreadable = 0
    for event in events:
        if known_at is not None and event.recorded_at > known_at:
            continue
        if event.kind not in ("assert", "rule_out"):
            later.append(event)
        elif not _begin(drafts, event):
            unreadable += 1
    links: dict[tuple[str, str, str], MemoryLink] = {}
    later.sort(key=lambda event: event.recorded_at)
    for event in later:
        if event.memory_id in drafts:
            unreadable += not _apply(drafts, links, event)
    for draft in drafts.values():
        for _, by, _ in draft.replaced:
            if by in drafts:
                drafts[by].supersedes.append(draft.event.memory_id)
    kept = tuple(_finish_draft(draft, drafts, now) for draft in drafts.values())
    ends = drafts.keys()
    return Memories(kept, tuple(link for link in links.values() if link.target in ends), unreadable)


def _begin(drafts: dict[str, Draft], event: MemoryEvent) -> bool:
    head = decode_payload(event)
    if isinstance(head, RuleOut):
        head = head.as_assert()
    if not isinstance(head, Assert):
        return False
    held = drafts.get(event.memory_id)
    # Of two that claim one id this clone's own is it; otherwise the one that came first.
    if held is not None and (held.event.origin == LOCAL or event.origin != LOCAL):
        return False
    drafts[event.memory_id] = Draft(event, head, [], event.occurred_at, head.shared, [], [])
    return True


def _apply(drafts: dict[str, Draft], links: dict[tuple[str, str, str], MemoryLink], event: MemoryEvent) -> bool:
    """Take in one event on a memory that there is; False when it is of no use."""
    content, draft = decode_payload(event), drafts[event.memory_id]
    counts = event.origin in (LOCAL, draft.event.origin)
    if isinstance(content, ReviewNote):
        return _review(draft, event, content, counts=counts)
    if content is None or not counts:
        return False
    if isinstance(content, Supersede):
        if content.by == event.memory_id:
            return False
        draft.replaced.append((content.at or event.occurred_at, content.by, event.actor_type))
    elif isinstance(content, Amend):
        said = {name: value for name in _FIELDS if (value := getattr(content, name)) is not msgspec.UNSET}
        draft.head = msgspec.structs.replace(draft.head, **said)
        # What a person accepted was the old wording.
        draft.accepted = draft.accepted and event.actor_type == "human"
    elif isinstance(content, Permit):
        draft.shared = content.on
    elif isinstance(content, LinkTo):
        _apply_link(links, event, content)
    else:
        return False
    draft.updated_at = max(draft.updated_at, event.occurred_at)
    return True


def _review(draft: Draft, event: MemoryEvent, content: ReviewNote, *, counts: bool) -> bool:
    if event.kind == "accept" and event.actor_type not in ("human", "imported"):
        return False
    ruling = MemoryRuling(event.kind, event.actor, event.occurred_at, content.note, event.origin, counts)  # type: ignore[arg-type]
    draft.rulings.append(ruling)
    if not counts:
        return True
    if event.kind == "retract":
        draft.retracted = True
    else:
        draft.accepted, draft.rejected = event.kind == "accept", event.kind == "reject"
        draft.retracted = False  # reviewed again after it was taken back
    draft.updated_at = max(draft.updated_at, event.occurred_at)
    return True


def _apply_link(links: dict[tuple[str, str, str], MemoryLink], event: MemoryEvent, content: LinkTo) -> None:
    ends = (event.memory_id, content.to, content.relation)
    if event.kind == "unlink":
        links.pop(ends, None)
    elif content.to != event.memory_id:
        links.setdefault(ends, MemoryLink(*ends, event.occurred_at, event.actor))


def _accepted(draft: Draft) -> bool:
    """True if a person stands behind it. What a person asserts needs no second word."""
    return not draft.rejected and (draft.accepted or draft.event.actor_type == "human")


def _replacement(draft: Draft, drafts: dict[str, Draft]) -> tuple[datetime, str] | None:
    """When in the world a memory was replaced, and by which one.

    An agent's replacement of what a person accepted is a proposal: it counts from the person's word on it.
    """
    moments = []
    for at, by, who in draft.replaced:
        new = drafts.get(by)
        if new is not None and (new.rejected or new.retracted):
            continue
        if who == "human" or not _accepted(draft) or (new is not None and _accepted(new)):
            moments.append((at, by))
    return min(moments, default=None)


def _plus(when: datetime, seconds: float) -> datetime:
    try:
        return when + timedelta(seconds=seconds)
    except OverflowError:
        return _LAST


def _derive_state(draft: Draft, now: datetime, ends_at: datetime | None, replaced: bool) -> State:
    if draft.retracted:
        return "retracted"
    if draft.rejected:
        return "rejected"
    if replaced:
        return "superseded"
    if ends_at is not None and now >= ends_at:
        return "expired"
    # Without a word on when it holds from, it holds from when it was said.
    begins = draft.head.valid_from or draft.event.occurred_at
    if begins > now:
        return "not_yet"
    return "accepted" if _accepted(draft) else "proposed"


def _finish_draft(draft: Draft, drafts: dict[str, Draft], now: datetime) -> Memory:
    event, head = draft.event, draft.head
    lives_until = None if head.ttl is None else _plus(event.occurred_at, head.ttl)
    ends_at = min((end for end in (head.valid_until, lives_until) if end is not None), default=None)
    replacement = _replacement(draft, drafts)
    replaced = replacement is not None and replacement[0] <= now
    state = _derive_state(draft, now, ends_at, replaced)
    if replacement is not None:
        ends_at = replacement[0] if ends_at is None else min(ends_at, replacement[0])
    return Memory(
        event.memory_id, head.type, head.text, state, event.actor, event.actor_type, event.occurred_at,
        event.recorded_at, draft.updated_at, event.origin, event.source, head.subject, head.because, head.instead,
        head.scope, head.tags, head.valid_from, head.valid_until, ends_at, head.project, head.conversation,
        head.matcher, head.commit, head.quote, draft.shared, head.personal, head.via,
        replacement[1] if replacement else None, tuple(draft.supersedes), tuple(draft.rulings),
    )  # fmt: skip


def replacement_chain(memories: Sequence[Memory], start: str) -> list[str]:
    """Ids from ``start`` to the memory that stands in its place now; a circle ends where it closes."""
    by_id = {one.id: one for one in memories}
    chain = [start]
    while (here := by_id.get(chain[-1])) is not None and here.superseded_by and here.superseded_by not in chain:
        chain.append(here.superseded_by)
    return chain
