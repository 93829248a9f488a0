"""Keys by which lines are looked up. Apart from the rest so that it loads without a database engine."""

from __future__ import annotations

from collections.abc import Sequence

from rekal.ids import line_hash

REACH = 5
"""Lines on each side in which the neighbours of a line are looked for."""

DROPPED_BITS = 23
"""Edits that came from another clone carry the upper 40 of 63 bits of a line's hash: all are compared on those."""


def line_key(line: str) -> int | None:
    """Key by which a line is looked up; None for a line too thin to tell two edits apart."""
    hashed = line_hash(line)
    return None if hashed is None else hashed >> DROPPED_BITS


def widen_range(lines: Sequence[str], first: int, last: int) -> tuple[int, int]:
    """The range (from 1, both ends included) extended to lines with a key where it ends on thin ones."""
    top, bottom = first, last
    while top > max(1, first - REACH) and line_key(lines[top - 1]) is None:
        top -= 1
    while bottom < min(len(lines), last + REACH) and line_key(lines[bottom - 1]) is None:
        bottom += 1
    return top, bottom
