"""The spool: what happened since the store was last written.

Hooks and recall leave events here, the next writer drains them. Each event is a file of its own, written under a
temporary name and renamed, so that no two writers share a file and no reader sees half a line; a drained file is
removed only after its transaction is in. An event that cannot be understood is moved aside and counted.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Literal

import msgspec

from rekal import ids
from rekal.files import write_atomically

_BROKEN = "broken"
_RECALLS = "recalls.jsonl"  # one file for all: nobody waits for these, and each recall leaves one
_FAILED_ONCE = ".failed.json"  # still waiting: the next capture tries it once more


class CommitEvent(msgspec.Struct, frozen=True, tag="commit", tag_field="kind"):
    """A commit was made in the work tree that ``git_dir`` belongs to."""

    sha: str
    git_dir: str = ""
    at: int = 0


class RewriteEvent(msgspec.Struct, frozen=True, tag="rewrite", tag_field="kind"):
    """``git commit --amend`` or ``git rebase`` replaced commits."""

    how: Literal["amend", "rebase"]
    pairs: tuple[tuple[str, str], ...] = ()
    git_dir: str = ""
    at: int = 0


class MergeEvent(msgspec.Struct, frozen=True, tag="merge", tag_field="kind"):
    """A merge or a pull ended: teammates' work may have arrived."""

    git_dir: str = ""
    at: int = 0


class RecallEvent(msgspec.Struct, frozen=True, tag="recall", tag_field="kind"):
    """Sessions were shown (``surfaced``) or opened by somebody (``opened``); ``query`` was scrubbed before.

    ``silent``: none was shown; the session is the one that came near, or empty.
    """

    edge: Literal["surfaced", "opened", "silent"]
    session_ids: tuple[str, ...]
    at: datetime
    query: str | None = None


Event = CommitEvent | RewriteEvent | MergeEvent | RecallEvent


class Spooled(msgspec.Struct, frozen=True):
    """Findings of one look at the spool: events in order of arrival with their files, and how many were unreadable."""

    events: tuple[Event, ...]
    files: tuple[Path, ...]
    broken: int


def put_event(directory: Path, event: Event) -> None:
    """Add one event."""
    directory.mkdir(parents=True, exist_ok=True)
    name = f"{ids.ulid()}-{os.getpid()}.json"
    write_atomically(directory / name, msgspec.json.encode(event) + b"\n")


def note_recall(directory: Path, event: RecallEvent) -> None:
    """Add a recall to the file that the next capture takes over. Nobody starts a worker for it."""
    directory.mkdir(parents=True, exist_ok=True)
    line = msgspec.json.encode(event) + b"\n"
    # One write to the end of the file: the system keeps lines of several processes apart.
    handle = os.open(directory / _RECALLS, os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    try:
        os.write(handle, line)
    finally:
        os.close(handle)


def read_spooled(directory: Path) -> Spooled:
    """All events waiting, oldest first. Unreadable ones are moved to ``broken/`` and counted."""
    with contextlib.suppress(FileNotFoundError):
        # From now on a file of this capture's; a recall that comes meanwhile begins the next one.
        (directory / _RECALLS).rename(directory / f"{ids.ulid()}-recalls.json")
    return _read_files(_waiting(directory))


def read_event(path: Path) -> Spooled:
    """One waiting event, as :func:`read_spooled` gives many."""
    return _read_files([path])


def _read_files(paths: Iterable[Path]) -> Spooled:
    events: list[Event] = []
    files: list[Path] = []
    broken = 0
    for path in paths:
        try:
            lines = [line for line in path.read_bytes().split(b"\n") if line.strip()]
            found = [msgspec.json.decode(line, type=Event) for line in lines]
        except FileNotFoundError:
            continue  # another writer drained it
        except (msgspec.MsgspecError, OSError):
            broken += 1
            _set_aside(path)
            continue
        events.extend(found)
        files.append(path)
    return Spooled(tuple(events), tuple(files), broken)


def _waiting(directory: Path) -> Sequence[Path]:
    try:
        names = [p for p in directory.iterdir() if p.suffix == ".json" and not p.name.startswith(".")]
        return sorted(names, key=lambda p: (p.stat().st_mtime_ns, p.name))
    except FileNotFoundError:
        return ()


def _set_aside(path: Path) -> None:
    target = path.parent / _BROKEN
    target.mkdir(exist_ok=True)
    path.replace(target / path.name)


def note_failed(path: Path) -> bool:
    """Note that an event could not be worked on; the second time it is set aside. True if it was.

    A file that is gone by now was drained by somebody else, and that is as good.
    """
    if path.name.endswith(_FAILED_ONCE):
        _set_aside(path)
        return True
    with contextlib.suppress(FileNotFoundError):
        path.replace(path.with_name(path.name.removesuffix(".json") + _FAILED_ONCE))
    return False


def list_set_aside(directory: Path) -> list[str]:
    """Names of the events that were set aside, oldest first."""
    aside = directory / _BROKEN
    return sorted(path.name for path in aside.iterdir()) if aside.is_dir() else []


def count_events(directory: Path) -> tuple[int, int]:
    """Count the events that wait, and those that were set aside because they could not be read. Moves nothing."""
    return len(_waiting(directory)), len(list_set_aside(directory))


def remove_events(files: Iterable[Path]) -> None:
    """Remove events whose transaction is in."""
    for path in files:
        path.unlink(missing_ok=True)
