"""Turns, tool calls and edits of sessions as columns: the payload of a turns frame. Records without unsafe paths."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate, chain
from typing import get_args

import msgspec

from rekal.model import Edit, Outcome, Role, ToolCall, Turn
from rekal.wire.columns import ColumnReader, ColumnWriter, require_all, to_micros, to_time
from rekal.wire.limits import MAX_ITEMS

HASH_BYTES = 5  # of the 8 that a line hash has; see wire_hash
_DROPPED_BITS = 63 - 8 * HASH_BYTES
_ROLES: tuple[Role, ...] = get_args(Role)
_OUTCOMES: tuple[Outcome | None, ...] = (None, *get_args(Outcome))


class SessionPart(msgspec.Struct, frozen=True):
    """Some turns of a session, with tool calls and edits; its head travels apart."""

    session_id: str
    turns: tuple[Turn, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    edits: tuple[Edit, ...] = ()


class _Sizes(msgspec.Struct, frozen=True):
    turns: list[int]
    calls: list[int]
    edits: list[int]


def list_spans(lengths: Sequence[int]) -> list[slice]:
    """Return the place of each of the runs of these lengths in the whole."""
    ends = list(accumulate(lengths))
    return [slice(end - length, end) for end, length in zip(ends, lengths, strict=True)]


def wire_hash(line_hash: int) -> int:
    """Return a line hash as it is after travelling: its upper 40 bits, the lower 23 zero."""
    return line_hash >> _DROPPED_BITS << _DROPPED_BITS


def part_weight(part: SessionPart) -> int:
    """Estimate the characters that ``part`` takes in a payload."""
    calls = sum(60 + len(call.command or "") + len(call.excerpt or "") for call in part.tool_calls)
    edits = sum(20 + HASH_BYTES * len(edit.line_hashes) for edit in part.edits)
    return 40 + sum(40 + len(turn.content) for turn in part.turns) + calls + edits


def _first(values: Sequence[int], least: int) -> int:
    return next((i for i, value in enumerate(values) if value >= least), len(values))


def _middle(part: SessionPart) -> tuple[int, int, int] | None:
    # How many turns, calls and edits the first half gets: calls stay with their turn and edits with their call.
    turns, calls, edits = part.turns, part.tool_calls, part.edits
    if not turns and not calls:
        return (0, 0, len(edits) // 2) if len(edits) > 1 else None
    if len(turns) > 1:
        turn = len(turns) // 2
        call = _first([one.turn_seq for one in calls], turns[turn].seq)
    elif turns:
        return (1, 0, 0) if calls or edits else None
    elif len(calls) > 1:
        turn, call = 0, len(calls) // 2
    else:
        return (0, 1, 0) if edits else None
    edit = _first([one.tool_call_seq for one in edits], calls[call].seq) if call < len(calls) else len(edits)
    return turn, call, edit


def halve_part(part: SessionPart) -> tuple[SessionPart, SessionPart] | None:
    """Return ``part`` as two smaller ones, None when it is a single turn, call or edit."""
    middle = _middle(part)
    if middle is None:
        return None
    turn, call, edit = middle
    first = SessionPart(part.session_id, part.turns[:turn], part.tool_calls[:call], part.edits[:edit])
    return first, SessionPart(part.session_id, part.turns[turn:], part.tool_calls[call:], part.edits[edit:])


def _call_bases(turn_seqs: Sequence[int], turn_times: dict[int, int | None]) -> list[int | None]:
    # A turn's first call happens right after it, the others after one another.
    before = chain((None,), turn_seqs)
    return [turn_times.get(seq) if seq != last else None for seq, last in zip(turn_seqs, before, strict=False)]


def _pack_turns(out: ColumnWriter, turns: Sequence[Turn]) -> None:
    out.steps(turn.seq for turn in turns)
    out.choices((turn.role for turn in turns), _ROLES)
    out.names(turn.model for turn in turns)
    out.times([turn.occurred_at for turn in turns])
    out.texts(turn.content for turn in turns)


def _pack_calls(out: ColumnWriter, parts: Sequence[SessionPart], calls: Sequence[ToolCall]) -> None:
    bases: list[int | None] = []
    for part in parts:
        turn_times = {turn.seq: to_micros(turn.occurred_at) for turn in part.turns}
        bases += _call_bases([call.turn_seq for call in part.tool_calls], turn_times)
    out.steps(call.seq for call in calls)
    out.steps(call.turn_seq for call in calls)
    out.names(call.tool for call in calls)
    out.names(call.path for call in calls)
    out.choices((call.outcome for call in calls), _OUTCOMES)
    out.micros([to_micros(call.occurred_at) for call in calls], bases)
    out.texts(call.command for call in calls)
    out.texts(call.excerpt for call in calls)


def _pack_edits(out: ColumnWriter, parts: Sequence[SessionPart]) -> None:
    edits = [edit for part in parts for edit in part.edits]
    paths: list[str | None] = []
    for part in parts:
        called = {call.seq: call.path for call in part.tool_calls}
        paths += [None if called.get(edit.tool_call_seq) == edit.path else edit.path for edit in part.edits]
    hashes = [value >> _DROPPED_BITS for edit in edits for value in edit.line_hashes]
    out.steps(edit.seq for edit in edits)
    out.steps(edit.tool_call_seq for edit in edits)
    out.names(paths)
    out.ints([len(edit.line_hashes) for edit in edits])
    out.blob(b"".join(value.to_bytes(HASH_BYTES, "big") for value in hashes))


def pack_parts(parts: Sequence[SessionPart]) -> bytes:
    """Return the payload of a turns frame. Raises ValueError for what the format cannot say."""
    turns = [turn for part in parts for turn in part.turns]
    calls = [call for part in parts for call in part.tool_calls]
    out = ColumnWriter(len(parts))
    out.keys(part.session_id for part in parts)
    out.ints([len(part.turns) for part in parts])
    out.ints([len(part.tool_calls) for part in parts])
    out.ints([len(part.edits) for part in parts])
    out.keys(turn.uid for turn in turns)
    out.keys(call.uid for call in calls)
    _pack_turns(out, turns)
    _pack_calls(out, parts, calls)
    _pack_edits(out, parts)
    return out.payload()


class _Turns(msgspec.Struct, frozen=True):
    seqs: list[int]
    micros: list[int | None]
    turns: list[Turn | None]  # None: of a role that a later version added


def _unpack_turns(columns: ColumnReader, uids: list[str]) -> _Turns:
    count = len(uids)
    seqs = columns.steps(count)
    roles = columns.choices(count, _ROLES)
    models = columns.names(count)
    micros = columns.micros(count, [None] * count)
    contents = require_all(columns.texts(count))
    rows = zip(seqs, uids, roles, contents, micros, models, strict=True)
    turns = [
        None if role is None else Turn(seq, uid, role, content, to_time(when), model)
        for seq, uid, role, content, when, model in rows
    ]
    return _Turns(seqs, micros, turns)


def _unpack_calls(columns: ColumnReader, uids: list[str], sizes: _Sizes, turns: _Turns) -> list[ToolCall]:
    count = len(uids)
    seqs = columns.steps(count)
    turn_seqs = columns.steps(count)
    tools = require_all(columns.names(count))
    paths = columns.names(count)
    outcomes = columns.choices(count, _OUTCOMES)
    bases: list[int | None] = []
    for of_turns, of_calls in zip(list_spans(sizes.turns), list_spans(sizes.calls), strict=True):
        times = dict(zip(turns.seqs[of_turns], turns.micros[of_turns], strict=True))
        bases += _call_bases(turn_seqs[of_calls], times)
    micros = columns.micros(count, bases)
    commands = columns.texts(count)
    excerpts = columns.texts(count)
    times_ = map(to_time, micros)
    rows = zip(seqs, uids, turn_seqs, tools, paths, commands, outcomes, excerpts, times_, strict=True)
    return [ToolCall(*row) for row in rows]


def _hashes(blob: bytes) -> list[int]:
    import numpy as np  # reading only: a push must not pay for it

    whole = np.zeros((len(blob) // HASH_BYTES, 8), dtype=np.uint8)
    whole[:, 8 - HASH_BYTES :] = np.frombuffer(blob, dtype=np.uint8).reshape(-1, HASH_BYTES)
    values: list[int] = (whole.view(">u8").ravel() << np.uint64(_DROPPED_BITS)).tolist()
    return values


def _unpack_edits(columns: ColumnReader, sizes: _Sizes, calls: list[ToolCall]) -> list[Edit | None]:
    count = sum(sizes.edits)
    seqs = columns.steps(count)
    call_seqs = columns.steps(count)
    paths = columns.names(count)
    lengths = columns.ints(count, 0, MAX_ITEMS)
    blob = columns.blob(HASH_BYTES * sum(lengths))
    out: list[Edit | None] = []
    for of_calls, of_edits in zip(list_spans(sizes.calls), list_spans(sizes.edits), strict=True):
        called = {call.seq: call.path for call in calls[of_calls]}
        for i in range(of_edits.start, of_edits.stop):
            path = paths[i] if paths[i] is not None else called.get(call_seqs[i])
            out.append(None if path is None else Edit(seqs[i], call_seqs[i], path, ()))
    hashes = _hashes(blob)
    return [
        edit and msgspec.structs.replace(edit, line_hashes=tuple(hashes[span]))
        for edit, span in zip(out, list_spans(lengths), strict=True)
    ]


def unpack_parts(columns: ColumnReader) -> list[SessionPart]:
    """The reverse of :func:`pack_parts`. Raises :class:`Damaged`."""
    count = columns.count
    session_ids = require_all(columns.keys(count))
    sizes = _Sizes(columns.ints(count), columns.ints(count), columns.ints(count))
    turn_uids = require_all(columns.keys(sum(sizes.turns)))
    call_uids = require_all(columns.keys(sum(sizes.calls)))
    turns = _unpack_turns(columns, turn_uids)
    calls = _unpack_calls(columns, call_uids, sizes, turns)
    edits = _unpack_edits(columns, sizes, calls)
    rows = zip(session_ids, *map(list_spans, (sizes.turns, sizes.calls, sizes.edits)), strict=True)
    return [
        SessionPart(
            session_id,
            tuple(turn for turn in turns.turns[of_turns] if turn),
            tuple(calls[of_calls]),
            tuple(edit for edit in edits[of_edits] if edit),
        )
        for session_id, of_turns, of_calls, of_edits in rows
    ]
