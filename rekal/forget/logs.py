"""Mentions of forgotten text outside the databases: events that wait, logs, reports of errors."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

from rekal.store.forget_targets import Match
from rekal.store.layout import Layout

_LOGS = ("*.log", "*.log.*", "*.err", "*.md")


def remove_mentions(layout: Layout, mention: Match) -> int:
    """Remove waiting events and lines of logs for which ``mention`` is true; return how many went."""
    events = [path for path in layout.spool.rglob("*") if path.is_file() and any(map(mention, _texts_of_file(path)))]
    for path in events:
        path.unlink(missing_ok=True)
    logs = [path for pattern in _LOGS for path in layout.run.glob(pattern) if path.is_file()]
    return len(events) + sum(_without_lines(path, mention) for path in logs)


def _texts_of_file(path: Path) -> Iterator[str]:
    """The texts in a file of the spool: as they are written, and as JSON means them."""
    raw = path.read_text(encoding="utf-8", errors="replace")
    yield raw  # a broken line still has its words
    for line in raw.splitlines():
        try:
            yield from _flat(json.loads(line))
        except (ValueError, RecursionError):
            continue  # broken, or nested to harm: its raw text was looked at


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
        part = path.with_name(f".{path.name}.part")
        part.write_text("".join(kept), encoding="utf-8", errors="surrogateescape")
        part.replace(path)
    return len(lines) - len(kept)
