"""The adapters: ours, and those that other distributions add under the entry-point group ``rekal.agents``.

An adapter's module is imported only when its agent is asked for. A name that is ours stays ours.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, cast

from rekal.agents.contract import Adapter, AgentInfo, Parsed, Resume, Source, Where
from rekal.errors import ConfigError, SourceBusy, SourceError

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint


# Adapters of other distributions, kept from failing for everybody else.
#
# What a foreign adapter raises, when it is loaded, lists or reads, costs what it was working on, and is said like any
# transcript that cannot be read.


class Foreign:
    """The adapter that ``load`` gives, under the name it was registered by."""

    def __init__(self, name: str, load: Callable[[], Adapter]) -> None:
        self.name = name
        self._load = load
        self._adapter: Adapter | None = None
        self._failure = ""

    def _loaded(self) -> Adapter:
        self._adapter = self._adapter or self._load()
        return self._adapter

    def discover(self, where: Where) -> Iterator[Source]:
        """Yield the adapter's sources; when that fails, one more whose reading says why."""
        try:
            yield from self._loaded().discover(where)
        except Exception as error:  # noqa: BLE001 - a foreign program may raise anything
            # Kept, because the source that says it is read later, when the error is gone.
            self._failure = _describe_failure(error)
            yield Source(self.name, f"adapter {self.name}", Path(f"adapter {self.name}"), -1, 0)

    def parse(self, source: Source, resume: Resume | None, where: Where) -> Parsed:
        """Read ``source``. Raises :class:`SourceError` for whatever the adapter raises."""
        # Our own mark: a real source has no negative size.
        if source.size < 0:
            raise SourceBusy(f"the adapter for {self.name} cannot list its transcripts ({self._failure})")
        try:
            return self._loaded().parse(source, resume, where)
        except SourceError:
            raise
        except Exception as error:  # a foreign program may raise anything
            raise SourceError(
                f"the adapter for {self.name} failed on {source.key} ({_describe_failure(error)})"
            ) from error

    def sniff(self, head: bytes) -> bool:
        """The adapter's judgement of ``head``; one that fails claims nothing."""
        try:
            return bool(self._loaded().sniff(head))
        except Exception:  # noqa: BLE001 - its discover says what is wrong
            return False


def _describe_failure(error: Exception) -> str:
    words = str(error).strip().splitlines()
    return f"{type(error).__name__}: {words[0]}" if words else type(error).__name__


GROUP = "rekal.agents"

# The one line to touch for a new agent: a folder of this name holds its INFO and its adapters.
BUILT_IN = ("claude", "codex", "copilot", "cursor", "gemini", "kiro", "opencode")


def describe_agent(name: str) -> AgentInfo:
    """Return the facts about an agent; of one that another distribution adds, its name and the usual file."""
    if name not in BUILT_IN:
        return AgentInfo(name)
    return cast(AgentInfo, import_module(f"rekal.agents.{name}").INFO)


def describe_built_in() -> list[AgentInfo]:
    """Return the facts about all of our agents, in order of their names."""
    return [describe_agent(name) for name in BUILT_IN]


def agent_names() -> list[str]:
    """All agents known, in order."""
    return sorted({*BUILT_IN, *(point.name for point in _foreign_adapters())})


def load_adapters(wanted: Collection[str] = ()) -> list[Adapter]:
    """The adapters of the agents named, or of all. Raises :class:`ConfigError` for a name that nobody provides."""
    known: dict[str, list[Adapter] | None] = dict.fromkeys(BUILT_IN)
    for point in _foreign_adapters():
        if point.name not in BUILT_IN:
            # Two distributions may read the same agent's stores of different programs.
            known[point.name] = [*(known.get(point.name) or ()), Foreign(point.name, point.load)]
    # Sorted, so that the same mistake gives the same message each time.
    unknown = sorted(set(wanted) - set(known))
    if unknown:
        raise ConfigError(f"unknown agent {unknown[0]}", f"known are {', '.join(sorted(known))}")
    chosen = [name for name in sorted(known) if name in wanted or not wanted]
    return [adapter for name in chosen for adapter in known[name] or _built_in(name)]


def _built_in(name: str) -> list[Adapter]:
    folder = f"rekal.agents.{name}"
    return [cast(Adapter, import_module(f"{folder}.{one}").ADAPTER) for one in describe_agent(name).adapters]


def _foreign_adapters() -> list[EntryPoint]:
    """Adapters that other distributions add."""
    if not any(_names_us(Path(place)) for place in dict.fromkeys(sys.path)):
        return []
    from importlib.metadata import entry_points

    return list(entry_points(group=GROUP))


def _names_us(place: Path) -> bool:
    """True if a distribution there may add something.

    ``importlib.metadata`` tells this, too, in 26 ms of every capture; to look for one word in the same files takes 2.
    """
    try:
        if place.is_file():  # an archive
            return True
        return any(GROUP.encode() in file.read_bytes() for file in place.glob("*-info/entry_points.txt"))
    except OSError:
        return True
