"""The wire codec: records to immutable segments and back.

:func:`encode_segments` yields segments of at most 4 MiB, the same bytes for the same records. :class:`SegmentReader`
takes any bytes a stranger can push and yields the records that are there; what it left out and why is in its report.
The bytes are described in ``docs/wire-format.md``.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import TypeVar, cast

import msgspec
from msgspec.structs import replace

from rekal.model import LOCAL, Checkpoint, MemoryEvent, Rewrite, Session, Tombstone, ToolCall
from rekal.wire import frames, limits, records, session_parts
from rekal.wire.columns import ColumnReader
from rekal.wire.frames import HEADER, Packed, Packer, Pieces, cut_payload, read_frames
from rekal.wire.limits import Damaged, SkipReason, Tally, WireReport, safe_path
from rekal.wire.session_parts import SessionPart

Record = Session | SessionPart | Checkpoint | MemoryEvent | Rewrite | Tombstone

HEAD, TURNS, CHECKPOINT, EVENT, REWRITE, TOMBSTONE, FRAGMENT, BUNDLE = range(1, 9)
SUFFIX = ".rkl"
NAME_LENGTH = 16  # of a segment's name in a tree: git keeps as much again for the object
_KINDS = range(HEAD, BUNDLE + 1)
_WHOLE = range(HEAD, FRAGMENT)  # kinds of records
_TOGETHER = 32 << 10  # characters of several kinds that share a frame
_GROUP = 1 << 20  # characters that one frame takes before the next begins


class Segment(msgspec.Struct, frozen=True):
    """A finished segment. ``name`` is the BLAKE2b of ``data``, 40 hexadecimal characters."""

    name: str
    data: bytes

    @property
    def file_name(self) -> str:
        """Name of the file in a ref's tree."""
        return self.name[:NAME_LENGTH] + SUFFIX


def segment_name(data: bytes) -> str:
    """Return the name of a segment with these bytes, 40 hexadecimal characters."""
    return hashlib.blake2b(data, digest_size=20).hexdigest()


def _kinds_of(record: Record) -> Iterator[tuple[int, Record]]:
    if isinstance(record, Session):
        yield HEAD, msgspec.structs.replace(record, turns=(), tool_calls=(), edits=())
        if record.turns or record.tool_calls or record.edits:
            yield TURNS, SessionPart(record.id, record.turns, record.tool_calls, record.edits)
    elif isinstance(record, SessionPart):
        yield TURNS, record
    elif isinstance(record, Checkpoint):
        yield CHECKPOINT, record
    elif isinstance(record, MemoryEvent):
        yield EVENT, record
    else:
        yield (REWRITE if isinstance(record, Rewrite) else TOMBSTONE), record


def _pack(kind: int, items: Sequence[Record]) -> bytes:
    if kind == TURNS:
        return session_parts.pack_parts(cast(Sequence[SessionPart], items))
    if kind == HEAD:
        return records.pack_heads(cast(Sequence[Session], items))
    if kind == CHECKPOINT:
        return records.pack_checkpoints(cast(Sequence[Checkpoint], items))
    if kind == EVENT:
        return records.pack_events(cast(Sequence[MemoryEvent], items))
    if kind == REWRITE:
        return records.pack_rewrites(cast(Sequence[Rewrite], items))
    return records.pack_tombstones(cast(Sequence[Tombstone], items))


def _bundle(groups: Mapping[int, Sequence[Record]], most: int) -> bytes | None:
    """One payload for the records of several kinds, None where that is not worth it or not possible."""
    if len(groups) < 2 or sum(_payload_weight(record) for group in groups.values() for record in group) > most:
        return None
    try:
        return frames.join_payloads({kind: _pack(kind, group) for kind, group in groups.items()})
    except (ValueError, OverflowError):
        return None


class _Builder:
    """Turns groups of records into frames and frames into segments."""

    def __init__(self, tally: Tally) -> None:
        self._packer = Packer()
        self._tally = tally
        self._frames: list[bytes] = []
        self._size = len(HEADER)
        self._plain = 0
        self._entries = 0

    def _fragments(self, kind: int, payload: bytes) -> Iterator[Packed]:
        pieces = cut_payload(kind, payload)
        if not pieces:
            self._tally.skip(SkipReason.UNWRITABLE)
        for piece in pieces:
            yield self._packer.pack(FRAGMENT, piece)

    def _pack(self, kind: int, items: Sequence[Record]) -> Iterator[tuple[Packed, int]]:
        # Halving until it fits also leaves a record that cannot be written on its own, so that only it is lost.
        parts = _halve(items)
        if parts and sum(map(_payload_weight, items)) > _GROUP:
            payload = None
        else:
            try:
                payload = _pack(kind, items)
            except (ValueError, OverflowError):
                payload = None
        if payload is not None and len(payload) <= limits.MAX_PLAIN:
            packed = self._packer.pack(kind, payload)
            if len(packed.data) + len(HEADER) <= limits.MAX_SEGMENT:
                yield packed, sum(map(_count_entries, items))
                return
        if parts:
            for half in parts:
                yield from self._pack(kind, half)
        elif payload is not None:
            for packed in self._fragments(kind, payload):
                yield packed, sum(map(_count_entries, items))
        else:
            self._tally.skip(SkipReason.UNWRITABLE)

    def add(self, kind: int, items: Sequence[Record]) -> Iterator[Segment]:
        """Take records of one kind; yield the segments that became full."""
        for packed, entries in self._pack(kind, items):
            yield from self._put(packed, entries)

    def add_last(self, groups: Mapping[int, Sequence[Record]], most: int) -> Iterator[Segment]:
        """Take the last records of all kinds, in one frame where they have at most about ``most`` characters."""
        together = _bundle(groups, most)
        if together is not None:
            yield from self._put(self._packer.pack(BUNDLE, together), sum(map(_count_entries, chain(*groups.values()))))
            return
        for kind, group in groups.items():
            yield from self.add(kind, group)

    def _put(self, packed: Packed, entries: int) -> Iterator[Segment]:
        if (
            self._size + len(packed.data) > limits.MAX_SEGMENT
            or self._plain + packed.plain > limits.MAX_SEGMENT_PLAIN
            or self._entries + entries > limits.MAX_ENTRIES
            or len(self._frames) == limits.MAX_FRAMES
        ):
            yield from self.finish()
        self._frames.append(packed.data)
        self._size += len(packed.data)
        self._plain += packed.plain
        self._entries += entries

    def finish(self) -> Iterator[Segment]:
        """Yield the segment begun, if there is one."""
        if self._frames:
            data = HEADER + b"".join(self._frames)
            self._tally.segments += 1
            self._tally.frames += len(self._frames)
            self._frames, self._size, self._plain, self._entries = [], len(HEADER), 0, 0
            yield Segment(segment_name(data), data)


def _payload_weight(record: Record) -> int:
    if isinstance(record, SessionPart):
        return session_parts.part_weight(record)
    if isinstance(record, Checkpoint):
        return 200 + 80 * len(record.files) + 40 * len(record.sessions)
    return 200 + len(record.payload) if isinstance(record, MemoryEvent) else 300


def _count_entries(record: Record) -> int:
    """Return the most entries that a record brings to its columns, the table of names included."""
    if isinstance(record, SessionPart):
        hashes = sum(len(edit.line_hashes) for edit in record.edits)
        return 8 + 8 * len(record.turns) + 12 * len(record.tool_calls) + 6 * len(record.edits) + hashes
    if isinstance(record, Checkpoint):
        return 18 + 5 * len(record.files) + 4 * len(record.sessions)
    return 32


def _halve(items: Sequence[Record]) -> tuple[Sequence[Record], Sequence[Record]] | None:
    middle = len(items) // 2
    if middle:
        return items[:middle], items[middle:]
    (only,) = items
    if isinstance(only, SessionPart):
        parts = session_parts.halve_part(only)
        return parts and ([parts[0]], [parts[1]])
    return None


def encode_segments(
    items: Iterable[Record], tally: Tally | None = None, *, together: int = _TOGETHER
) -> Iterator[Segment]:
    """Yield the segments that hold ``items``: the same bytes for the same records in the same order.

    Up to about ``together`` characters go into one frame, whatever their kinds: more would be lost with it. A session
    with turns becomes its head and a :class:`SessionPart`. What cannot be written (paths that leave the repository,
    records over the format's limits) is counted in ``tally``.
    """
    tally = Tally() if tally is None else tally
    builder = _Builder(tally)
    groups: dict[int, list[Record]] = {kind: [] for kind in _WHOLE}
    weights = dict.fromkeys(_WHOLE, 0)
    for item in items:
        tally.records += 1
        for kind, record in _kinds_of(item):
            groups[kind].append(_without_unsafe_paths(record, tally))
            weights[kind] += _payload_weight(record)
            if weights[kind] >= _GROUP or len(groups[kind]) == limits.MAX_ITEMS:
                yield from builder.add(kind, groups[kind])
                groups[kind], weights[kind] = [], 0
    yield from builder.add_last({kind: group for kind, group in groups.items() if group}, together)
    yield from builder.finish()


class SegmentReader:
    """Reads segments. Every record is stamped with ``origin``, the ref it came by."""

    def __init__(self, origin: str = LOCAL) -> None:
        self._origin = origin
        self._tally = Tally()
        self._pieces = Pieces(_WHOLE)

    @property
    def entries(self) -> int:
        """Entries of all columns read so far: what decoding costs."""
        return self._tally.entries

    @property
    def frames(self) -> int:
        """Frames read so far."""
        return self._tally.frames

    def _unpack_all(self, kind: int, payload: bytes) -> Iterator[Record]:
        """The records of a frame; a payload in it that cannot be used costs itself."""
        payloads = frames.split_payloads(payload, _WHOLE, self._tally) if kind == BUNDLE else [(kind, payload)]
        for inner, data in payloads:
            try:
                yield from self._unpack(inner, data)
            except Damaged as error:
                self._tally.skip(error.reason)

    def _unpack(self, kind: int, payload: bytes) -> Sequence[Record]:
        columns = ColumnReader(payload, self._tally)
        if kind == FRAGMENT:
            whole = self._pieces.add(columns)
            return () if whole is None else self._unpack(*whole)
        out = self._unpack_kind(kind, columns)
        columns.close()
        return [_without_unsafe_paths(record, self._tally) for record in out]

    def _unpack_kind(self, kind: int, columns: ColumnReader) -> Sequence[Record]:
        if kind == TURNS:
            return session_parts.unpack_parts(columns)
        if kind == HEAD:
            return records.unpack_heads(columns, self._origin)
        if kind == CHECKPOINT:
            return records.unpack_checkpoints(columns, self._origin)
        if kind == EVENT:
            return records.unpack_events(columns, self._origin)
        if kind == REWRITE:
            return records.unpack_rewrites(columns)
        return records.unpack_tombstones(columns, self._origin)

    def read(self, data: bytes) -> Iterator[Record]:
        """Yield the records of one segment, frame by frame; heads carry no turns. Never raises for its bytes."""
        most = self._tally.entries + limits.MAX_ENTRIES
        for frame in read_frames(data, _KINDS, self._tally):
            if self._tally.entries > most:
                self._tally.skip(SkipReason.BOMB)
                return
            for record in self._unpack_all(frame.kind, frame.payload):
                self._tally.records += 1
                yield record

    def report(self) -> WireReport:
        """Return the account of all that was read so far and of all that was left out."""
        report = self._tally.report()
        if self._pieces.waiting:
            waiting = limits.Skip(SkipReason.INCOMPLETE, self._pieces.waiting)
            report = msgspec.structs.replace(report, skips=(*report.skips, waiting))
        return report


def decode_segments(segments: Iterable[bytes], origin: str = LOCAL) -> tuple[list[Record], WireReport]:
    """Return all records of several segments, and the report."""
    reader = SegmentReader(origin)
    found = [record for data in segments for record in reader.read(data)]
    return found, reader.report()


# No path that leaves the repository crosses the border: going out it would tell, coming in it would harm.

_Kept = TypeVar("_Kept")


def _maybe(path: str | None, tally: Tally) -> str | None:
    if path is None or safe_path(path):
        return path
    tally.skip(SkipReason.UNSAFE_PATH)
    return None


def _without_path(call: ToolCall, tally: Tally) -> ToolCall:
    path = _maybe(call.path, tally)
    return call if path == call.path else replace(call, path=path)


def _without_unsafe_paths(record: _Kept, tally: Tally) -> _Kept:
    """``record`` with the paths counted and gone that :func:`rekal.wire.limits.safe_path` refuses.

    A session loses its directory, a tool call its path; an edit and a changed file go altogether, for they are nothing
    without it.
    """
    if isinstance(record, Session):
        cwd = _maybe(record.cwd, tally)
        return record if cwd == record.cwd else replace(record, cwd=cwd)
    if isinstance(record, SessionPart):
        calls = tuple(_without_path(call, tally) for call in record.tool_calls)
        edits = tuple(edit for edit in record.edits if _maybe(edit.path, tally) is not None)
        return replace(record, tool_calls=calls, edits=edits)
    if isinstance(record, Checkpoint):
        files = tuple(
            replace(file, old_path=_maybe(file.old_path, tally))
            for file in record.files
            if _maybe(file.path, tally) is not None
        )
        return replace(record, files=files)
    return record
