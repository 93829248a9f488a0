"""Appearance that a call wants for its answer: colour, pager, times. It imports next to nothing."""

from __future__ import annotations

from contextvars import ContextVar
from typing import NamedTuple


class Appearance(NamedTuple):
    """Colour ``auto``, ``always`` or ``never``; a pager or none; times in UTC or in the user's zone."""

    color: str = "auto"
    pager: bool = True
    utc: bool = False


_PLAIN = Appearance()
LOOK: ContextVar[Appearance] = ContextVar("LOOK", default=_PLAIN)
