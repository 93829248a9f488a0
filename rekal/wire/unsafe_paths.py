"""No path that leaves the repository crosses the border: going out it would tell, coming in it would harm."""

from __future__ import annotations

from typing import TypeVar

from msgspec.structs import replace

from rekal.model import Checkpoint, Session, ToolCall
from rekal.wire.limits import SkipReason, Tally
from rekal.wire.session_parts import SessionPart
from rekal.wire.strings import safe_path

Kept = TypeVar("Kept")


def _maybe(path: str | None, tally: Tally) -> str | None:
    if path is None or safe_path(path):
        return path
    tally.skip(SkipReason.UNSAFE_PATH)
    return None


def _without_path(call: ToolCall, tally: Tally) -> ToolCall:
    path = _maybe(call.path, tally)
    return call if path == call.path else replace(call, path=path)


def without_unsafe_paths(record: Kept, tally: Tally) -> Kept:
    """``record`` with the paths counted and gone that :func:`rekal.wire.strings.safe_path` refuses.

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
