"""What an adapter is, with the records it takes and gives; and the facts about an agent that are not its transcripts.

``discover`` lists the sources that may hold sessions of a repository; it costs a directory listing and one ``stat`` a
source. ``parse`` reads one source from where the last reading stopped. Whether a transcript belongs to the
repository is decided afterwards, in one place, from the working directories it records.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Protocol

import msgspec

from rekal.errors import SourceBusy
from rekal.model import Transcript

# What an adapter is: a name, ``discover`` and ``parse``.
#
# ``discover`` lists the sources that may hold sessions of a repository; it costs a directory listing and one ``stat`` a
# source. ``parse`` reads one source from where the last reading stopped. Whether a transcript belongs to the repository
# is decided afterwards, in one place, from the working directories it records.


class Where(msgspec.Struct, frozen=True):
    """The places to look in. ``roots`` are the repository's work trees, main one first, absolute and resolved.

    ``env`` is the part of the environment that adapters may read; only the command line reads the real one.
    """

    home: Path
    roots: tuple[Path, ...]
    env: Mapping[str, str] = msgspec.field(default_factory=dict)
    platform: str = "linux"


class Source(msgspec.Struct, frozen=True):
    """One thing to read: a file, or one session inside a database (``key`` is then ``path#session``).

    ``size`` and ``mtime_ns`` together are its revision: when neither moved, it is not read again. A database source
    puts a counter of its own there (rows and last update) instead of the file's.
    """

    agent: str
    key: str
    path: Path
    size: int
    mtime_ns: int
    parent_key: str | None = None


class Resume(msgspec.Struct, frozen=True):
    """The end of the last reading of an append-only file; ``prefix_hash`` tells whether it is still that file."""

    offset: int
    prefix_hash: str


class Parsed(msgspec.Struct, frozen=True):
    """The outcome of one reading.

    ``offset`` is the first byte not consumed (0 for sources that are read whole); reading again from there loses
    nothing, and what it repeats is known by its ids. ``skipped_bytes`` could not be understood as a record.
    ``drift`` counts record types this version does not know. ``restarted`` says that the resume point no longer
    fitted and the source was read from its beginning.
    """

    transcripts: tuple[Transcript, ...] = ()
    offset: int = 0
    prefix_hash: str = ""
    skipped_bytes: int = 0
    drift: Mapping[str, int] = msgspec.field(default_factory=dict)
    restarted: bool = False


def refuse_source(path: Path, error: OSError) -> SourceBusy:
    """The one sentence for a file that the system does not let us read."""
    return SourceBusy(f"{path} cannot be read ({error.strerror})")


class Adapter(Protocol):
    """One agent's transcripts."""

    name: str

    def discover(self, where: Where) -> Iterator[Source]:
        """Yield the sources that may concern ``where.roots``, in a stable order. Missing directories yield nothing."""
        ...

    def parse(self, source: Source, resume: Resume | None, where: Where) -> Parsed:
        """Read ``source``. Raises :class:`rekal.errors.SourceError` when nothing of it can be read: it is tried again
        when its revision moves, a :class:`rekal.errors.SourceBusy` by the next capture.
        """
        ...

    def sniff(self, head: bytes) -> bool:
        """True if the first bytes of a file (up to 64 KiB) look like this agent's transcripts."""
        ...


# The facts about an agent that are not its transcripts: one record in each agent's folder.


class AgentInfo(msgspec.Struct, frozen=True):
    """An agent as the rest of rekal knows it. Paths are relative: traces to the home directory, files to the work tree.

    ``adapters`` are modules with an ``ADAPTER``, inside the agent's folder. ``traces`` are directories whose presence
    means that the agent is used on this machine. ``instruction_file`` is what it reads at its start, ``skill_folder``
    where it looks for skills (empty: nowhere). ``environment_prefixes`` begin the variables that its adapter and its
    host set or read; ``session_variables`` are set by the host for what it runs, those with ``ID`` name its session.
    ``resume_command`` goes before a session's own id to go on with it (empty: there is no such command).
    """

    name: str
    adapters: tuple[str, ...] = ("adapter",)
    traces: tuple[str, ...] = ()
    instruction_file: str = "AGENTS.md"  # most newer agents read it
    skill_folder: str = ""
    environment_prefixes: tuple[str, ...] = ()
    session_variables: tuple[str, ...] = ()
    resume_command: tuple[str, ...] = ()
