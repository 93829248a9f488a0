"""The start of every verb: the repository, its store, the settings. The only reader of the environment."""

from __future__ import annotations

import functools
import getpass
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from rekal import config
from rekal.errors import NotInitialised, UsageError
from rekal.git import Repo, find_repo
from rekal.index.schema import describe_tables
from rekal.store.layout import Layout, add_slow_pattern, read_slow_patterns
from rekal.store.ownership.catalogue import refuse_foreign_index, refuse_foreign_ledger
from rekal.store.ownership.guard import has_old_places, move_old_places, refuse_foreign_files, restore_first_name

if TYPE_CHECKING:  # loading the adapters and the scrubber costs a recall a tenth of a second that it does not need
    from rekal.capture.read_sources import Job
    from rekal.scrub import Scrubber


class App(msgspec.Struct, frozen=True, dict=True):
    """One invocation."""

    repo: Repo
    home: Path
    env: Mapping[str, str]

    @functools.cached_property
    def layout(self) -> Layout:
        """Paths of the store."""
        return Layout(self.repo.store_dir, self.repo.private_dir)

    @functools.cached_property
    def settings(self) -> config.Settings:
        """The merged settings. Reading them also brings the hooks' switch up to ``enabled``."""
        found = config.read_settings(self.layout.config, self.env, self.home, self.layout.own_config)
        self.layout.mark(enabled=found.config.enabled)
        return found

    @property
    def config(self) -> config.Config:
        """The merged settings' values."""
        return self.settings.config

    def require_store(self) -> None:
        """Raise :class:`NotInitialised` where ``rekal init`` was not run."""
        if not self.layout.run.is_dir():  # a directory that only stands in the work tree may have come with it
            raise NotInitialised("this repository has no rekal store", "run `rekal init` first")
        restore_first_name(self.layout)
        if self.layout.documents.second.exists():
            restore_first_name(self.layout.documents)
        if not self.layout.directory.is_dir():
            raise NotInitialised("the store of this repository is gone", "run `rekal init` for a new one")

    def path_in_repo(self, name: str) -> str:
        """Return a path as typed, relative to the work tree; as it is in a bare repository. UsageError outside."""
        if self.repo.bare:
            return name
        place = Path.cwd() / name
        top = self.repo.worktree.resolve()
        # The last part is not resolved: a tracked symbolic link has lines of its own.
        resolved = place.parent.resolve() / place.name
        if not resolved.is_relative_to(top):
            raise UsageError(f"{name} is outside of this repository", "give a file of this repository")
        return resolved.relative_to(top).as_posix()

    @functools.cached_property
    def scrubber(self) -> Scrubber:
        """The one choke point, under this store's rules."""
        from rekal.scrub import Rules, Scrubber

        rules, shared = self.config.scrub, self.settings.shared_patterns
        slow = read_slow_patterns(self.layout)
        return Scrubber(
            Rules(
                homes=(str(self.home),),
                username=_username(),
                salt=self._salt(),
                email=rules.email,
                ip=rules.ip,
                custom=tuple(pattern for pattern in rules.patterns if pattern not in shared),
                shared=tuple(pattern for pattern in shared if pattern not in slow),
                allow=rules.allow,
                tool_output=self.config.capture.tool_output,
            ),
            lambda pattern: add_slow_pattern(self.layout, pattern),
        )

    def _salt(self) -> str:
        """The store's own secret for pseudonyms: it lives beside the ledger and never leaves."""
        path = self.layout.salt
        try:
            return path.read_text(encoding="ascii")
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(os.urandom(16).hex(), encoding="ascii")
            return path.read_text(encoding="ascii")

    def job(self) -> Job:
        """A capture's unchanging part."""
        from rekal.agents import registry
        from rekal.capture import read_sources
        from rekal.capture.former_places import list_former_places, read_noted_places

        chosen, roots = self.config.capture, self.repo.worktrees()
        former = list_former_places(self.layout.run, roots)
        return read_sources.Job(
            where=read_sources.search_places(self.home, roots, self.env, config.platform_name(), former),
            elsewhere=read_noted_places(self.layout.run).sources,
            adapters=registry.load_adapters(chosen.agents),
            make_scrubber=lambda: self.scrubber,
            author=self.repo.author(),
            exclude=chosen.exclude,
        )


def list_unused_patterns(app: App) -> list[str]:
    """Name the patterns of the shared settings file that are broken or take too long, a sentence each."""
    if not app.settings.shared_patterns:
        return []
    from rekal.scrub.rules import find_broken_patterns

    slow = dict.fromkeys(read_slow_patterns(app.layout), "it takes too long")
    broken = find_broken_patterns(app.settings.shared_patterns) | slow
    return [
        f"the pattern {pattern[:60]!r} of .rekal/config.yml is not used: {broken[pattern]}"
        for pattern in app.settings.shared_patterns
        if pattern in broken
    ]


def _username() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return ""


def find_app(*, check: bool = True) -> App:
    """Return the app of the repository around the current directory.

    Raises :class:`rekal.errors.NoRepository`, and with ``check`` :class:`rekal.errors.Refused` where the store is not
    this clone's own.
    """
    where = Path.cwd()
    signs = tuple(_sign(above / ".git") for above in (where, *where.parents))
    repo = _remembered(where, signs) if any(signs) else find_repo(where)
    app = App(repo, Path.home(), config.read_environment())
    if check:
        check_places(app)
    return app


def check_places(app: App) -> None:
    """Refuse what is not this clone's own under ``.rekal``, and move what 0.1.0 kept there into the git directory."""
    layout = app.layout
    if not (os.path.lexists(layout.directory) or layout.run.is_dir()):
        return
    refuse_foreign_files(layout, app.repo)
    if has_old_places(layout, app.repo.common_dir):
        move_old_places(layout)
    refuse_foreign_ledger(layout)
    refuse_foreign_index(layout.index, layout.run, describe_tables())


def personal_directory(env: Mapping[str, str]) -> Path:
    """Path of the person's own store: ``$REKAL_DATA_HOME``, else ``rekal`` in the platform's data directory."""
    if chosen := env.get("REKAL_DATA_HOME"):
        return Path(chosen)
    # The common case without platformdirs, which takes 4 ms of each recall to load and says the same.
    if sys.platform == "linux" and not any(name in os.environ for name in ("XDG_DATA_HOME", "ANDROID_ROOT")):
        return Path("~/.local/share/rekal").expanduser()
    from platformdirs import user_data_path

    return user_data_path("rekal", appauthor=False)


def find_agent(env: Mapping[str, str], actor_kind: str = "") -> str | None:
    """Return the agent whose host set ``env``; None for a person. ``actor_kind`` overrides it: human or agent."""
    from rekal.agents.registry import describe_built_in  # a small module for each agent, 2 ms in all

    actor_kind = actor_kind or env.get("REKAL_ACTOR", "")
    if actor_kind == "human":
        return None
    for info in describe_built_in():
        if any(env.get(name) for name in info.session_variables):
            return info.name
    return "agent" if actor_kind == "agent" else None


def is_for_agent(app: App) -> bool:
    """Return True if an agent's host runs this process: then an agent reads the answer."""
    return find_agent(app.env) is not None


def _sign(path: Path) -> tuple[int, int, int] | None:
    """Return a mark that changes when a repository appears, goes or is reconfigured; None when there is nothing."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_ino, found.st_mtime_ns, found.st_ctime_ns


# For the daemon, of whose time for a warm recall git's answer would be a tenth.
@functools.lru_cache(maxsize=8)
def _remembered(where: Path, signs: tuple[tuple[int, int, int] | None, ...]) -> Repo:
    return find_repo(where)
