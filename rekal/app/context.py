"""The start of every verb: the repository, its store, the settings, times as people write them.

The only reader of the environment.
"""

from __future__ import annotations

import functools
import getpass
import os
import re
import sys
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta, tzinfo
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from rekal import config
from rekal.errors import NotInitialised, UsageError
from rekal.files import write_atomically
from rekal.git import Repo, find_repo
from rekal.git.run import absolute_entries
from rekal.index.index_tables import INDEX_TABLES
from rekal.model import Author
from rekal.store import guard
from rekal.store.layout import Layout, add_slow_pattern, read_slow_patterns

if TYPE_CHECKING:
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
        guard.restore_first_name(self.layout)
        if self.layout.documents.second.exists():
            guard.restore_first_name(self.layout.documents)
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

    def scrub(self, text: str) -> str:
        """Return ``text`` as it may be stored. The scrubber is made for the first text: many commands have none."""
        return self.scrubber.text(text)

    def _salt(self) -> str:
        """The store's own secret for pseudonyms: it lives beside the ledger and never leaves."""
        path = self.layout.salt
        try:
            return path.read_text(encoding="ascii")
        except FileNotFoundError:
            path.parent.mkdir(parents=True, exist_ok=True)
            write_atomically(path, os.urandom(16).hex().encode("ascii"))
            return path.read_text(encoding="ascii")

    @functools.cached_property
    def author(self) -> Author:
        """The person whose captures these are, asked of git once."""
        return self.repo.author()

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
            author=self.author,
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


def find_executable() -> Path:
    """Find the command that the hooks start: the one being run, else the one beside this interpreter."""
    import shutil  # 2 ms that hardly any command needs

    called = Path(sys.argv[0])
    if called.name in ("rekal", "git-rekal") and called.is_file():
        # Under either name the hooks are the same to the byte.
        sibling = called.absolute().with_name("rekal")
        return sibling if sibling.is_file() else called.absolute()
    beside = Path(sys.executable).parent / "rekal"
    on_path = shutil.which("rekal", path=absolute_entries(config.read_environment().get("PATH", "")))
    return beside if beside.is_file() or on_path is None else Path(on_path)


def check_places(app: App) -> None:
    """Refuse what is not this clone's own under ``.rekal``, and move what 0.1.0 kept there into the git directory."""
    layout = app.layout
    if not (os.path.lexists(layout.directory) or layout.run.is_dir()):
        return
    guard.refuse_foreign_files(layout, app.repo)
    if guard.has_old_places(layout, app.repo.common_dir):
        guard.move_old_places(layout)
    guard.refuse_foreign_databases(layout, INDEX_TABLES)
    # The documents' ledger and index lie below the checkout too, and are opened by every recall that finds them.
    guard.refuse_foreign_databases(layout.documents, INDEX_TABLES)


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


def is_for_agent(env: Mapping[str, str]) -> bool:
    """Return True if an agent's host runs this process, by its environment: then an agent reads the answer."""
    return find_agent(env) is not None


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


# Points and lengths of time as people write them, and the user's clock.

_AGE = re.compile(r"(\d+)\s*([dwmy])")
_DAYS = {"d": 1, "w": 7, "m": 30, "y": 365}


class _Local(tzinfo):
    """The system's zone with its summer times; the one in which a day is looked up decides, not the one of today."""

    def utcoffset(self, when: datetime | None) -> timedelta | None:
        return when.replace(tzinfo=None).astimezone().utcoffset() if when else None

    def dst(self, when: datetime | None) -> timedelta | None:
        return None

    def tzname(self, when: datetime | None) -> str | None:
        return when.replace(tzinfo=None).astimezone().tzname() if when else None


def local_now() -> datetime:
    """Return the time, in the user's zone."""
    return datetime.now().replace(tzinfo=_Local())


def parse_age(text: str) -> timedelta:
    """Return the length of ``90d``, ``12w``, ``6m`` or ``1y``. Raises :class:`UsageError`."""
    match = _AGE.fullmatch(text.strip().lower())
    if match is None:
        raise UsageError(f"{text} is not an age", "write 90d, 12w, 6m or 1y")
    return timedelta(days=int(match[1]) * _DAYS[match[2]])


def read_moment(app: App | None, text: str | None, *, end: bool = False) -> datetime | None:
    """Return a date, a time, an age or a commit as a point in time, and None for None.

    Without ``app`` no commit is known. A date given as an ``end`` means the end of that day. Raises
    :class:`UsageError`.
    """
    if text is None:
        return None
    try:
        found = datetime.fromisoformat(text)
    except ValueError:
        commit = app.repo.commit(text) if app is not None else None
        spelled = commit.committed_at if commit else _parse_words(text, end)
        if spelled:
            return spelled
        try:
            return datetime.now(UTC) - parse_age(text)
        except UsageError:
            hint = "write 2026-03-01, yesterday, 30d or the name of a commit"
            raise UsageError(f"{text} is not a date, an age or a commit", hint) from None
    # `2026-03-01` is ten characters long; anything longer says a time of the day, too.
    if len(text) <= 10 and end:
        found = found.replace(hour=23, minute=59, second=59, microsecond=999999)
    return found if found.tzinfo else found.replace(tzinfo=UTC)


def _parse_words(text: str, end: bool) -> datetime | None:
    """Return the beginning of a time given in words ("last week"), or its end; None for anything else."""
    from rekal.recall.dates import read_periods  # most times are dates or ages, which need none of it

    for phrase in (text, f"in {text}"):  # a month alone is a date only after a preposition
        for found in read_periods(phrase, local_now()):
            if (found.start, found.stop) == (0, len(phrase)):
                return found.until - timedelta(microseconds=1) if end and found.until else found.since
    return None


def parse_handle(text: str) -> tuple[str, int | None]:
    """Split ``ID:TURN`` into the name of a session or commit and the number of a turn, None without one.

    ``ID#TURN`` and ``ID tTURN``, which earlier versions printed, are read, too. UsageError for no number.
    """
    name, mark, turn = text.strip().partition("#")
    if not mark:
        # Names of commits hold colons before words (`HEAD:README`), never before a number alone.
        name, mark, turn = text.strip().rpartition(":")
        if not mark or not turn.lstrip("t").isdigit():
            name, mark, turn = text.strip().partition(" t")
    if not mark:
        return text.strip(), None
    if not name or not turn.lstrip("t").isdigit():
        raise UsageError(f"{text} is not a session and a turn", "write ID:TURN, for example 7f3a9c:41")
    return name, int(turn.lstrip("t"))
