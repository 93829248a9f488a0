"""Making events: what a person or an agent asks for, checked and scrubbed, as entries of the log."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime

import msgspec

from rekal import ids
from rekal.errors import UsageError
from rekal.memory.events import (
    MEMORY_TYPES,
    Assert,
    Content,
    MemoryType,
    RuleOut,
    Scope,
    Who,
    check_memory_text,
    check_name,
    encode_payload,
)
from rekal.memory.matchers import Matcher
from rekal.memory.scope import clean_path
from rekal.model import MemoryEvent

Scrub = Callable[[str], str]


class Actor(msgspec.Struct, frozen=True):
    """A person or program that changes memories, and the face: ``cli``, ``mcp``, ``web``, ``hook``, ``import``."""

    name: str
    kind: Who
    via: str


class NewMemory(msgspec.Struct, frozen=True):
    """A memory to be written, as it was asked for; see :class:`rekal.memory.events.Assert`.

    ``id`` is given where it must be known before, by an import for instance.
    """

    text: str
    type: MemoryType = "note"
    because: str | None = None
    instead: str | None = None
    subject: str | None = None
    scope: Scope = Scope()
    tags: tuple[str, ...] = ()
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    ttl: float | None = None
    project: str | None = None
    conversation: str | None = None
    matcher: Matcher | None = None
    source: str | None = None
    quote: str | None = None
    shared: bool = False
    personal: bool = False
    occurred_at: datetime | None = None
    id: str | None = None


def make_event(
    memory_id: str, kind: str, content: Content, actor: Actor, now: datetime, *, source: str | None = None,
    occurred_at: datetime | None = None,
) -> MemoryEvent:  # fmt: skip
    """One event. Its id is fresh, so the same said twice is two entries of the log."""
    content = msgspec.structs.replace(content, via=actor.via)
    said = occurred_at or now
    return MemoryEvent(ids.ulid(), memory_id, kind, encode_payload(content), actor.name, actor.kind, said, now, source)


def new_memory_id(kind: str, text: str) -> str:
    """A fresh id. Derived, since the first characters of a ULID are its time and no handle."""
    return ids.derive(kind, text, ids.ulid())


def make_memory(new: NewMemory, actor: Actor, now: datetime, scrub: Scrub, commit: str | None = None) -> MemoryEvent:
    """The event that asserts a memory, or rules an approach out. ``commit`` is HEAD.

    Raises :class:`UsageError` for what cannot be remembered: an empty text, one over the limit, times out of order.
    """
    if new.type not in MEMORY_TYPES:
        raise UsageError(f"{new.type} is no type of memory", f"one of {', '.join(MEMORY_TYPES)}")
    what = "the approach" if new.type == "dead_end" else "the text"
    text = scrub(check_memory_text(new.text, what))
    _check_times(new)

    def clean(value: str | None, name: str) -> str | None:
        return scrub(check_memory_text(value, name)) if value is not None and value.strip() else None

    subject = scrub(check_name(new.subject, "the subject")) if new.subject and new.subject.strip() else None
    fields = {
        "because": clean(new.because, "the reason"),
        "instead": clean(new.instead, "the alternative"),
        "subject": subject,
        "scope": clean_scope(new.scope),
        "tags": tuple(map(scrub, _check_tags(new.tags))),
        "matcher": scrubbed_matcher(new.matcher, scrub),
        "quote": clean(new.quote, "the quote"),
        "commit": commit,
    }
    same = ("valid_from", "valid_until", "ttl", "project", "conversation", "shared", "personal")
    fields |= {name: getattr(new, name) for name in same}
    if new.type == "dead_end":
        kind, content = "rule_out", RuleOut(approach=text, **fields)  # type: ignore[arg-type]
    else:
        kind, content = "assert", Assert(text=text, type=new.type, **fields)  # type: ignore[arg-type,assignment]
    memory_id = new.id or new_memory_id("memory", text)
    source = scrub(new.source) if new.source else None
    return make_event(memory_id, kind, content, actor, now, source=source, occurred_at=new.occurred_at)


def clean_scope(scope: Scope) -> Scope:
    """A scope with its globs relative to the root. Raises :class:`UsageError` for one that leads out of it."""
    paths = tuple(clean_path(path) for path in scope.paths if path.strip())
    for path in paths:
        if ".." in path.split("/"):
            raise UsageError(f"{path} leads out of the repository", "give a path below its root")
        check_name(path, "a path")
    branch = check_name(scope.branch, "the branch") if scope.branch else None
    return Scope(paths, branch)


def scrubbed_matcher(matcher: Matcher | None, scrub: Scrub) -> Matcher | None:
    """A matcher without secrets; a pattern that had one matches nothing any more and is left out."""
    if matcher is None or not matcher:
        return None
    kept = {name: tuple(p for p in getattr(matcher, name) if scrub(p) == p) for name in matcher.__struct_fields__}
    return Matcher(**kept)


def _check_times(new: NewMemory) -> None:
    for when in (new.valid_from, new.valid_until):
        if when is not None and when.tzinfo is None:
            raise UsageError("a time has no zone", "write it with one, as 2026-03-01T10:00Z")
    if new.valid_from and new.valid_until and new.valid_from >= new.valid_until:
        raise UsageError("it would end before it begins", "give --until a later time than --valid-from")
    if new.ttl is not None and not 0 < new.ttl < 1e10:
        raise UsageError(f"a time to live of {new.ttl:g} s is none", "write 24h, 30d or 1y")


MOST_TAGS = 64


def _check_tags(tags: tuple[str, ...]) -> tuple[str, ...]:
    """Tags as they may be stored, each once. Raises :class:`UsageError`."""
    if len(tags) > MOST_TAGS:
        raise UsageError(f"{len(tags)} tags were given", f"a memory may have {MOST_TAGS}")
    return tuple(dict.fromkeys(check_name(tag, "a tag") for tag in tags))
