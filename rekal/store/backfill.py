"""A back-fill that is wanted but not finished: a file with the date, removed when it is done.

So a back-fill that is killed goes on with the next worker.
"""

from __future__ import annotations

from datetime import datetime
from pathlib import Path

_NAME = "backfill"


def ask_for(run: Path, since: datetime) -> None:
    """Ask the next worker to import transcripts changed after ``since``."""
    part = run / f".{_NAME}"
    part.write_text(since.isoformat(), encoding="ascii")
    part.replace(run / _NAME)


def asked_for(run: Path) -> datetime | None:
    """Since when a back-fill is wanted; None when none is."""
    try:
        return datetime.fromisoformat((run / _NAME).read_text(encoding="ascii").strip())
    except (FileNotFoundError, ValueError):
        return None


def finished(run: Path) -> None:
    """The back-fill is done."""
    (run / _NAME).unlink(missing_ok=True)
