"""Bringing in the memory that teammates published, for the verbs that do it by hand and for the worker."""

from __future__ import annotations

from collections.abc import Collection

import msgspec

from rekal.app.context import App
from rekal.errors import GitError, Refused
from rekal.index.build import refresh_index
from rekal.transport import fetch_stamp
from rekal.transport.receive import MOST_NOTES, Received, receive_refs
from rekal.transport.refs import fetch_refspec
from rekal.transport.whole_refs import fetch_memory_refs, fetch_whole_refs, lacks_objects

_SECONDS = 300.0  # of one fetch: a first one brings everything that a team has


class ImportedMemory(msgspec.Struct, frozen=True):
    """The result of an import: ``sync --json`` and ``receive --json``.

    ``refs`` had news; ``forgotten`` counts what was taken out because its owner forgot it; ``notes`` say what was left
    out and why.
    """

    fetched: list[str]
    refs: int
    sessions: int
    turns: int
    checkpoints: int
    memories: int
    forgotten: int
    notes: list[str]


def import_arrived(app: App, remotes: Collection[str] | None = None) -> Received:
    """Import what fetches brought from all allowed remotes, or from these; the index is the caller's."""
    now = fetch_stamp.read_stamp(app.repo.common_dir)
    received = receive_refs(app.layout, app.repo, app.config.transport.remotes if remotes is None else remotes)
    if remotes is None:
        fetch_stamp.note_imported(app.layout.run, now)
    return received


def import_fetched(app: App) -> ImportedMemory:
    """Import and index what a plain fetch brought."""
    received = import_arrived(app)
    notes: list[str] = []
    _index_received(app, received, notes)
    return _describe(received, [], notes)


def fetch_memory(app: App, remote: str | None) -> ImportedMemory:
    """Fetch from one remote or from all that sharing allowed, then import and index. Refused where there is none.

    A remote that cannot be reached becomes a note; ``fetched`` names the others.
    """
    fetched: list[str] = []
    notes: list[str] = []
    for name in _allowed_remotes(app, remote):
        try:
            notes += _fetch(app, name)[:MOST_NOTES]
            fetched.append(name)
        except (GitError, Refused) as error:
            notes.append(f"{name} was not fetched: {error}")
    received = import_arrived(app, fetched if remote else None)
    _index_received(app, received, notes)
    return _describe(received, fetched, notes)


def _index_received(app: App, received: Received, notes: list[str]) -> None:
    """Bring the index up to what was received: added to where that is enough, built anew where something went."""
    gone = received.imported.erased + received.imported.displaced
    if received.changed or gone:
        refresh_index(app.layout, app.repo, app.scrub, notes.append, full=bool(gone))


def _describe(received: Received, fetched: list[str], notes: list[str]) -> ImportedMemory:
    i = received.imported
    counts = (received.refs, i.sessions, i.turns, i.checkpoints, i.events, i.erased)
    return ImportedMemory(fetched, *counts, [*notes, *received.notes])


def _allowed_remotes(app: App, remote: str | None) -> list[str]:
    allowed = sorted(app.config.transport.remotes)
    if not allowed:
        raise Refused("there is no remote to receive memory from", "`rekal share REMOTE` names one")
    if remote is None:
        return allowed
    if remote not in allowed:
        raise Refused(f"memory does not come from {remote}", f"it comes from {', '.join(allowed)}")
    return [remote]


def _fetch(app: App, remote: str) -> list[str]:
    """Fetch what a remote can send; sentences about the refs that it cannot."""
    settings = app.config.transport
    if app.repo.ask("remote", "get-url", "--push", remote) != settings.remotes[remote]:
        raise Refused("it is not where it was when sharing was turned on", f"`rekal share {remote}` confirms it")
    spec = fetch_refspec(remote, settings.namespace)
    try:
        fetch_memory_refs(app.repo, remote, [spec], _SECONDS)
        return []
    except GitError as error:
        if not lacks_objects(error):
            raise
    lacking = fetch_whole_refs(app.repo, remote, settings.namespace, _SECONDS)
    return [
        f"{remote} cannot send {name}, of which something is missing there; `git push {remote} :{name}` removes it, "
        "and `rekal push` by its owner sends it anew"
        for name in lacking
    ]
