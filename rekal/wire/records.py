"""All other kinds of record as columns: session heads, checkpoints, memory events, rewrites and tombstones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, get_args

from rekal import ids
from rekal.model import (
    Actor,
    Change,
    Checkpoint,
    Evidence,
    FileChange,
    MemoryEvent,
    Rewrite,
    Session,
    SessionRange,
    Tombstone,
)
from rekal.wire.columns import ColumnReader, ColumnWriter, require_all
from rekal.wire.limits import MAX_SEQ, Damaged, SkipReason
from rekal.wire.session_parts import list_spans

_How = Literal["amend", "rebase", "squash", "patch-id"]
_ACTORS: tuple[Actor, ...] = get_args(Actor)
_CHANGES: tuple[Change, ...] = get_args(Change)
_EVIDENCE: tuple[Evidence, ...] = get_args(Evidence)
_HOW: tuple[_How, ...] = get_args(_How)


def pack_heads(heads: Sequence[Session]) -> bytes:
    """The payload of a session-head frame. An id that follows from its parts is left to the reader."""
    out = ColumnWriter(len(heads))
    derived = [ids.session_id(head.agent, head.native_id, head.author_email) for head in heads]
    out.keys(None if head.id == known else head.id for head, known in zip(heads, derived, strict=True))
    out.names(head.agent for head in heads)
    out.keys(head.native_id for head in heads)
    out.names(head.author_name for head in heads)
    out.names(head.author_email for head in heads)
    out.keys(head.parent_id for head in heads)
    out.keys(head.forked_from for head in heads)
    out.choices((head.actor for head in heads), _ACTORS)
    out.names(head.agent_type for head in heads)
    out.texts(head.description for head in heads)
    out.ints([head.spawn_depth for head in heads])
    out.names(head.branch for head in heads)
    out.names(head.cwd for head in heads)
    out.names(head.model for head in heads)
    out.texts(head.title for head in heads)
    out.times([head.started_at for head in heads])
    return out.payload()


def _given(id_: str | None, derived: str) -> str:
    return derived if id_ is None else id_


def unpack_heads(columns: ColumnReader, origin: str) -> list[Session]:
    """The reverse of :func:`pack_heads`; every head is stamped with ``origin``. Raises :class:`Damaged`."""
    count = columns.count
    session_ids = columns.keys(count)
    agents, natives = require_all(columns.names(count)), require_all(columns.keys(count))
    names, emails = require_all(columns.names(count)), require_all(columns.names(count))
    parents, forks = columns.keys(count), columns.keys(count)
    actors, types = columns.choices(count, _ACTORS), columns.names(count)
    descriptions, depths = columns.texts(count), columns.maybe_ints(count)
    branches, cwds, models = columns.names(count), columns.names(count), columns.names(count)
    titles, starts = columns.texts(count), columns.times(count)
    return [
        Session(
            id=_given(session_ids[i], ids.session_id(agents[i], natives[i], emails[i])),
            agent=agents[i],
            native_id=natives[i],
            author_name=names[i],
            author_email=emails[i],
            origin=origin,
            parent_id=parents[i],
            forked_from=forks[i],
            actor=actor,
            agent_type=types[i],
            description=descriptions[i],
            spawn_depth=depths[i],
            branch=branches[i],
            cwd=cwds[i],
            model=models[i],
            title=titles[i],
            started_at=starts[i],
        )
        for i, actor in enumerate(actors)
        if actor is not None
    ]


def pack_checkpoints(checkpoints: Sequence[Checkpoint]) -> bytes:
    """The payload of a checkpoint frame: the commits, then all their files, then all their session ranges."""
    out = ColumnWriter(len(checkpoints))
    derived = [ids.checkpoint_id(one.git_sha, one.author_email) for one in checkpoints]
    out.keys(None if one.id == known else one.id for one, known in zip(checkpoints, derived, strict=True))
    out.keys(one.git_sha for one in checkpoints)
    out.names(one.author_email for one in checkpoints)
    out.keys(one.tree_sha for one in checkpoints)
    out.keys(one.patch_id for one in checkpoints)
    out.keys(one.parent_sha for one in checkpoints)
    out.names(one.branch for one in checkpoints)
    out.texts(one.subject for one in checkpoints)
    out.times([one.committed_at for one in checkpoints])
    out.ints([len(one.files) for one in checkpoints])
    out.ints([len(one.sessions) for one in checkpoints])
    files = [file for one in checkpoints for file in one.files]
    out.names(file.path for file in files)
    out.choices((file.change for file in files), _CHANGES)
    out.names(file.old_path for file in files)
    ranges = [part for one in checkpoints for part in one.sessions]
    out.keys(part.session_id for part in ranges)
    out.ints([part.first_seq for part in ranges], -1)
    out.ints([part.last_seq - part.first_seq for part in ranges], -MAX_SEQ, MAX_SEQ)
    out.choices((part.evidence for part in ranges), _EVIDENCE)
    return out.payload()


def _unpack_files(columns: ColumnReader, count: int) -> list[FileChange | None]:
    paths = require_all(columns.names(count))
    changes = columns.choices(count, _CHANGES)
    old_paths = columns.names(count)
    rows = zip(paths, changes, old_paths, strict=True)
    return [change and FileChange(path, change, old_path) for path, change, old_path in rows]


def _unpack_ranges(columns: ColumnReader, count: int) -> list[SessionRange | None]:
    session_ids = require_all(columns.keys(count))
    firsts = columns.ints(count, -1)
    lengths = columns.ints(count, -MAX_SEQ)
    lasts = [first + length for first, length in zip(firsts, lengths, strict=True)]
    if any(not -1 <= last <= MAX_SEQ for last in lasts):
        raise Damaged(SkipReason.DAMAGED, "a range outside any session")
    rows = zip(session_ids, firsts, lasts, columns.choices(count, _EVIDENCE), strict=True)
    return [evidence and SessionRange(id_, first, last, evidence) for id_, first, last, evidence in rows]


def unpack_checkpoints(columns: ColumnReader, origin: str) -> list[Checkpoint]:
    """The reverse of :func:`pack_checkpoints`; each is stamped with ``origin``. Raises :class:`Damaged`."""
    count = columns.count
    checkpoint_ids, shas = columns.keys(count), require_all(columns.keys(count))
    emails = require_all(columns.names(count))
    trees, patches, parents = columns.keys(count), columns.keys(count), columns.keys(count)
    branches, subjects = columns.names(count), columns.texts(count)
    times = columns.times(count)
    n_files, n_ranges = columns.ints(count), columns.ints(count)
    files = _unpack_files(columns, sum(n_files))
    ranges = _unpack_ranges(columns, sum(n_ranges))
    rows = enumerate(zip(list_spans(n_files), list_spans(n_ranges), strict=True))
    return [
        Checkpoint(
            id=_given(checkpoint_ids[i], ids.checkpoint_id(shas[i], emails[i])),
            git_sha=shas[i],
            author_email=emails[i],
            tree_sha=trees[i],
            patch_id=patches[i],
            parent_sha=parents[i],
            branch=branches[i],
            subject=subjects[i],
            committed_at=times[i],
            origin=origin,
            files=tuple(file for file in files[of_files] if file),
            sessions=tuple(one for one in ranges[of_ranges] if one),
        )
        for i, (of_files, of_ranges) in rows
    ]


def pack_events(events: Sequence[MemoryEvent]) -> bytes:
    """The payload of a memory-event frame."""
    out = ColumnWriter(len(events))
    out.keys(event.id for event in events)
    out.keys(event.memory_id for event in events)
    out.names(event.kind for event in events)
    out.names(event.actor for event in events)
    out.names(event.actor_type for event in events)
    out.times([event.occurred_at for event in events])
    out.times([event.recorded_at for event in events])
    out.texts(event.source for event in events)
    out.texts(event.payload for event in events)
    return out.payload()


def unpack_events(columns: ColumnReader, origin: str) -> list[MemoryEvent]:
    """The reverse of :func:`pack_events`; each is stamped with ``origin``. Raises :class:`Damaged`."""
    count = columns.count
    event_ids, memory_ids = require_all(columns.keys(count)), require_all(columns.keys(count))
    kinds, actors, types = (require_all(columns.names(count)) for _ in range(3))
    occurred, learnt = require_all(columns.times(count)), require_all(columns.times(count))
    sources, payloads = columns.texts(count), require_all(columns.texts(count))
    times = zip(occurred, learnt, strict=True)
    rows = zip(event_ids, memory_ids, kinds, payloads, actors, types, times, sources, strict=True)
    return [
        MemoryEvent(id_, memory_id, kind, payload, actor, actor_type, said, recorded, source, origin)
        for id_, memory_id, kind, payload, actor, actor_type, (said, recorded), source in rows
    ]


def pack_rewrites(rewrites: Sequence[Rewrite]) -> bytes:
    """The payload of a rewrite frame."""
    out = ColumnWriter(len(rewrites))
    out.keys(rewrite.old_sha for rewrite in rewrites)
    out.keys(rewrite.new_sha for rewrite in rewrites)
    out.choices((rewrite.how for rewrite in rewrites), _HOW)
    return out.payload()


def unpack_rewrites(columns: ColumnReader) -> list[Rewrite]:
    """The reverse of :func:`pack_rewrites`. Raises :class:`Damaged`."""
    count = columns.count
    old, new = require_all(columns.keys(count)), require_all(columns.keys(count))
    rows = zip(old, new, columns.choices(count, _HOW), strict=True)
    return [Rewrite(old_sha, new_sha, how) for old_sha, new_sha, how in rows if how is not None]


def pack_tombstones(tombstones: Sequence[Tombstone]) -> bytes:
    """The payload of a tombstone frame."""
    out = ColumnWriter(len(tombstones))
    out.keys(one.target for one in tombstones)
    out.names(one.actor for one in tombstones)
    out.times([one.recorded_at for one in tombstones])
    out.texts(one.reason for one in tombstones)
    return out.payload()


def unpack_tombstones(columns: ColumnReader, origin: str) -> list[Tombstone]:
    """The reverse of :func:`pack_tombstones`; each is stamped with ``origin``. Raises :class:`Damaged`."""
    count = columns.count
    targets, actors = require_all(columns.keys(count)), require_all(columns.names(count))
    times, reasons = require_all(columns.times(count)), require_all(columns.texts(count))
    rows = zip(targets, reasons, actors, times, strict=True)
    return [Tombstone(*row, origin) for row in rows]
