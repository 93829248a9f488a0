"""Ages as people write them."""

from __future__ import annotations

import re
from datetime import timedelta

from rekal.errors import UsageError

_AGE = re.compile(r"(\d+)\s*([dwmy])")
_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}


def parse_age(text: str) -> timedelta:
    """``90d``, ``12w``, ``6m``, ``1y``. Raises :class:`UsageError`."""
    match = _AGE.fullmatch(text.strip().lower())
    if match is None:
        raise UsageError(f"{text} is not an age", "write 90d, 12w, 6m or 1y")
    return timedelta(days=int(match[1]) * _DAYS[match[2]])
