"""The stores that a caller's memories are in, and who the caller is.

Inside a repository there are two: the repository's, and the person's own, which lies in the user's data directory and
is made at its first use. Nothing personal ever travels: the personal store has no remote to go to.
"""

from __future__ import annotations

import functools
import getpass
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from rekal import config, ids
from rekal.agents.registry import describe_agent
from rekal.app.context import App, find_agent, find_app, personal_directory
from rekal.errors import NoRepository
from rekal.git import split_output
from rekal.memory.scope import Place
from rekal.memory.state import Memories, fold
from rekal.memory.write import Actor
from rekal.model import MemoryEvent
from rekal.store.layout import Layout
from rekal.store.ledger import Ledger, open_ledger
from rekal.store.locks import hold_lock
from rekal.store.memory_log import read_events

if TYPE_CHECKING:  # what it imports costs a tenth of a second that reading memories does not need
    from rekal.scrub import Scrubber

_WAIT = 60.0
_RECENT = 900.0  # seconds since a transcript was written to in which its session is taken for the caller's


class Desk(msgspec.Struct, frozen=True, dict=True):
    """The stores that one caller reads and writes memories in. ``app`` is None outside a repository with a store.

    ``via`` is the face: ``cli``, ``mcp``, ``web``, ``hook``, ``import``. ``actor_kind`` overrides what the environment
    tells: ``human`` or ``agent``.
    """

    home: Path
    env: Mapping[str, str]
    app: App | None = None
    via: str = "cli"
    actor_kind: str = ""

    @functools.cached_property
    def personal(self) -> Layout:
        """Paths of the personal store."""
        return Layout(personal_directory(self.env))

    @property
    def config(self) -> config.Config:
        """The settings that hold here."""
        if self.app is not None:
            return self.app.config
        return config.read_settings(None, self.env, self.home, self.personal.config).config

    @functools.cached_property
    def agent(self) -> str | None:
        """The agent whose host runs this process; None for a person."""
        return find_agent(self.env, self.actor_kind)

    @functools.cached_property
    def actor(self) -> Actor:
        """The person or program that the log names."""
        name = self.app.author.name if self.app is not None else _user_name()
        if self.agent is None:
            return Actor(name, "human", self.via)
        return Actor(f"{self.agent} for {name}", "agent", self.via)

    def layout_of(self, *, personal: bool) -> Layout:
        """The store to write to. Outside a repository that is the personal one. Made if it isn't there."""
        if personal or self.app is None:
            self.personal.create()
            return self.personal
        self.app.require_store()
        return self.app.layout

    def scrub(self, text: str) -> str:
        """``text`` without secrets."""
        return self.scrubber.text(text)

    @functools.cached_property
    def scrubber(self) -> Scrubber:
        """The scrubber of the repository, or by the person's own rules outside of one."""
        if self.app is not None:
            return self.app.scrubber
        from rekal.scrub import Rules, Scrubber

        rules = self.config.scrub
        return Scrubber(
            Rules(
                homes=(str(self.home),), username=_user_name(), email=rules.email, ip=rules.ip, custom=rules.patterns,
                allow=rules.allow,
            )
        )  # fmt: skip

    @contextmanager
    def writing(self, *, personal: bool) -> Iterator[Ledger]:
        """One transaction on a store, under the writer's lock."""
        layout = self.layout_of(personal=personal)
        with (
            hold_lock(layout.lock, wait=_WAIT, purpose="remembering"),
            open_ledger(layout.data, read_only=False, wait=_WAIT, create=True) as ledger,
            ledger.transaction(indexed=False),  # memories are read from the log itself
        ):
            yield ledger
        self._note_unsent(layout)

    def _note_unsent(self, layout: Layout) -> None:
        """Tell the pre-push hook that there may be something to send."""
        if self.app is not None and layout is not self.personal:
            transport = self.config.transport
            if transport.share != "none" and transport.remotes:
                layout.unsent.touch()

    def events(self, *, personal: bool) -> list[MemoryEvent]:
        """The log of one store, in order; empty for a personal store that was never used."""
        layout = self.personal if personal or self.app is None else self.app.layout
        if not layout.data.exists():
            return []
        with open_ledger(layout.data, read_only=True, wait=_WAIT) as ledger:
            return read_events(ledger.con)

    def memories(self, now: datetime | None = None, known_at: datetime | None = None) -> Memories:
        """The memories of both stores as of ``now``, the repository's first."""
        moment = now or datetime.now(UTC)
        own = fold(self.events(personal=True), moment, known_at)
        if self.app is None:
            return own
        shared = fold(self.events(personal=False), moment, known_at)
        return Memories(shared.all + own.all, shared.links + own.links, shared.unreadable + own.unreadable)

    def head(self) -> str | None:
        """The commit at hand."""
        return self.app.repo.head() if self.app is not None else None

    def current_session(self) -> str | None:
        """The session that this is called from: by the host's variable, else by the agent's newest transcript."""
        if self.agent is None or self.app is None:
            return None
        for name in describe_agent(self.agent).session_variables:
            if name.endswith("_ID") and (native := self.env.get(name)):
                return ids.session_id(self.agent, native, self.app.author.email)
        from rekal.app.present_session import find_present_session  # adapters, which only such hosts need

        return find_present_session(self.app, self.agent, datetime.now(UTC).timestamp() - _RECENT)

    def is_current_session(self, name: str) -> bool:
        """True if ``name`` is the beginning of the calling session's id, or the host's own id of it."""
        if self.agent is None:
            return False
        if name in {self.env.get(one) for one in describe_agent(self.agent).session_variables if one.endswith("_ID")}:
            return True
        return (self.current_session() or "").startswith(name)


def desk_here(via: str = "cli", actor_kind: str = "") -> Desk:
    """The desk of the current directory: with its repository, if it is in one that has a store."""
    try:
        app = find_app()
    except NoRepository:
        return Desk(Path.home(), config.read_environment(), None, via, actor_kind)
    return Desk(app.home, app.env, app if app.layout.directory.is_dir() else None, via, actor_kind)


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        return "unknown"


def place_of_desk(desk: Desk, files: Sequence[str] = ()) -> Place:
    """Return the place a caller asks from: the branch at hand, the branches merged into it, and ``files``."""
    if desk.app is None:
        return Place(tuple(files))
    repo = desk.app.repo
    branch = repo.branch()
    merged = split_output(repo.ask("branch", "--merged", "HEAD", "--format=%(refname:short)")) if branch else []
    return Place(tuple(files), branch, frozenset(merged))
