"""Patterns of the shared settings that took too long here: each costs its time once, not once a process."""

from __future__ import annotations

import contextlib

import msgspec

from rekal.files import read_or_empty, write_atomically
from rekal.store.layout import Layout


def read_slow_patterns(layout: Layout) -> list[str]:
    """Return the patterns that are left out."""
    try:
        return msgspec.json.decode(read_or_empty(layout.slow_patterns) or b"[]", type=list[str])
    except msgspec.MsgspecError:
        return []


def add_slow_pattern(layout: Layout, pattern: str) -> None:
    """Leave ``pattern`` out from now on."""
    slow = read_slow_patterns(layout)
    if pattern not in slow:
        # A store that cannot be written pays again; nothing else is lost.
        with contextlib.suppress(OSError):
            write_atomically(layout.slow_patterns, msgspec.json.encode([*slow, pattern][-100:]))
