"""Sharing: the remotes that this clone's memory may go to, and sending merged work there or saying what would leave.

The remotes are kept in ``rekal/config.yml`` of the git directory.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime
from typing import Any

import msgspec

from rekal import config, ids
from rekal.app.context import App
from rekal.errors import RekalError, UsageError
from rekal.files import write_atomically
from rekal.git import split_output
from rekal.model import LOCAL, MemoryEvent
from rekal.store import commit_rows
from rekal.store.database import Connection
from rekal.store.ledger import open_ledger
from rekal.store.locks import hold_lock
from rekal.store.memory_log import has_events, read_events
from rekal.transport import push as pushing
from rekal.transport import refs
from rekal.transport.departures import Claim, Held, Outgoing
from rekal.transport.push import Sender


def sender_of(app: App) -> Sender:
    """Return what a push needs of this clone."""
    share_all = app.config.memory.share == "accepted"

    def claims(con: Connection) -> list[Claim]:
        return _read_claims(con, share_all=share_all) if has_events(con) else []

    return Sender(app.layout, app.repo, app.author, app.config.transport, app.scrubber, claims)


def _read_claims(con: Connection, *, share_all: bool) -> list[Claim]:
    """This clone's own memories with a commit, each with its events. With ``share_all`` every accepted one is free.

    A teammate's memory is the teammate's to send, and so is what was ruled on it here: it stays.
    """
    from rekal.memory.state import fold  # 10 ms that only a store with memories costs

    events = read_events(con)
    own: dict[str, list[MemoryEvent]] = defaultdict(list)
    for event in events:
        if event.origin == LOCAL:
            own[event.memory_id].append(event)
    return [
        Claim(one.id, one.commit, one.state == "accepted" and (one.shared or share_all), tuple(own[one.id]))
        for one in fold(events, datetime.now(UTC)).all
        if one.origin == LOCAL and one.commit is not None and not one.personal
    ]


def find_push_url(app: App, remote: str) -> str:
    """Return where a push to ``remote`` goes. UsageError when there is no remote of that name."""
    url = app.repo.ask("remote", "get-url", "--push", remote)
    if url is None:
        raise UsageError(f"there is no remote {remote}", "`git remote -v` lists them")
    return url


def start_sharing(app: App, remote: str, mode: str, mainline: str | None) -> None:
    """Allow a remote. Raises :class:`UsageError` when there is none of that name."""
    url = find_push_url(app, remote)
    values = _read_settings(app)
    transport = values.setdefault("transport", {})
    transport["share"] = mode
    transport.setdefault("remotes", {})[remote] = url
    # A branch that we found and nobody chose is kept only where it can hide no other remote's own default.
    alone = set(transport["remotes"]) == {remote}
    branch = mainline or (_default_branch(app, remote) if alone else None)
    if branch:
        transport["mainline"] = branch
    _write_settings(app, values)
    spec = refs.fetch_refspec(remote, app.config.transport.namespace)
    known = app.repo.ask("config", "--get-all", f"remote.{remote}.fetch")
    if spec not in split_output(known):
        app.repo.run("config", "--add", f"remote.{remote}.fetch", spec)
    app.layout.unsent.touch()


def start_receiving(app: App, remote: str) -> None:
    """Let fetches from a remote bring memory, and send none. UsageError while memory is sent to any remote.

    Whether memory is sent is one setting for all remotes: one of them would be cut off in silence.
    """
    settings = app.config.transport
    if settings.share != "none" and settings.remotes:
        name = min(settings.remotes)
        raise UsageError(f"this clone sends memory to {name}", f"`rekal share {name} --stop` ends that")
    start_sharing(app, remote, "none", None)
    app.layout.unsent.unlink(missing_ok=True)


def take_new_clone_id(app: App) -> None:
    """Give this clone another name among the refs with memory, and have all that may leave sent again under it.

    For a ref of ours that somebody replaced on the remote, or that another ref there blocks.
    """
    with (
        hold_lock(app.layout.lock, wait=30.0, purpose="taking a new name"),
        open_ledger(app.layout.data, read_only=False, wait=30.0) as ledger,
        ledger.transaction(),
    ):
        # Random from the first character on: the time, with which other ids begin, could be the one of before.
        commit_rows.start_over(ledger.con, ids.derive("store", ids.ulid()))
    app.layout.unsent.touch()


def _default_branch(app: App, remote: str) -> str | None:
    """The remote's default branch where git does not know it yet: asked once, now, while somebody is looking."""
    if app.repo.ask("symbolic-ref", "--quiet", f"refs/remotes/{remote}/HEAD"):
        return None
    out = app.repo.ask("ls-remote", "--symref", remote, "HEAD", timeout=10.0)
    for line in split_output(out):
        if line.startswith("ref: refs/heads/"):
            return line.split()[1].removeprefix("refs/heads/")
    return app.repo.branch()


def stop_sharing(app: App, remote: str | None) -> None:
    """Take a remote, or all, off the list, with the fetch refspec."""
    values = _read_settings(app)
    transport = values.get("transport", {})
    remotes: dict[str, str] = transport.get("remotes", {})
    for name in [remote] if remote else list(remotes):
        remotes.pop(name, None)
        remove_refspec(app, name)
    if not remotes:
        values.pop("transport", None)
        app.layout.unsent.unlink(missing_ok=True)
    _write_settings(app, values)


def remove_refspec(app: App, remote: str) -> None:
    """Undo what :func:`start_sharing` added to git's configuration."""
    for spec in (refs.fetch_refspec(remote, "rekal"), refs.fetch_refspec(remote, "heads")):
        app.repo.ask("config", "--unset-all", f"remote.{remote}.fetch", f"^{re.escape(spec)}$")


def _read_settings(app: App) -> dict[str, Any]:
    path = app.layout.own_config
    values = config.decode_yaml(path.read_text(encoding="utf-8")) if path.exists() else {}
    return values if isinstance(values, dict) else {}


def _write_settings(app: App, values: dict[str, Any]) -> None:
    path = app.layout.own_config
    if not values:
        path.unlink(missing_ok=True)
        return
    write_atomically(path, msgspec.json.format(msgspec.json.encode(values, order="sorted")) + b"\n")


# Sending merged work to a remote, or saying exactly what would leave.


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


def read_departures(app: App) -> list[commit_rows.Push]:
    """Read the departures that this clone has kept account of."""
    with open_ledger(app.layout.data, read_only=True) as ledger:
        return list(commit_rows.list_pushes(ledger.con))
