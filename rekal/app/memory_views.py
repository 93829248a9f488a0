"""Reading memories: lists, one memory's history, conflicts, the log as it is. See :mod:`rekal.app.memories`."""

from __future__ import annotations

from collections.abc import Collection
from datetime import UTC, datetime

import msgspec

from rekal.app.context import parse_handle
from rekal.app.desk import Desk, place_of_desk
from rekal.errors import UsageError
from rekal.memory.conflicts import Conflict, all_conflicts
from rekal.memory.scope import Place, clean_path, in_scope
from rekal.memory.state import Memory, MemoryLink, State, fold, replacement_chain
from rekal.model import CitedMemory, MemoryEvent, Tombstone
from rekal.store.database import Connection
from rekal.store.erase import Erased, erase, rewrite, want_rewrite
from rekal.store.ledger import open_ledger
from rekal.store.locks import hold_lock
from rekal.store.memory_log import has_events, read_events
from rekal.store.queries import session_ids

MOST_LISTED = 50
_SHORTEST_HANDLE = 6  # characters; fewer are more likely a word or a file


class MemoryQuery(msgspec.Struct, frozen=True):
    """Conditions on memories to list. Empty fields allow all; without ``states`` only those that hold are listed.

    ``as_of`` is a moment of the world, ``known_at`` one of the store; ``place`` limits to what holds there.
    """

    states: tuple[State, ...] = ()
    types: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    path: str | None = None
    project: str | None = None
    conversation: str | None = None
    text: str | None = None
    personal: bool | None = None
    place: Place = Place()
    as_of: datetime | None = None
    known_at: datetime | None = None
    limit: int = MOST_LISTED


class Listed(msgspec.Struct, frozen=True):
    """Memories, newest first. ``total`` counts all that were asked for, ``unreadable`` events that no use could
    be made of, ``elsewhere`` those that were left out because they hold on other branches alone.
    """

    memories: list[Memory]
    total: int
    unreadable: int = 0
    elsewhere: int = 0


class LogEntry(msgspec.Struct, frozen=True):
    """One event of the log as it is. ``payload`` is JSON. ``personal``: of the personal store."""

    id: str
    memory_id: str
    kind: str
    actor: str
    actor_type: str
    occurred_at: datetime
    recorded_at: datetime
    source: str | None
    origin: str
    payload: msgspec.Raw
    personal: bool = False


class MemoryHistory(msgspec.Struct, frozen=True):
    """One memory, all its events, its links, and the chain of memories that replaced it, by id."""

    memory: Memory
    events: list[LogEntry]
    links: list[MemoryLink]
    chain: list[str]


def find_memory(desk: Desk, name: str) -> Memory:
    """The memory whose id starts with ``name``. UsageError for none, and for several."""
    return find_in_store(desk, name)[0]


def find_in_store(desk: Desk, name: str) -> tuple[Memory, bool]:
    """A memory and whether it is of the personal store."""
    now = datetime.now(UTC)
    wanted = name.strip().lower()
    found = []
    for personal in (False, True) if desk.app is not None else (True,):
        held = fold(desk.events(personal=personal), now).named(wanted) if wanted else []
        found += [(one, personal) for one in held]
    if not found:
        raise UsageError(f"there is no memory {name}", "`rekal memories` lists them")
    if len(found) > 1:
        raise UsageError(f"{name} names {len(found)} memories", "give more of the id")
    return found[0]


def list_memories(desk: Desk, query: MemoryQuery) -> Listed:
    """The memories that were asked for, newest first."""
    held = desk.memories(query.as_of, query.known_at)
    fitting = [one for one in held.all if _fits_query(one, query)]
    wanted = [one for one in fitting if in_scope(one.scope, query.place)]
    wanted.sort(key=lambda one: (one.occurred_at, one.recorded_at, one.id), reverse=True)
    shown = wanted[: query.limit] if query.limit >= 0 else wanted
    return Listed(shown, len(wanted), held.unreadable, len(fitting) - len(wanted))


def find_memories_here(desk: Desk) -> list[Memory]:
    """Return the memories that hold now on the branch at hand, in no order."""
    held = desk.memories().current()
    if not any(one.scope.branch for one in held):
        return held  # git is asked for branches only where one is named
    place = place_of_desk(desk)
    return [one for one in held if in_scope(one.scope, place)]


def _fits_query(one: Memory, query: MemoryQuery) -> bool:
    low = (query.text or "").casefold()
    checks = (
        one.state in query.states if query.states else one.current,
        not query.types or one.type in query.types,
        not query.tags or bool(set(query.tags) & set(one.tags)),
        query.path is None or in_scope(one.scope, Place((query.path,))),
        query.project is None or one.project == query.project,
        query.conversation is None or one.conversation == query.conversation,
        query.personal is None or one.personal is query.personal,
        not low or low in one.all_words.casefold(),
    )
    return all(checks)


def memory_history(desk: Desk, name: str) -> MemoryHistory:
    """All that ever happened to a memory, oldest first."""
    one, personal = find_in_store(desk, name)
    events = desk.events(personal=personal)
    held = fold(events, datetime.now(UTC))
    links = [link for link in held.links if one.id in (link.source, link.target)]
    entries = [log_entry(event, personal=personal) for event in events if event.memory_id == one.id]
    return MemoryHistory(one, entries, links, replacement_chain(held.all, one.id))


def log_entry(event: MemoryEvent, *, personal: bool) -> LogEntry:
    """An event as the audit prints it; a payload that is no JSON, as text."""
    try:
        msgspec.json.decode(event.payload)
        payload = event.payload.encode()
    except (msgspec.DecodeError, ValueError, RecursionError):
        payload = msgspec.json.encode(event.payload)
    return LogEntry(
        event.id, event.memory_id, event.kind, event.actor, event.actor_type, event.occurred_at, event.recorded_at,
        event.source, event.origin, msgspec.Raw(payload), personal,
    )  # fmt: skip


def list_conflicts(desk: Desk) -> list[Conflict]:
    """Memories that speak against each other now and here, of both stores, each among its own."""
    here = {one.id for one in find_memories_here(desk)}
    return [one for one in all_conflicts(desk.memories()) if {one.first.id, one.second.id} <= here]


def audit_memories(
    desk: Desk, *, memory: str = "", kind: str = "", actor: str = "", since: datetime | None = None,
    until: datetime | None = None,
) -> list[LogEntry]:  # fmt: skip
    """The log as it is, oldest first, of both stores; each argument narrows it."""
    found = []
    for personal in (False, True) if desk.app is not None else (True,):
        for event in desk.events(personal=personal):
            fits = event.memory_id.startswith(memory) and (not kind or event.kind == kind)
            fits = fits and actor.casefold() in f"{event.actor} {event.actor_type}".casefold()
            timely = (since is None or event.recorded_at >= since) and (until is None or event.recorded_at <= until)
            if fits and timely:
                found.append(log_entry(event, personal=personal))
    return sorted(found, key=lambda entry: entry.recorded_at)


def cite_memories(
    con: Connection, sessions: Collection[str] = (), turns: Collection[str] = (), commits: Collection[str] = ()
) -> list[CitedMemory]:
    """Decisions and ruled-out approaches that hold and rest on one of these, oldest first.

    ``sessions`` are ids, ``turns`` are ``<session>#<turn>``, ``commits`` full names. A memory of a session without a
    turn counts for the session's turns. Costs one statement where nothing was ever remembered.
    """
    if not has_events(con):
        return []
    whole = {turn.partition("#")[0] for turn in turns}
    found = []
    for one in fold(read_events(con), datetime.now(UTC)).all:
        source = one.source or ""
        cites = source in turns or source in whole or source.partition("#")[0] in sessions
        if one.is_rule and one.opens_gate and (cites or source in commits or one.commit in commits):
            label = "RULED-OUT" if one.type == "dead_end" else "DECIDED"
            found.append(
                CitedMemory(one.id, label, one.text, one.because, one.state, one.actor, one.source, one.commit)
            )
    return found


def find_source(desk: Desk, text: str) -> str:
    """The evidence that ``text`` names: ``<session>#<turn>``, a session, a commit's full name, or a file here.

    Sessions and commits may be given by their first characters. UsageError for what names nothing.
    """
    name, turn = parse_handle(text)
    if desk.app is not None:
        with open_ledger(desk.app.layout.data, read_only=True) as ledger:
            sessions = session_ids(ledger.con, name) if len(name) >= _SHORTEST_HANDLE else []
        if len(sessions) > 1:
            raise UsageError(f"{name} names {len(sessions)} sessions", "give more of the id")
        if sessions:
            return sessions[0] if turn is None else f"{sessions[0]}#{turn}"
        if len(name) >= _SHORTEST_HANDLE and desk.is_current_session(name):  # before its first capture
            current = desk.current_session()
            return f"{current}#{turn}" if turn is not None else str(current)
        if turn is None and not name.startswith("-") and (commit := desk.app.repo.commit(name)) is not None:
            return commit.sha
        if turn is None and (desk.app.repo.worktree / name).is_file():
            return clean_path(name)
    raise UsageError(f"{text} names no session, commit or file here", "write ID:TURN, a commit or a file")


def forget_personal(desk: Desk, name: str) -> Erased | None:
    """Take a memory with all its events out of the personal store for good; None when no such memory is there.

    UsageError when ``name`` begins the ids of several. Nothing of that store ever left, so nobody need be told.
    """
    if not desk.personal.data.exists():
        return None
    found = fold(desk.events(personal=True), datetime.now(UTC)).named(name.strip().lower()) if name.strip() else []
    if not found:
        return None
    if len(found) > 1:
        raise UsageError(f"{name} names {len(found)} memories", "give more of the id")
    layout, now = desk.personal, datetime.now(UTC)
    with hold_lock(layout.lock, wait=30.0, purpose="forgetting"):
        want_rewrite(layout.run)
        with open_ledger(layout.data, read_only=False, wait=30.0) as ledger, ledger.transaction():
            ledger.add_tombstone(Tombstone(found[0].id, "id", desk.actor.name, now))
            erased = erase(ledger.con, [found[0].id])
        rewrite(layout.data, layout.run)
    for path in layout.vectors.glob("*.vec"):  # made of its text, among others; they are made again when needed
        path.unlink()
    return erased
