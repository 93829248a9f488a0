"""What lies where under ``.rekal/``."""

from __future__ import annotations

import contextlib
from datetime import datetime
from pathlib import Path

import msgspec

from rekal.errors import StoreUnwritable
from rekal.files import read_or_empty, write_atomically
from rekal.store.worker_turn import WAITING, WORKING

README = """\
This directory is rekal's: memory for coding agents, kept with the repository.

  data.db     what was said and done, scrubbed of secrets; the only copy of it
  index.db    derived from data.db; `rekal index --full` builds it again
  vectors/    derived by a model, kept when index.db is built again
  config.yml  optional settings, may be committed

Trusted settings, locks, logs and waiting events are in the git directory, under rekal/, which no clone brings along.
A second name of data.db is there too: `git clean -fdx` does not take the only copy.

`rekal status` says how it is. `rekal clean` removes all of it.
"""


CHECKED_INDEX = "index-checked"
"""The state of git's index in which nothing of the store was tracked."""

CHECKED_LEDGER = "ledger-checked"
"""Position of a ledger without memories, and the state of its file in which it was read."""

CHECKED_REFLEXES = "reflexes-checked"
"""State of the ledger and of the branches in which the reflexes had nothing left to propose; the commits they read."""

CHECKED_DATABASE = "known-"
"""Beginning of the names of two files that say in which state a database was looked at: `known-data`, `known-index`."""

SECOND_NAME = "data.db"
"""Second name of the ledger's file, out of reach of ``git clean``."""

COPIES_SEEN = "copies-seen"
"""The commit up to which HEAD was searched for copies of commits."""

PLACES = "places"
"""Work trees of now and before, and transcripts that lie in other directories' folders."""

REWRITE_DATA = "rewrite-data"
"""Mark that data.db is to be rewritten, so that nothing deleted stays in its file."""

WORKER_ERRORS, DAEMON_ERRORS = "worker.err", "daemon.err"
"""The error output of the last background processes."""

REPLACED_TIPS = "replaced-tips"
"""Tips of this clone's ref that a forgetting replaced, until their objects are removed."""

FORGOTTEN = "forgotten"
"""Folder with a file a request to forget, for its undoing: ids of the sessions and commits that it concerned."""

LEASES = "leases"
"""Folder with a file a remote that still has this clone's ref as it was before a forgetting."""

REFS_SEEN, REFS_ASKED = "refs-seen", "refs-asked"
"""Stamps of the refs that fetches bring: as they were imported, and as somebody last asked for their import."""


class Layout(msgspec.Struct, frozen=True):
    """Paths of one store. ``directory`` is ``.rekal``, ``home`` is ``rekal/`` in the git directory.

    Without ``home``, as in the personal store, what belongs there is in ``run/`` of ``directory``.
    """

    directory: Path
    home: Path | None = None

    @property
    def data(self) -> Path:
        """The ledger."""
        return self.directory / "data.db"

    @property
    def index(self) -> Path:
        """The derived index."""
        return self.directory / "index.db"

    @property
    def vectors(self) -> Path:
        """Vectors of turns, a file a model."""
        return self.directory / "vectors"

    @property
    def extracted(self) -> Path:
        """Threads of documents of which a model has taken the facts, an id a line."""
        return self.run / "extracted"

    @property
    def cards(self) -> Path:
        """Cards made of facts, and a hash of those facts."""
        return self.run / "cards.json"

    @property
    def documents(self) -> Layout:
        """Paths of the documents' own ledger and index, made alike; nothing in them is ever sent."""
        return Layout(self.directory / "documents", self.home / "documents" if self.home else None)

    @property
    def config(self) -> Path:
        """The repository's own settings."""
        return self.directory / "config.yml"

    @property
    def spool(self) -> Path:
        """Events waiting."""
        return self.run / "spool" if self.home else self.directory / "spool"

    @property
    def run(self) -> Path:
        """Directory of what only this clone may say: its settings, salt, locks, logs, marks. No checkout reaches it."""
        return self.home or self.directory / "run"

    @property
    def second(self) -> Path:
        """Second name of the ledger's file, out of reach of ``git clean``."""
        return self.run / SECOND_NAME

    @property
    def own_config(self) -> Path:
        """This clone's own, trusted settings."""
        return self.run / "config.yml"

    @property
    def slow_patterns(self) -> Path:
        """Patterns of the shared settings that took too long here."""
        return self.run / "slow-patterns"

    @property
    def salt(self) -> Path:
        """The secret that pseudonyms are made with."""
        return self.run / "salt"

    @property
    def injected(self) -> Path:
        """A file for each session of an agent, with what the session was given unasked."""
        return self.run / "injected"

    @property
    def usage(self) -> Path:
        """A file for each week with what was asked and given: verdicts, moments and tokens, no words."""
        return self.run / "usage"

    @property
    def injection(self) -> Path:
        """Record of the entries in settings of agents' hosts."""
        return self.run / "injection.json"

    @property
    def lock(self) -> Path:
        """The writer's lock."""
        return self.run / "lock"

    @property
    def index_lock(self) -> Path:
        """The index builder's lock: an index build does not hold up a capture."""
        return self.run / "index.lock"

    @property
    def working_lock(self) -> Path:
        """Lock of the one background worker that works."""
        return self.run / WORKING

    @property
    def waiting_lock(self) -> Path:
        """Lock of the one worker that waits for its turn: a further one ends at once."""
        return self.run / WAITING

    @property
    def removal(self) -> Path:
        """Mark of a `rekal clean` under way: workers end at their next step."""
        return self.run / "removing"

    @property
    def unsent(self) -> Path:
        """Mark that there may be something to send: without it the pre-push hook costs a push nothing."""
        return self.run / "share-on"

    @property
    def unfinished_forgetting(self) -> Path:
        """Mark of a forgetting that began: whoever finds it finishes it."""
        return self.run / "forgetting"

    @property
    def transport_lock(self) -> Path:
        """Lock of what changes this clone's ref: pushing and forgetting."""
        return self.run / "transport.lock"

    @property
    def web_access(self) -> Path:
        """Address and secret of the web page while it is served, for its owner's eyes alone."""
        return self.run / "web-access.json"

    @property
    def web_opener(self) -> Path:
        """File that leads a browser to the web page, so that no command line shows the secret."""
        return self.run / "web-open.html"

    @property
    def web_visit(self) -> Path:
        """When somebody last said on the web page that they had seen everything new."""
        return self.run / "web-visit"

    @property
    def log(self) -> Path:
        """Log of the background worker."""
        return self.run / "worker.log"

    def mark(self, *, enabled: bool) -> None:
        """Tell the hooks, which cannot read settings, whether to do anything: a file in ``run/`` switches them off."""
        marker = self.run / "disabled"
        if marker.exists() is not enabled or not self.run.is_dir():
            return
        # In a store that cannot be written, the hooks leave nothing either.
        with contextlib.suppress(OSError):
            if enabled:
                marker.unlink(missing_ok=True)
            else:
                marker.touch()

    def create(self) -> None:
        """Make the directories and the README. Idempotent. Raises :class:`StoreUnwritable`."""
        try:
            for directory in (self.directory, self.run, self.spool):
                directory.mkdir(parents=True, exist_ok=True)
                # Files below keep whatever the umask gave them: nobody else gets as far as to them.
                directory.chmod(0o700)
            (self.run / "said-gone").unlink(missing_ok=True)  # a hook's, of the store before this one
            readme = self.directory / "README"
            if not readme.exists():
                readme.write_text(README, encoding="utf-8")
        except OSError as error:
            raise StoreUnwritable(
                f"cannot create {self.directory} ({error.strerror})", "check its permissions"
            ) from None


_BACKFILL = "backfill"
"""A file with the date of a back-fill that is wanted, removed when it is done: one that is killed goes on with the next
worker."""


def ask_for_backfill(run: Path, since: datetime) -> None:
    """Ask the next worker to import transcripts changed after ``since``."""
    write_atomically(run / _BACKFILL, since.isoformat().encode())


def backfill_asked_for(run: Path) -> datetime | None:
    """Since when a back-fill is wanted; None when none is."""
    try:
        return datetime.fromisoformat((run / _BACKFILL).read_text(encoding="ascii").strip())
    except (FileNotFoundError, ValueError):
        return None


def finish_backfill(run: Path) -> None:
    """The back-fill is done."""
    (run / _BACKFILL).unlink(missing_ok=True)


# Patterns of the shared settings that took too long here: each costs its time once, not once a process.


def read_slow_patterns(layout: Layout) -> list[str]:
    """Return the patterns that are left out."""
    try:
        return msgspec.json.decode(read_or_empty(layout.slow_patterns) or b"[]", type=list[str])
    except msgspec.MsgspecError:
        return []


def add_slow_pattern(layout: Layout, pattern: str) -> None:
    """Leave ``pattern`` out from now on."""
    slow = read_slow_patterns(layout)
    if pattern not in slow:
        # A store that cannot be written pays again; nothing else is lost.
        with contextlib.suppress(OSError):
            write_atomically(layout.slow_patterns, msgspec.json.encode([*slow, pattern][-100:]))
