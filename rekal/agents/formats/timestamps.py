"""Read the times that agents record."""

from __future__ import annotations

import math
from datetime import UTC, datetime

# Bounds lie in the years 1973 to 5138 of each unit, so no time of an agent's life is read in the wrong one.
_UNITS = ((1e17, 1e9), (1e14, 1e6), (1e11, 1e3))


def parse_time(value: object) -> datetime | None:
    """An aware UTC datetime, or None when ``value`` is no time.

    Takes ISO 8601 (``Z``, any offset, up to nine fractional digits; without an offset it counts as UTC) and seconds,
    milliseconds, microseconds or nanoseconds since 1970, as a number or as its digits.
    """
    if isinstance(value, bool):
        return None
    if isinstance(value, str):
        text = value.strip()
        # Fewer digits are a date such as 20260302.
        if text.isascii() and text.isdigit() and len(text) >= 10:
            return _from_epoch(float(text))
        return _from_iso(text)
    if isinstance(value, int | float):
        return _from_epoch(value)
    return None


def _from_iso(text: str) -> datetime | None:
    try:
        moment = datetime.fromisoformat(text)
        return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)
    except (ValueError, OverflowError):
        return None


def _from_epoch(value: float) -> datetime | None:
    try:
        # Zero is how several programs write that they know no time.
        if not math.isfinite(value) or value <= 0:
            return None
        unit = next((unit for bound, unit in _UNITS if value >= bound), 1)
        return datetime.fromtimestamp(value / unit, UTC)
    except (ValueError, OverflowError, OSError):
        return None
