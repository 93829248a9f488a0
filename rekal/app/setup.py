"""Setting rekal up in a repository, and taking it out again."""

from __future__ import annotations

import importlib.util
import os
import shutil
from collections import Counter
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from rekal.agents import registry
from rekal.app.context import App, find_executable, list_unused_patterns, parse_age
from rekal.app.share import find_push_url, remove_refspec, start_sharing
from rekal.capture.read_sources import find_changed_sources
from rekal.errors import ConfigError, Refused, StoreUnwritable
from rekal.git import split_output
from rekal.install import Installed, Removed, install_rekal, uninstall_rekal
from rekal.install.hooks import plan_hooks
from rekal.install.mcp_entries import MCP_PLACES, write_servers
from rekal.store.guard import keep_second_name, refuse_foreign_files, restore_first_name
from rekal.store.layout import ask_for_backfill
from rekal.store.ledger import open_ledger
from rekal.store.locks import hold_lock

_BACKFILL = "90d"


class SetUp(msgspec.Struct, frozen=True):
    """The result of ``init``, as ``init --json`` prints it. ``fresh``: there was no store before.

    ``transcripts`` counts the files and sessions of this repository that each agent has on this machine.
    ``shared_settings`` says what the settings file of the checkout changes and what of it is not followed. ``servers``
    are files in which hosts find `rekal mcp`, ``servers_notes`` say which were left alone and why.
    """

    store: str
    fresh: bool
    agents: list[str]
    installed: Installed
    backfill_since: datetime | None
    transcripts: dict[str, int]
    shared_settings: list[str]
    servers: list[str] = []
    servers_notes: list[str] = []


class CleanedUp(msgspec.Struct, frozen=True):
    """The result of ``clean``, as ``clean --json`` prints it."""

    store: str
    removed: Removed


def set_up(
    app: App, agents: str | None, backfill: str | None, share: str | None, *, hooks_only: bool, mcp: bool = False
) -> SetUp:
    """Install store, hooks and the agents' lines, or repair and upgrade them.

    ``agents`` are names with commas between them, None: those found on this machine; ``backfill`` is an age, None:
    90 days for a fresh store, nothing for one that was there. Where a back-fill is wanted the caller starts the worker.
    """
    chosen = _choose_agents(app, agents)
    enabled = app.config.enabled  # a settings file with a mistake stops us before anything is touched
    if share:
        find_push_url(app, share)  # a name with a mistake, too
    fresh = not (app.layout.data.exists() or app.layout.second.exists())
    age = backfill or (_BACKFILL if fresh else "0")
    since = None if age in ("0", "none") else datetime.now(UTC) - parse_age(age)
    plan_hooks(app.repo)  # where no hook of ours can be had, this refuses before anything is touched
    app.layout.create()
    restore_first_name(app.layout)
    app.layout.mark(enabled=enabled)
    installed = install_rekal(app.repo, chosen, find_executable(), hooks_only=hooks_only)
    with (
        hold_lock(app.layout.lock, wait=30.0, purpose="init"),
        open_ledger(app.layout.data, read_only=False, create=True),
    ):
        pass  # opening creates the tables or brings them up to date
    keep_second_name(app.layout)
    if since is not None:
        ask_for_backfill(app.layout.run, since)
    if share:
        start_sharing(app, share, "full", None)
    servers, notes = _offer_tools(app, chosen) if mcp else ([], [])
    said = [*app.settings.changes, *app.settings.warnings, *list_unused_patterns(app)]
    counts = _count_transcripts(app)
    return SetUp(str(app.layout.directory), fresh, chosen, installed, since, counts, said, servers, notes)


def _offer_tools(app: App, agents: list[str]) -> tuple[list[str], list[str]]:
    """Write the server into the project files of these agents' hosts, and of VS Code where the project has its."""
    hosts = [name for name in MCP_PLACES if name in agents]
    hosts += ["vscode"] if (app.repo.root / ".vscode").is_dir() else []
    servers, notes = write_servers(app.repo, hosts, find_executable())
    if importlib.util.find_spec("mcp") is None:
        notes.append("`rekal mcp` needs the extra: `pipx install '.[mcp]'`")
    return servers, notes


def _count_transcripts(app: App) -> dict[str, int]:
    found = find_changed_sources(app.job(), {})
    return dict(sorted(Counter(adapter.name for adapter, _ in found).items()))


def _choose_agents(app: App, agents: str | None) -> list[str]:
    if agents is not None:
        wanted = [name.strip() for name in agents.split(",") if name.strip()]
        unknown = sorted(set(wanted) - set(registry.agent_names()))
        if unknown:
            raise ConfigError(f"unknown agent {unknown[0]}", f"known are {', '.join(registry.agent_names())}")
        return wanted
    agents_here = [
        info.name for info in registry.describe_built_in() if any((app.home / trace).is_dir() for trace in info.traces)
    ]
    return agents_here or ["claude"]


def clean_up(app: App, *, refs: bool) -> CleanedUp:
    """Remove store, hooks, lines and everything that sharing added to git; with ``refs`` this clone's own ref, too."""
    with ExitStack() as held:
        if app.layout.run.is_dir():
            # A worker finishes the step it is at; this mark, then the missing directory, keeps it from the next.
            app.layout.removal.touch()
            held.callback(app.layout.removal.unlink, missing_ok=True)
            layout = app.layout
            for lock in (layout.working_lock, layout.lock, layout.index_lock, layout.transport_lock):
                held.enter_context(hold_lock(lock, wait=30.0, purpose="clean"))
            _forget_sharing(app, own=refs)
        removed = uninstall_rekal(app.repo)
        if os.path.lexists(app.layout.directory):
            _remove_store(app)
        if app.layout.run.is_dir():
            _remove_directory(app.layout.run)
    return CleanedUp(str(app.layout.directory), removed)


def _remove_store(app: App) -> None:
    """Remove ``.rekal``, unless something in it is not this clone's."""
    try:
        refuse_foreign_files(app.layout, app.repo)
    except Refused as error:
        raise Refused(f"the hooks are gone, but {app.layout.directory} stays: {error.message}", error.hint) from None
    _remove_directory(app.layout.directory)


def _remove_directory(directory: Path) -> None:
    try:
        shutil.rmtree(directory)
    except OSError as error:
        raise StoreUnwritable(f"cannot remove {directory} ({error.strerror})", "remove it by hand") from None


def _forget_sharing(app: App, *, own: bool) -> None:
    """Remove what sharing added to git: refspecs, refs that fetches brought, and with ``own`` this clone's ref."""
    for remote in split_output(app.repo.ask("remote")):
        remove_refspec(app, remote)
    ours = ["refs/rekal-remote/", "refs/rekal-pushed/", *(["refs/rekal/", "refs/heads/rekal/"] if own else [])]
    listed = split_output(app.repo.ask("for-each-ref", "--format=%(refname)", *ours))
    if listed:
        app.repo.run("update-ref", "--stdin", stdin="".join(f"delete {ref}\n" for ref in listed).encode())
