"""Bringing in what other clones recorded, a batch at a time and by sets, and the rules of who may add what.

Numbers of turns and calls stay as their own clone gave them. Importing twice adds nothing, and the order of batches
makes no difference.

A batch comes from one ref. What it may do is narrow: add sessions and checkpoints of its own origins, and add to
those. A record of another origin, or of this clone, is never touched; a frame that tries is counted. Only a record
whose author could not be verified makes room for the same one from its author's own ref, so that the order in which
refs are read does not decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Protocol

import msgspec

from rekal.model import (
    LOCAL,
    UNVERIFIED,
    Checkpoint,
    Edit,
    MemoryEvent,
    Rewrite,
    Session,
    SessionRange,
    Tombstone,
    ToolCall,
    Turn,
)
from rekal.store.database import Connection, insert_rows, without_zone
from rekal.store.erase import Erased, erase
from rekal.store.tombstones import forgotten

_BELOW: dict[str, tuple[tuple[str, str], ...]] = {
    "sessions": (("turns", "session_id"), ("tool_calls", "session_id"), ("edits", "session_id")),
    "checkpoints": (("files_touched", "checkpoint_id"), ("checkpoint_sessions", "checkpoint_id")),
    "memory_events": (),
}


class Admission:
    """The rules for one batch, and the count of what they did."""

    def __init__(self, con: Connection, origins: Sequence[str]) -> None:
        self.con = con
        self.origins = tuple(origins)
        self.gone = forgotten(con, (LOCAL, *origins))
        self.counts: Counter[str] = Counter()

    def owners(self, table: str, ids: Collection[str]) -> dict[str, str]:
        """The origin of each of these records that is stored."""
        rows = self.con.execute(
            f"SELECT id, any_value(origin) FROM {table} WHERE id IN (SELECT unnest(?::VARCHAR[])) GROUP BY id",
            [sorted(ids)],
        )
        return {str(id_): str(origin) for id_, origin in rows.fetchall()}

    def admit(self, table: str, id_: str, origin: str, owners: dict[str, str]) -> bool | None:
        """True if a record is new and may come in (``owners`` then has it); None where it is known and this ref's."""
        owner = owners.get(id_)
        if owner in self.origins:
            return None
        if owner is not None:
            if not owner.startswith(UNVERIFIED) or origin.startswith(UNVERIFIED):
                self.counts["foreign"] += 1
                return False
            self._displace(table, id_)
        owners[id_] = origin
        return True

    def _displace(self, table: str, id_: str) -> None:
        for name, column in (*_BELOW[table], (table, "id")):
            self.con.execute(f"DELETE FROM {name} WHERE {column} = ?", [id_])
        self.counts["displaced"] += 1

    def is_new(self, known: set[tuple[str, str | int]], session_id: str, uid: str, seq: int) -> bool:
        """True if neither a turn's or call's uid nor its number is taken; both are from then on."""
        if (session_id, uid) in known:
            return False
        if (session_id, seq) in known:
            self.counts["clashing"] += 1
            return False
        known.update(((session_id, uid), (session_id, seq)))
        return True


# A batch and its import: one look at what is stored, one insert a table.

_Rows = list[tuple[object, ...]]


class Part(Protocol):
    """Some turns of a session, with the calls and edits made in them."""

    @property
    def session_id(self) -> str: ...
    @property
    def turns(self) -> tuple[Turn, ...]: ...
    @property
    def tool_calls(self) -> tuple[ToolCall, ...]: ...
    @property
    def edits(self) -> tuple[Edit, ...]: ...


class Batch(msgspec.Struct):
    """Records of one ref, in any order, each stamped with its origin. A ``Session`` stands for its head alone."""

    heads: list[Session] = []
    parts: list[Part] = []
    checkpoints: list[Checkpoint] = []
    events: list[MemoryEvent] = []
    rewrites: list[Rewrite] = []
    tombstones: list[Tombstone] = []


class Imported(msgspec.Struct, frozen=True):
    """Counts of what a batch added, and of what it tried in vain.

    ``forgotten`` were blocked by a tombstone, ``foreign`` belong to another origin, ``clashing`` have a number that is
    taken, ``waiting`` are parts whose session is not there yet; ``displaced`` were unverified and made room, ``erased``
    were taken out by a tombstone.
    """

    sessions: int = 0
    turns: int = 0
    calls: int = 0
    checkpoints: int = 0
    events: int = 0
    rewrites: int = 0
    tombstones: int = 0
    forgotten: int = 0
    foreign: int = 0
    clashing: int = 0
    waiting: int = 0
    displaced: int = 0
    erased: int = 0

    def plus(self, other: Imported) -> Imported:
        """Both together."""
        return Imported(*(getattr(self, name) + getattr(other, name) for name in self.__struct_fields__))


class Import(msgspec.Struct, frozen=True):
    """One import into an open ledger: which origins the ref stands for, and what its rows are stamped with."""

    con: Connection
    origins: tuple[str, ...]
    pos: int
    now: datetime


def import_batch(to: Import, batch: Batch) -> Imported:
    """Add what is new of ``batch``. Inside a transaction."""
    stones, erased = _tombstones(to, batch.tombstones)
    rules = Admission(to.con, to.origins)
    _import_sessions(to, rules, batch)
    _checkpoints(to, rules, batch.checkpoints)
    _events(to, rules, batch.events)
    _rewrites(to, rules, batch.rewrites)
    return Imported(**rules.counts, tombstones=stones, erased=erased.total)


def _tombstones(to: Import, stones: Iterable[Tombstone]) -> tuple[int, Erased]:
    known = forgotten(to.con, to.origins)
    fresh = {stone.target: stone for stone in stones if stone.target not in known}
    rows: _Rows = [(s.target, s.reason, s.actor, without_zone(s.recorded_at), s.origin, to.pos) for s in fresh.values()]
    insert_rows(to.con, "tombstones", rows)
    return len(fresh), erase(to.con, fresh.keys(), to.origins)


def _import_sessions(to: Import, rules: Admission, batch: Batch) -> None:
    owners = rules.owners("sessions", {*(p.session_id for p in batch.parts), *(h.id for h in batch.heads)})
    fresh: list[str] = []
    rows: _Rows = []
    for head in batch.heads:
        if head.id in rules.gone:
            rules.counts["forgotten"] += 1
        elif rules.admit("sessions", head.id, head.origin, owners):
            fresh.append(head.id)
            rows.append(_head_row(to, rules.gone.without_words(head)))
    insert_rows(to.con, "sessions", rows)
    rules.counts["sessions"] += len(rows)
    if fresh:
        _drop_foreign_ranges(to.con, fresh)
    _import_parts(to, rules, [part for part in batch.parts if _may_add(rules, part, owners)], set(fresh))


def _head_row(to: Import, s: Session) -> tuple[object, ...]:
    row = (s.id, s.agent, s.native_id, s.parent_id, s.forked_from, s.actor, s.agent_type, s.description)
    more = (s.spawn_depth, s.author_name, s.author_email, s.origin, s.branch, s.cwd, s.model, s.title)
    return (*row, *more, without_zone(s.started_at), without_zone(to.now), to.pos)


def _drop_foreign_ranges(con: Connection, sessions: Sequence[str]) -> None:
    """Checkpoints of others may have named these sessions before they were here."""
    con.execute(
        """DELETE FROM checkpoint_sessions k USING checkpoints c, sessions s
           WHERE c.id = k.checkpoint_id AND s.id = k.session_id AND list_contains($ids::VARCHAR[], s.id)
               AND replace(c.origin, $mark, '') <> replace(s.origin, $mark, '')""",
        {"ids": list(sessions), "mark": UNVERIFIED},
    )


def _may_add(rules: Admission, part: Part, owners: dict[str, str]) -> bool:
    owner = owners.get(part.session_id)
    if owner in rules.origins and part.session_id not in rules.gone:
        return True
    reason = "forgotten" if part.session_id in rules.gone else "waiting" if owner is None else "foreign"
    rules.counts[reason] += 1
    return False


def _import_parts(to: Import, rules: Admission, parts: Sequence[Part], fresh: Collection[str]) -> None:
    known = _StoredNumbers(to.con, {part.session_id for part in parts}.difference(fresh))
    turns: _Rows = []
    calls: _Rows = []
    edits: _Rows = []
    at = without_zone(to.now)
    for part in parts:
        owner = part.session_id
        for t in part.turns:
            if rules.gone and rules.gone.turn(t):
                rules.counts["forgotten"] += 1
            elif rules.is_new(known.turns, owner, t.uid, t.seq):
                turns.append((owner, t.seq, t.uid, t.role, t.content, without_zone(t.occurred_at), at, t.model, to.pos))
        _import_calls(to, rules, part, known, calls, edits)
    for table, rows in (("turns", turns), ("tool_calls", calls), ("edits", edits)):
        insert_rows(to.con, table, rows)
    rules.counts.update(turns=len(turns), calls=len(calls))


def _import_calls(to: Import, rules: Admission, part: Part, known: _StoredNumbers, rows: _Rows, edits: _Rows) -> None:
    owner, gone = part.session_id, set()
    for c in part.tool_calls:
        if rules.gone and rules.gone.call(c):
            rules.counts["forgotten"] += 1
            gone.add(c.seq)
        elif rules.is_new(known.calls, owner, c.uid, c.seq):
            head = (owner, c.seq, c.uid, c.turn_seq, c.tool, c.path, c.command, c.outcome, c.excerpt)
            rows.append((*head, without_zone(c.occurred_at), to.pos))
    for e in part.edits:
        if (owner, e.seq) not in known.edits and e.tool_call_seq not in gone and not rules.gone.content(e.path):
            known.edits.add((owner, e.seq))
            edits.append((owner, e.seq, e.tool_call_seq, e.path, list(e.line_hashes), to.pos))


class _StoredNumbers:
    """Uids and numbers of what is stored of some sessions."""

    def __init__(self, con: Connection, sessions: Collection[str]) -> None:
        def pairs(columns: str, table: str) -> set[tuple[str, str | int]]:
            sql = f"SELECT session_id, {columns} FROM {table} WHERE session_id IN (SELECT unnest(?::VARCHAR[]))"
            rows = con.execute(sql, [sorted(sessions)]).fetchall() if sessions else []
            return {(row[0], value) for row in rows for value in row[1:]}

        self.turns = pairs("uid, seq", "turns")
        self.calls = pairs("uid, seq", "tool_calls")
        self.edits = pairs("seq", "edits")


def _checkpoints(to: Import, rules: Admission, checkpoints: Sequence[Checkpoint]) -> None:
    left = [c for c in map(rules.gone.left_of, checkpoints) if c is not None]
    rules.counts["forgotten"] += len(checkpoints) - len(left)
    stored = rules.owners("checkpoints", {c.id for c in left})
    linked = _Links(rules, set(stored), {r.session_id for c in left for r in c.sessions})
    rows: _Rows = []
    files: _Rows = []
    ranges: _Rows = []
    for c in left:
        admitted = rules.admit("checkpoints", c.id, c.origin, stored)
        if admitted:
            head = (c.id, c.git_sha, c.tree_sha, c.patch_id, c.parent_sha, c.branch, c.subject, c.author_email)
            rows.append((*head, without_zone(c.committed_at), without_zone(to.now), c.origin, to.pos))
            files.extend((c.id, f.path, f.change, f.old_path, to.pos) for f in c.files)
        if admitted is not False:
            welcome = (r for r in c.sessions if linked.may(c, r))
            ranges.extend((c.id, r.session_id, r.first_seq, r.last_seq, r.evidence, to.pos) for r in welcome)
    for table, made in (("checkpoints", rows), ("files_touched", files), ("checkpoint_sessions", ranges)):
        insert_rows(to.con, table, made)
    rules.counts["checkpoints"] += len(rows)


class _Links:
    """The sessions a checkpoint may name: those of its own ref, and those that are not here."""

    def __init__(self, rules: Admission, checkpoints: Collection[str], sessions: Collection[str]) -> None:
        self._rules = rules
        self._owners = rules.owners("sessions", sessions)
        rows = rules.con.execute(
            """SELECT checkpoint_id, session_id FROM checkpoint_sessions
               WHERE checkpoint_id IN (SELECT unnest(?::VARCHAR[]))""",
            [sorted(checkpoints)],
        )
        self._known = {(str(c), str(s)) for c, s in rows.fetchall()}

    def may(self, c: Checkpoint, r: SessionRange) -> bool:
        """True if this is a new link that is the ref's to make."""
        if self._owners.get(r.session_id, c.origin) not in self._rules.origins:
            self._rules.counts["foreign"] += 1
            return False
        new = (c.id, r.session_id) not in self._known
        self._known.add((c.id, r.session_id))
        return new


def _events(to: Import, rules: Admission, events: Sequence[MemoryEvent]) -> None:
    stored = rules.owners("memory_events", {e.id for e in events})
    rows: _Rows = []
    for e in events:
        if rules.gone.event(e):
            rules.counts["forgotten"] += 1
        elif rules.admit("memory_events", e.id, e.origin, stored):
            head = (e.id, e.memory_id, e.kind, e.payload, e.actor, e.actor_type)
            rows.append((*head, without_zone(e.occurred_at), without_zone(e.recorded_at), e.source, e.origin, to.pos))
    insert_rows(to.con, "memory_events", rows)
    rules.counts["events"] += len(rows)


def _rewrites(to: Import, rules: Admission, rewrites: Sequence[Rewrite]) -> None:
    """New rewrites, but of commits that only others have checkpoints of: those are not this ref's to rename."""
    known = {(str(a), str(b)) for a, b in to.con.execute("SELECT old_sha, new_sha FROM rewrites").fetchall()}
    fresh = {(r.old_sha, r.new_sha): r for r in rewrites if (r.old_sha, r.new_sha) not in known}
    rows = to.con.execute(
        """SELECT git_sha FROM checkpoints WHERE git_sha IN (SELECT unnest(?::VARCHAR[]))
           GROUP BY git_sha HAVING NOT bool_or(list_contains(?::VARCHAR[], origin))""",
        [[old for old, _ in fresh], list(rules.origins)],
    )
    theirs = {str(row[0]) for row in rows.fetchall()}
    kept = [r for r in fresh.values() if r.old_sha not in theirs]
    insert_rows(to.con, "rewrites", [(r.old_sha, r.new_sha, r.how, without_zone(to.now), to.pos) for r in kept])
    rules.counts.update(rewrites=len(kept), foreign=len(fresh) - len(kept))


def read_tips(con: Connection) -> dict[str, str]:
    """Return the commit up to which each teammate's ref was read, by the ref's name; empty for one that was refused."""
    return {str(ref): str(tip) for ref, tip in con.execute("SELECT ref, tip FROM received").fetchall()}


def note_tip(con: Connection, ref: str, tip: str, signature: str) -> None:
    """Remember up to where a ref was read, and git's letter for its signature. Inside a transaction."""
    con.execute("INSERT OR REPLACE INTO received VALUES (?, ?, ?)", [ref, tip, signature])
