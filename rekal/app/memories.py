"""What a person or an agent can do with memories: one function each, for the command line, MCP and the web page.

Every function takes a :class:`rekal.app.desk.Desk` and returns records; none prints. What a function writes is in the
log when it returns, and the next read of any face sees it. Ids may be given by their first characters.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from rekal.app.desk import Desk
from rekal.app.memory_views import (
    Listed,
    LogEntry,
    MemoryHistory,
    MemoryQuery,
    audit_memories,
    find_in_store,
    find_memory,
    list_conflicts,
    list_memories,
    memory_history,
)
from rekal.errors import Refused, UsageError
from rekal.memory.conflicts import OPPOSED, Conflict, conflicts_of
from rekal.memory.events import Amend, Content, LinkTo, Permit, ReviewNote, Supersede, check_memory_text, check_name
from rekal.memory.matchers import Example, missing_examples
from rekal.memory.state import Memory, MemoryLink, fold
from rekal.memory.write import NewMemory, clean_scope, make_event, make_memory, scrubbed_matcher
from rekal.store.memory_log import append_events, read_events, read_related

_COMPARED_WORDS = 8
_SAME_WORDS = 3
_LONG_WORD = 4
_NEAR_SHARE = 0.6


class Remembered(msgspec.Struct, frozen=True):
    """A memory just written. ``conflicts`` are those it contradicts or repeats; ``notes`` say what was left out or
    where it went; ``examples`` how its matcher did on the examples given.
    """

    memory: Memory
    conflicts: list[Conflict]
    notes: list[str]
    examples: list[Example] = []


def remember(
    desk: Desk, new: NewMemory, *, violations: Sequence[str] = (), near_misses: Sequence[str] = (), again: bool = False
) -> Remembered:
    """Write a memory. What a person says is accepted, what an agent says is proposed.

    A text that is held already is not written twice unless ``again``. ``violations`` and ``near_misses`` are proposals
    that its matcher is tried on; the memory is written without the matcher when it fails one. Raises UsageError, for
    a person's matcher with too few of them too: what a person says is accepted at once.
    """
    # Long because the event is made, tried and compared before the one write, and each step may change it.
    now = datetime.now(UTC)
    personal = new.personal or desk.app is None
    if new.source is None:
        new = msgspec.structs.replace(new, source=desk.current_session())
    new = _with_examples(desk, new, violations, near_misses)
    new = msgspec.structs.replace(new, personal=personal)
    notes = _left_out(desk, new, asked_personal=new.personal)
    event = make_memory(new, desk.actor, now, desk.scrub, None if personal else desk.head())
    (made,) = fold([event], max(now, event.occurred_at)).all
    examples: tuple[Example, ...] = ()
    if violations or near_misses:
        from rekal.memory.trial import try_examples  # the grammar of clauses, which no other write needs

        examples = try_examples(made, violations, near_misses)
    if examples and not all(one.right for one in examples):
        event = make_memory(
            msgspec.structs.replace(new, matcher=None, id=made.id), desk.actor, now, desk.scrub, made.commit
        )
        notes.append("the patterns failed an example and were not kept; mend them with `rekal memories` and amend")
    with desk.writing(personal=personal) as ledger:
        related = fold(read_related(ledger.con, *_comparison(made)), now).all
        found = conflicts_of(made, related)
        same = next((one.second for one in found if one.why == "same"), None)
        if same is not None and not again:
            return Remembered(same, [], [*notes, f"it is remembered already as {same.id[:10]}"], list(examples))
        append_events(ledger, [event])
    (made,) = fold([event], max(now, event.occurred_at)).all
    return Remembered(made, found, [*notes, *_trial_of(desk, made)], list(examples))


class Reviewed(msgspec.Struct, frozen=True):
    """A memory that was ruled on. ``notes`` say what the patterns of an accepted one hit so far."""

    memory: Memory
    notes: list[str] = []


def _trial_of(desk: Desk, made: Memory) -> list[str]:
    """Say in a sentence what an accepted memory's patterns hit so far; empty without patterns."""
    if not made.matcher or made.state != "accepted":
        return []
    from rekal.app.memory_review import try_patterns  # git and the grammar of clauses, which no other write needs

    return [try_patterns(desk, made).sentence()]


def _with_examples(desk: Desk, new: NewMemory, hits: Sequence[str], misses: Sequence[str]) -> NewMemory:
    """Keep the writer's proposals beside the patterns. UsageError when a person gives too few of them."""
    if not new.matcher:
        return new
    tried = msgspec.structs.replace(new.matcher, hits=tuple(hits), misses=tuple(misses))
    if desk.actor.kind == "human" and (lacking := missing_examples(tried)):
        raise UsageError("patterns are accepted once they were tried on proposals", f"give {lacking}")
    return msgspec.structs.replace(new, matcher=tried)


def _left_out(desk: Desk, new: NewMemory, *, asked_personal: bool) -> list[str]:
    notes = []
    clean = new.text.strip()
    if len(check_memory_text(new.text, "the text")) < len(clean):
        notes.append("control characters were left out of the text")
    if desk.scrub(clean) != clean:
        notes.append("what looks like a secret was redacted")
    if desk.app is None:
        notes.append("there is no repository with a store here: it is in your personal store")
    return notes


def _comparison(memory: Memory) -> tuple[list[str], list[str], int, tuple[str, ...]]:
    """Words and phrases by which the log is searched for what a new memory may contradict, and types for the words."""
    opposable = memory.type in OPPOSED
    words = sorted({word.strip(".,;:!?()`\"'").lower() for word in memory.text.split()}, key=len, reverse=True)
    # What has no opposite can only be the same again: a search for many words costs 10 ms at 10,000 memories.
    words = [word for word in words if len(word) >= _LONG_WORD][: _COMPARED_WORDS if opposable else _SAME_WORDS]
    # As they stand in the log, where quotes and backslashes are escaped.
    phrases = [msgspec.json.encode(text).decode()[1:-1] for text in (memory.text, memory.subject) if text]
    fewest = math.ceil(_NEAR_SHARE * len(words) / 2) if opposable else len(words)
    return words, phrases, fewest, OPPOSED.get(memory.type, ())


def supersede(desk: Desk, name: str, new: NewMemory, note: str | None = None) -> Remembered:
    """Replace a memory: the old one stays, closed at that time and linked; the new one has what ``new`` leaves open."""
    old, personal = find_in_store(desk, name)
    now = datetime.now(UTC)
    filled = {
        key: getattr(old, key)
        for key in ("subject", "scope", "tags", "project", "matcher")
        if getattr(new, key) in (None, (), NewMemory(text="-").scope)
    }
    kind = new.type if new.type != "note" else old.type
    source = new.source or desk.current_session()
    filled["shared"] = new.shared or old.shared
    new = msgspec.structs.replace(new, type=kind, personal=personal, source=source, **filled)
    event = make_memory(new, desk.actor, now, desk.scrub, None if personal else desk.head())
    content = Supersede(by=event.memory_id, note=_clean(desk, note), at=new.valid_from)
    with desk.writing(personal=personal) as ledger:
        append_events(ledger, [event, make_event(old.id, "supersede", content, desk.actor, now)])
        held = fold([*read_events(ledger.con, old.id), event], now)
    (made,) = (one for one in held.all if one.id == event.memory_id)
    notes = []
    if held.named(old.id)[0].current and (new.valid_from is None or new.valid_from <= now):
        notes.append(f"{old.id[:10]} was accepted by a person and stays until this one is accepted")
    return Remembered(made, [], notes)


def _clean(desk: Desk, text: str | None) -> str | None:
    return desk.scrub(check_memory_text(text, "the note")) if text and text.strip() else None


def review_memory(
    desk: Desk, name: str, ruling: str, note: str | None = None, hits: Sequence[str] = (), misses: Sequence[str] = ()
) -> Reviewed:
    """``accept``, ``reject`` or ``retract`` a memory. Accepting and rejecting takes a person: Refused for an agent.

    Patterns are tried before they are accepted, on the proposals that their writer gave and on ``hits`` and ``misses``,
    which are kept beside them. Raises UsageError when these are too few, or the patterns are wrong about one.
    """
    if ruling not in ("accept", "reject", "retract"):
        raise UsageError(f"{ruling} is no ruling", "accept, reject or retract")
    if ruling != "retract" and desk.actor.kind != "human":
        raise Refused(f"an agent cannot {ruling} a memory", "a person does, with `rekal review`")
    notes = []
    if ruling == "accept" and (one := find_memory(desk, name)).matcher:
        from rekal.app.memory_review import try_patterns  # the grammar of clauses, which no other ruling needs

        known = one.matcher
        more = msgspec.structs.replace(known, hits=(*known.hits, *hits), misses=(*known.misses, *misses))
        notes.append(try_patterns(desk, msgspec.structs.replace(one, matcher=more)).sentence())
        if more != known:
            amend_memory(desk, one.id, Amend(matcher=more))
    return Reviewed(_append_event(desk, name, ruling, ReviewNote(note=_clean(desk, note))), notes)


def merge_memory(desk: Desk, name: str, into: str) -> Memory:
    """Rule that a memory says what another one says: the first is replaced by it. Returns the other one. Refused for
    an agent.
    """
    (one, personal), (other, elsewhere) = find_in_store(desk, name), find_in_store(desk, into)
    if one.id == other.id:
        raise UsageError("a memory cannot be merged with itself", "name two memories")
    if personal != elsewhere:
        raise UsageError("one of them is personal and the other isn't", "merge within a store")
    if one.id in memory_history(desk, other.id).chain:
        raise UsageError(f"{other.id[:10]} is replaced by {one.id[:10]} already", "merge them the other way round")
    if desk.actor.kind != "human":
        raise Refused("an agent cannot merge memories", "a person does, with `rekal review`")
    _append_event(desk, one.id, "supersede", Supersede(by=other.id, note="merged"))
    return find_memory(desk, other.id)


def amend_memory(desk: Desk, name: str, changes: Amend) -> Memory:
    """Change fields of a memory; the old text stays in the log. An agent's change of an accepted one is a proposal."""
    said = {
        field: check_name(value, field) if field == "subject" else check_memory_text(value, field)
        for field in ("text", "because", "instead", "subject")
        if isinstance(value := getattr(changes, field), str)
    }
    said = {field: desk.scrub(value) for field, value in said.items()}
    changes = msgspec.structs.replace(changes, **said)
    if changes.scope is not msgspec.UNSET:
        changes = msgspec.structs.replace(changes, scope=clean_scope(changes.scope))
    if changes.matcher is not msgspec.UNSET:
        changes = msgspec.structs.replace(changes, matcher=scrubbed_matcher(changes.matcher, desk.scrub))
    return _append_event(desk, name, "amend", changes)


def share_memory(desk: Desk, name: str, *, on: bool = True) -> Memory:
    """Let a memory travel once it is accepted and the commit it was made at is merged, or keep it here from now on."""
    one, personal = find_in_store(desk, name)
    if personal:
        raise Refused(f"{one.id[:10]} is personal", "nothing of the personal store travels")
    if on and one.commit is None:
        raise Refused(f"{one.id[:10]} was made at no commit", "a memory travels with the commit it belongs to")
    return _append_event(desk, one.id, "share", Permit(on=on))


def link_memories(desk: Desk, name: str, relation: str, to: str, *, on: bool = True) -> MemoryLink:
    """Link two memories, or take a link away. UsageError for one with itself, or across stores."""
    (one, personal), (other, elsewhere) = find_in_store(desk, name), find_in_store(desk, to)
    if one.id == other.id:
        raise UsageError("a memory cannot be linked to itself", "name two memories")
    if personal != elsewhere:
        raise UsageError("one of them is personal and the other isn't", "a link stays within a store")
    content = LinkTo(to=other.id, relation=desk.scrub(check_name(relation, "the relation")))
    now = datetime.now(UTC)
    with desk.writing(personal=personal) as ledger:
        append_events(ledger, [make_event(one.id, "link" if on else "unlink", content, desk.actor, now)])
    return MemoryLink(one.id, other.id, content.relation, now, desk.actor.name)


def _append_event(desk: Desk, name: str, kind: str, content: Content) -> Memory:
    one, personal = find_in_store(desk, name)
    now = datetime.now(UTC)
    with desk.writing(personal=personal) as ledger:
        append_events(ledger, [make_event(one.id, kind, content, desk.actor, now)])
        held = fold(read_events(ledger.con, one.id), now)
    # What replaced it is not among its own events: all of the log says whether it still holds.
    return held.all[0] if one.superseded_by is None else find_memory(desk, one.id)


__all__ = [
    "Listed", "LogEntry", "MemoryHistory", "MemoryQuery", "NewMemory", "Remembered", "amend_memory", "audit_memories",
    "find_memory", "link_memories", "list_conflicts", "list_memories", "memory_history", "merge_memory", "remember",
    "review_memory", "share_memory", "supersede",
]  # fmt: skip
