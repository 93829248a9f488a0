"""Use of the store by week: rows of the ledger, and counters, a file a week.

The counters are of verdicts of recalls, moments of injections and tokens: no word of any question. Each use adds one
short line, which the system keeps apart from lines of other processes; sums are made when somebody asks for them.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import msgspec

if TYPE_CHECKING:  # counting a use, which every recall does, loads no driver
    from rekal.store.database import Connection

CHARACTERS_OF_A_TOKEN = 4  # about: what a model's own count comes to for English and code
_WEEK = "'%G-W%V'"  # ISO 8601, as the counters of use have it
UseKind = Literal["recall", "inject"]


class UseCount(msgspec.Struct, frozen=True):
    """Uses of one kind and name in one week, with the tokens printed in all. ``week`` is ISO 8601: 2026-W49."""

    week: str
    kind: str
    name: str
    count: int
    tokens: int


def add_use(usage: Path, kind: UseKind, name: str, tokens: int, at: datetime | None = None) -> None:
    """Count one use. A store that cannot be written counts nothing."""
    week = week_of(at or datetime.now(UTC))
    with contextlib.suppress(OSError):
        usage.mkdir(mode=0o700, exist_ok=True)
        flags = os.O_WRONLY | os.O_APPEND | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0)
        handle = os.open(usage / f"{week}.txt", flags, 0o600)
        try:
            os.write(handle, f"{kind} {name} {tokens}\n".encode("ascii", "replace"))
        finally:
            os.close(handle)


def week_of(at: datetime) -> str:
    """Return the ISO week of a time, UTC."""
    year, week, _ = at.astimezone(UTC).isocalendar()
    return f"{year}-W{week:02d}"


def read_uses(usage: Path) -> list[UseCount]:
    """Sum all counters, oldest week first. A line that is no counter is passed over."""
    counts: dict[tuple[str, str, str], tuple[int, int]] = {}
    for path in sorted(usage.glob("*-W*.txt")) if usage.is_dir() else []:
        for kind, name, tokens in _read_lines(path):
            key = path.stem, kind, name
            count, total = counts.get(key, (0, 0))
            counts[key] = count + 1, total + tokens
    return [UseCount(*key, *found) for key, found in counts.items()]


def _read_lines(path: Path) -> Iterator[tuple[str, str, int]]:
    for line in path.read_text("ascii", "replace").splitlines():
        parts = line.split(" ")
        if len(parts) == 3 and parts[2].isdigit():
            yield parts[0], parts[1], int(parts[2])


class WeekCounts(msgspec.Struct, frozen=True):
    """One week of the ledger. ``agents`` counts its sessions by agent; ``opened`` counts sessions shown on request."""

    week: str
    sessions: int = 0
    turns: int = 0
    commits: int = 0
    opened: int = 0
    agents: dict[str, int] = msgspec.field(default_factory=dict)


def count_weeks(con: Connection) -> list[WeekCounts]:
    """Count by week, oldest first. What has no time is in no week."""
    found: dict[str, dict[str, int]] = {}
    agents: dict[str, dict[str, int]] = {}
    for name, sql in (
        ("turns", "SELECT occurred_at AS moment FROM turns"),
        (
            "commits",
            """SELECT committed_at AS moment FROM checkpoints
               WHERE id IN (SELECT checkpoint_id FROM checkpoint_sessions)""",
        ),
        ("opened", "SELECT occurred_at AS moment FROM recall_edges WHERE kind = 'opened'"),
    ):  # fmt: skip
        rows = con.execute(
            f"SELECT strftime(moment, {_WEEK}) AS week, count(*) FROM ({sql}) WHERE moment IS NOT NULL GROUP BY 1"
        ).fetchall()
        for week, count in rows:
            found.setdefault(str(week), {})[name] = int(count)
    sessions = con.execute(
        f"""SELECT strftime(started_at, {_WEEK}), agent, count(*) FROM sessions
            WHERE started_at IS NOT NULL GROUP BY 1, 2"""
    ).fetchall()
    for week, agent, count in sessions:
        here = found.setdefault(str(week), {})
        here["sessions"] = here.get("sessions", 0) + int(count)
        agents.setdefault(str(week), {})[str(agent)] = int(count)
    return [
        WeekCounts(week, **found[week], agents=dict(sorted(agents.get(week, {}).items()))) for week in sorted(found)
    ]
