"""Adapters of other distributions, kept from failing for everybody else.

What a foreign adapter raises, when it is loaded, lists or reads, costs what it was working on, and is said like any
transcript that cannot be read.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from rekal.agents.base import Adapter, Parsed, Resume, Source, Where
from rekal.errors import SourceBusy, SourceError


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
            self._failure = _said(error)
            yield Source(self.name, f"adapter {self.name}", Path(f"adapter {self.name}"), -1, 0)

    def parse(self, source: Source, resume: Resume | None, where: Where) -> Parsed:
        """Read ``source``. Raises :class:`SourceError` for whatever the adapter raises."""
        if source.size < 0:
            raise SourceBusy(f"the adapter for {self.name} cannot list its transcripts ({self._failure})")
        try:
            return self._loaded().parse(source, resume, where)
        except SourceError:
            raise
        except Exception as error:  # a foreign program may raise anything
            raise SourceError(f"the adapter for {self.name} failed on {source.key} ({_said(error)})") from error

    def sniff(self, head: bytes) -> bool:
        """The adapter's judgement of ``head``; one that fails claims nothing."""
        try:
            return bool(self._loaded().sniff(head))
        except Exception:  # noqa: BLE001 - its discover says what is wrong
            return False


def _said(error: Exception) -> str:
    words = str(error).strip().splitlines()
    return f"{type(error).__name__}: {words[0]}" if words else type(error).__name__
