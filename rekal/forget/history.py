"""Requests to forget, as the ledger remembers them: one act is the tombstones that share a moment."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from datetime import datetime
from pathlib import Path

import msgspec

from rekal.errors import Refused, UsageError
from rekal.ids import derive
from rekal.model import LOCAL
from rekal.store import spool
from rekal.store.database import Connection
from rekal.store.ledger import Ledger
from rekal.store.rows import aware, insert, naive
from rekal.store.tombstones import forgotten

_LENGTH = 8


class Act(msgspec.Struct, frozen=True):
    """One request to forget. ``shipped`` says that its tombstones left this clone, so that it cannot be undone."""

    id: str
    reason: str
    actor: str
    recorded_at: datetime
    targets: int
    shipped: bool


def act_id(at: datetime) -> str:
    """The name of the act of this moment."""
    return derive("forget", at.isoformat())[:_LENGTH]


def acts(con: Connection) -> list[Act]:
    """All requests to forget made here, newest first."""
    rows = con.execute(
        """SELECT reason, actor, recorded_at, count(*),
               bool_or(target IN (SELECT id FROM shipped WHERE kind = 'tombstone'))
           FROM tombstones WHERE origin = ? GROUP BY ALL ORDER BY recorded_at DESC""",
        [LOCAL],
    ).fetchall()
    out = []
    for reason, actor, at, targets, shipped in rows:
        when = aware(at)
        assert when is not None
        out.append(Act(act_id(when), reason, actor, when, int(targets), bool(shipped)))
    return out


def record_act(ledger: Ledger, targets: Collection[str], reason: str, actor: str) -> str:
    """Add the tombstones of one act. Inside a transaction; returns the act's name."""
    known = forgotten(ledger.con)
    at = naive(ledger.now)
    rows: list[tuple[object, ...]] = [(t, reason, actor, at, LOCAL, ledger.pos) for t in targets if t not in known]
    insert(ledger.con, "tombstones", rows)
    return act_id(ledger.now)


def note_undo(run: Path, act: str, sessions: Sequence[str], commits: Sequence[str]) -> None:
    """Keep beside the store, for an undo, which sessions and commits an act concerned: ids only."""
    folder = run / "forgotten"
    folder.mkdir(exist_ok=True)
    lines = [*(f"session {one}\n" for one in sessions), *(f"commit {one}\n" for one in commits)]
    (folder / act).write_text("".join(lines), encoding="ascii")


def undo(ledger: Ledger, run: Path, spool_dir: Path, git_dir: Path, name: str) -> Act:
    """Let what an act forgot be captured again. Inside a transaction.

    The tombstones go, the transcripts are read from their beginning next time, and their commits are linked again. What
    is in no transcript of this machine stays gone. Raises :class:`Refused` when the tombstones left this clone.
    """
    found = [act for act in acts(ledger.con) if act.id.startswith(name)]
    if len(found) != 1:
        raise UsageError(f"{name} names {len(found) or 'no'} requests to forget", "`rekal forget --list` names them")
    act = found[0]
    if act.shipped:
        raise Refused("teammates were already told to forget it", "it cannot be undone any more")
    ledger.con.execute("DELETE FROM tombstones WHERE origin = ? AND recorded_at = ?", [LOCAL, naive(act.recorded_at)])
    sessions, commits = _noted(run, act.id)
    _read_again(ledger.con, sessions)
    for sha in commits:
        spool.put(spool_dir, spool.CommitEvent(sha, str(git_dir)))
    (run / "forgotten" / act.id).unlink(missing_ok=True)
    return act


def _noted(run: Path, act: str) -> tuple[list[str], list[str]]:
    try:
        lines = (run / "forgotten" / act).read_text(encoding="ascii").splitlines()
    except FileNotFoundError:
        return [], []
    pairs = [line.split(" ") for line in lines]
    return [p[1] for p in pairs if p[0] == "session"], [p[1] for p in pairs if p[0] == "commit"]


def _read_again(con: Connection, sessions: Sequence[str]) -> None:
    """Forget where reading of these sessions' sources stopped; of all sources, where one session's is not known."""
    known = {str(row[0]) for row in con.execute("SELECT session_id FROM source_state").fetchall()}
    every = not sessions or not known.issuperset(sessions)
    con.execute(
        """UPDATE source_state SET size = -1, mtime_ns = -1, "offset" = 0, prefix_hash = ''
           WHERE belongs AND ($every OR list_contains($ids::VARCHAR[], session_id))""",
        {"every": every, "ids": list(sessions)},
    )
