"""Sending merged work to a remote, or saying exactly what would leave."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime

import msgspec

from rekal.app.context import App
from rekal.app.share import sender_of
from rekal.errors import RekalError, UsageError
from rekal.store.ledger import open_ledger
from rekal.transport import departures
from rekal.transport import push as pushing
from rekal.transport.departures import Held, Outgoing


class Leaving(msgspec.Struct, frozen=True):
    """One commit that would leave, with the sessions behind it."""

    git_sha: str
    subject: str | None
    committed_at: datetime | None
    sessions: list[str]


class SentMemory(msgspec.Struct, frozen=True):
    """The result of a push: ``push --json``. With ``dry_run`` nothing was sent: ``leaving`` is what would be."""

    remote: str
    dry_run: bool
    sent: bool
    checkpoints: int
    sessions: int
    bytes: int
    leaving: list[Leaving]
    held: list[Held]
    notes: list[str]
    memories: int = 0


def send_memory(app: App, remote: str | None, merged: str | None, *, dry_run: bool) -> SentMemory:
    """Send to ``remote``, None: the only one that sharing is on for. ``merged`` is a commit taken for merged.

    With ``dry_run`` nothing is sent. Raises UsageError, and Refused for a remote that memory may not go to.
    """
    sender = sender_of(app)
    to = pushing.find_destination(sender, remote or _only_remote(app))
    said = [_resolve_merged(app, merged)] if merged else []
    if dry_run:
        return _preview(to.name, pushing.preview_push(sender, to, said))
    done = pushing.push_memory(sender, to, said=said)
    return SentMemory(
        done.remote,
        False,
        done.sent,
        done.checkpoints,
        done.sessions,
        done.bytes,
        [],
        done.held,
        done.notes,
        done.memories,
    )


def _only_remote(app: App) -> str:
    remotes = sorted(app.config.transport.remotes)
    if len(remotes) > 1:
        raise UsageError("memory may go to several remotes", f"name one of {', '.join(remotes)}")
    return remotes[0] if remotes else "origin"


def _resolve_merged(app: App, name: str) -> str:
    sha = app.repo.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}")
    if sha is None:
        raise UsageError(f"{name} is no branch or commit here", "`git branch` lists branches")
    return sha


def _preview(remote: str, outgoing: Outgoing) -> SentMemory:
    leaving = [
        Leaving(c.git_sha, c.subject, c.committed_at, [r.session_id for r in c.sessions]) for c in outgoing.checkpoints
    ]
    counts = (len(leaving), len(outgoing.sessions), 0)
    return SentMemory(remote, True, False, *counts, leaving, outgoing.held, [], outgoing.memories)


def check_push(app: App, remote: str, url: str, updates: Sequence[str]) -> None:
    """Raise :class:`rekal.errors.Refused` when the user's own push takes memory where it may not go."""
    pushing.check_pushed_refs(sender_of(app), remote, url, updates)


def send_from_hook(app: App, remote: str, url: str, updates: Sequence[str]) -> str:
    """Send with the user's own push; return a sentence for the user, often empty. ``updates`` are git's lines.

    Nothing is raised for what is wrong with memory: the user's push goes on whatever happens here.
    """
    try:
        return pushing.push_from_hook(sender_of(app), remote, url, updates)
    except RekalError as error:
        return f"memory was not sent ({error.message}); it goes with the next push"


def read_sent(app: App) -> list[departures.Push]:
    """Read the departures that this clone has kept account of."""
    with open_ledger(app.layout.data, read_only=True) as ledger:
        return list(departures.list_pushes(ledger))
