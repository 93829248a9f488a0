"""Undoing a request to forget, as long as no teammate was told."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rekal.errors import Refused, UsageError
from rekal.files import write_atomically
from rekal.store import forget_requests, spool
from rekal.store.forget_requests import PastRequest
from rekal.store.layout import FORGOTTEN
from rekal.store.ledger import Ledger


def note_for_undo(run: Path, request: str, sessions: Sequence[str], commits: Sequence[str]) -> None:
    """Keep beside the store, for an undo, the sessions and commits that a request concerned: ids only."""
    folder = run / FORGOTTEN
    folder.mkdir(exist_ok=True)
    lines = [*(f"session {one}\n" for one in sessions), *(f"commit {one}\n" for one in commits)]
    write_atomically(folder / request, "".join(lines).encode("ascii"))


def undo_request(ledger: Ledger, run: Path, spool_dir: Path, git_dir: Path, name: str) -> PastRequest:
    """Let what a request forgot be captured again. Inside a transaction.

    The tombstones go, the transcripts are read from their beginning next time, and their commits are linked again. What
    is in no transcript of this machine stays gone. Raises :class:`Refused` when the tombstones left this clone.
    """
    found = [request for request in forget_requests.list_requests(ledger.con) if request.id.startswith(name)]
    if len(found) != 1:
        raise UsageError(f"{name} names {len(found) or 'no'} requests to forget", "`rekal forget --list` names them")
    request = found[0]
    if request.shipped:
        raise Refused("teammates were already told to forget it", "it cannot be undone any more")
    forget_requests.delete_request(ledger.con, request)
    sessions, commits = _read_note(run, request.id)
    forget_requests.reset_sources(ledger.con, sessions)
    for sha in commits:
        spool.put_event(spool_dir, spool.CommitEvent(sha, str(git_dir)))
    (run / FORGOTTEN / request.id).unlink(missing_ok=True)
    return request


def _read_note(run: Path, request: str) -> tuple[list[str], list[str]]:
    try:
        lines = (run / FORGOTTEN / request).read_text(encoding="ascii").splitlines()
    except FileNotFoundError:
        return [], []  # then all sources are read again and no commit is linked again
    pairs = [line.split(" ") for line in lines]
    return [p[1] for p in pairs if p[0] == "session"], [p[1] for p in pairs if p[0] == "commit"]
