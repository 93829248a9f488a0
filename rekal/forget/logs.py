"""Mentions of forgotten text outside the databases: events that wait, logs, reports of errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from rekal.files import write_atomically
from rekal.store.forget_targets import Match
from rekal.store.layout import Layout

_LOGS = ("*.log", "*.log.*", "*.err", "*.md")


def remove_mentions(layout: Layout, mention: Match) -> int:
    """Remove waiting events and lines of logs for which ``mention`` is true; return how many went."""
    gone = 0
    for path in layout.spool.rglob("*"):
        if path.is_file() and any(map(mention, _texts_of_file(path))):
            gone += _without_events(path, mention)
    logs = [path for pattern in _LOGS for path in layout.run.glob(pattern) if path.is_file()]
    return gone + sum(_without_lines(path, mention) for path in logs)


def _without_events(path: Path, mention: Match) -> int:
    """Take the lines with a mention out of a file of events, and the file with the last of them; how many went."""
    kept, gone = [], 0
    for line in path.read_bytes().splitlines(keepends=True):
        if any(map(mention, _texts_of_line(line.decode("utf-8", "replace")))):
            gone += 1
        else:
            kept.append(line)
    if kept and gone:
        write_atomically(path, b"".join(kept))
    else:  # with no line of its own to blame, a broken file goes whole
        path.unlink(missing_ok=True)
    return max(gone, 1)


def _texts_of_file(path: Path) -> Iterator[str]:
    """The texts in a file of the spool: as they are written, and as JSON means them."""
    raw = path.read_text(encoding="utf-8", errors="replace")
    yield raw  # a broken line still has its words
    for line in raw.splitlines():
        yield from _texts_of_line(line)


def _texts_of_line(line: str) -> Iterator[str]:
    yield line
    try:
        yield from _flat(json.loads(line))
    except (ValueError, RecursionError):
        return  # broken, or nested to harm: its raw text was looked at


def _flat(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from _flat(one)


def _without_lines(path: Path, mention: Match) -> int:
    lines = path.read_text(encoding="utf-8", errors="surrogateescape").splitlines(keepends=True)
    kept = [line for line in lines if not mention(line)]
    if len(kept) < len(lines):
        write_atomically(path, "".join(kept).encode("utf-8", "surrogateescape"))
    return len(lines) - len(kept)
