"""The indexes, vectors and model that commands open to answer, and making the vectors that are missing.

A process of one command closes them at its end. The daemon keeps them from one command to the next, and looks at each
file before it uses it again: one that was renamed into place is opened at once, the old one closed.
"""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from rekal.app.context import App, personal_directory
from rekal.config import Embed, read_variable
from rekal.errors import EngineError, RekalError, StoreBusy, StoreDamaged, StoreError
from rekal.model import MemoryEvent
from rekal.store.layout import Layout

if TYPE_CHECKING:
    from rekal.embed.base import Embedder
    from rekal.index.dense import Dense, Meaning
    from rekal.index.reader import IndexReader
    from rekal.index.vectors import Progress


_MOST_INDEXES = 4  # a repository's sessions and documents, the person's, one more; 14,000 turns take about 20 MB

Identity = tuple[int, int, int]


def file_identity(path: Path) -> Identity:
    """Return the numbers that tell a file from the one that replaces it. FileNotFoundError without one."""
    found = path.stat()
    return found.st_ino, found.st_mtime_ns, found.st_size


class _Index:
    """One open index and what was joined to it."""

    def __init__(self, path: Path) -> None:
        self.identity = file_identity(path)
        self._stack = ExitStack()
        from rekal.index.reader import open_index  # numpy: a command that opens nothing does without

        self.reader = self._stack.enter_context(open_index(path))
        self._dense: tuple[Path, Identity, Dense] | None = None

    def dense(self, path: Path) -> Dense:
        found = file_identity(path)
        if self._dense is None or self._dense[:2] != (path, found):
            from rekal.index.dense import Dense
            from rekal.index.vectors import VectorFile

            self._dense = path, found, Dense(self.reader, VectorFile(path))
        return self._dense[2]

    def close(self) -> None:
        self._dense = None
        self._stack.close()


class LedgerState(msgspec.Struct, frozen=True):
    """Parts of a ledger that a recall wants: its position, and the log of memories in order."""

    position: int = 0
    events: tuple[MemoryEvent, ...] = ()


class Kept:
    """Open indexes by path, and at most one model."""

    def __init__(self) -> None:
        self._indexes: dict[Path, _Index] = {}
        self._model: tuple[Embed, Embedder] | None = None
        self._ledgers: dict[Path, tuple[object, LedgerState]] = {}
        self._signatures: dict[Path, tuple[object, dict[str, str]]] = {}

    def index(self, path: Path) -> IndexReader:
        """The index at ``path`` as it is now. Raises the errors of :func:`rekal.index.reader.open_index`."""
        return self._opened(path).reader

    def dense(self, index: Path, vectors: Path) -> Dense:
        """The vectors at ``vectors`` joined to the index at ``index``. StoreDamaged, FileNotFoundError."""
        return self._opened(index).dense(vectors)

    def _opened(self, path: Path) -> _Index:
        held = self._indexes.pop(path, None)
        if held is not None and (not path.exists() or held.identity != file_identity(path)):
            held.close()
            held = None
        while held is None and len(self._indexes) >= _MOST_INDEXES:
            self._indexes.pop(next(iter(self._indexes))).close()
        if held is None:
            held = _Index(path) if path.exists() else self._missing(path)
        self._indexes[path] = held  # the one used last stands last
        return held

    @staticmethod
    def _missing(path: Path) -> _Index:
        from rekal.index.reader import open_index

        with open_index(path):  # says what is wrong
            raise AssertionError(path)

    def embedder(self, chosen: Embed, api_key: str | None = None) -> Embedder:
        """The model that the settings ask for. EngineError when there is none to be had."""
        from rekal.embed.open import open_chosen

        if self._model is None or self._model[0] != chosen:
            self._close_model()
            self._model = chosen, open_chosen(chosen, api_key)
        return self._model[1]

    def ledger(self, data: Path, read: Callable[[], LedgerState]) -> LedgerState:
        """State of the ledger: ``read`` again only when the file, or what is not yet merged into it, has changed."""
        now = _ledger_identity(data)
        if data not in self._ledgers or self._ledgers[data][0] != now:
            self._ledgers[data] = now, read()
        return self._ledgers[data][1]

    def signatures(
        self, data: Path, origins: Collection[str], read: Callable[[Collection[str]], Mapping[str, str]]
    ) -> Mapping[str, str]:
        """Verdicts on refs, by origin: ``read`` are those not asked for since the ledger changed."""
        now = _ledger_identity(data)
        held = self._signatures.get(data)
        known = held[1] if held and held[0] == now else {}
        if lacking := [origin for origin in sorted(origins) if origin not in known]:
            known |= dict.fromkeys(lacking, "unchecked") | dict(read(lacking))
            self._signatures[data] = now, known
        return known

    def drop_stale(self) -> None:
        """Close indexes that were replaced or removed: an open file keeps its space on the disk."""
        for path, held in list(self._indexes.items()):
            if not path.exists() or held.identity != file_identity(path):
                self._indexes.pop(path).close()

    def _close_model(self) -> None:
        if self._model is not None:
            self._model[1].close()
            self._model = None

    def close(self) -> None:
        for held in self._indexes.values():
            held.close()
        self._indexes.clear()
        self._close_model()


def _ledger_identity(data: Path) -> object:
    """A value that changes when the ledger does, or what is not yet merged into its file."""
    log = data.with_name(f"{data.name}.wal")
    return file_identity(data), file_identity(log) if log.exists() else None


class Declined(BaseException):
    """The daemon is not to run this command. No Exception: it is nothing that went wrong, and must not be caught."""


def decline_if_kept() -> None:
    """In the daemon, hand the command back to the client. To be called before the command does anything."""
    if _BETWEEN.kept is not None:
        raise Declined


def is_kept() -> bool:
    """True if this process is the daemon."""
    return _BETWEEN.kept is not None


class _Between(msgspec.Struct):
    """Files that this process keeps open between commands: none, unless it is the daemon."""

    kept: Kept | None = None


_BETWEEN = _Between()


@contextmanager
def open_resources() -> Iterator[Kept]:
    """Give the files that the command in this block opens: closed at its end, or kept for the next one."""
    if _BETWEEN.kept is not None:
        yield _BETWEEN.kept
        return
    own = Kept()
    try:
        yield own
    finally:
        own.close()


@contextmanager
def kept_between_commands() -> Iterator[Kept]:
    """Within the block, commands share what they open."""
    _BETWEEN.kept = Kept()
    try:
        yield _BETWEEN.kept
    finally:
        _BETWEEN.kept.close()
        _BETWEEN.kept = None


# Vectors: those that a recall can use now, and making the ones that are missing.

KEY = "REKAL_EMBED_API_KEY"
_AT_MOST = 300.0  # seconds of one worker; the next one goes on
_NICE = 10


class Semantic(msgspec.Struct, frozen=True):
    """``note`` belongs on the first line of the answer; ``meaning`` is None when it says "off" or "0 %"."""

    note: str
    meaning: Meaning | None = None


def keywords_only(error: RekalError) -> Semantic:
    """Return keywords alone, because of ``error``."""
    return Semantic(f"semantic: off ({error.message})")


def find_semantic(app: App, kept: Kept) -> Semantic:
    """Return the vectors for the index in use, and the model, which is opened when a question needs it."""
    return find_vectors_of(app.layout, app.config.embed, app.env, kept)


def find_vectors_of(layout: Layout, chosen: Embed, env: Mapping[str, str], kept: Kept) -> Semantic:
    """Return the vectors of the model ``chosen`` for the index of one store, and the model."""
    if chosen.engine == "off":
        return Semantic("semantic: off (embedding is switched off)")
    from rekal.embed.open import chosen_model_id

    try:
        model = chosen_model_id(chosen)
        from rekal.index.vectors import find_vectors  # numpy: without a model nothing here needs it

        path = find_vectors(layout.vectors, model)
        if path is None:
            return Semantic("semantic: warming 0 %")
        dense = kept.dense(layout.index, path)
    except (EngineError, StoreDamaged) as error:
        return keywords_only(error)
    share = dense.share
    from rekal.index.dense import Meaning

    # Rounded down: 100 % means all.
    note = "semantic: on" if share == 1.0 else f"semantic: warming {int(share * 100)} %"
    return Semantic(note, Meaning(dense, lambda: kept.embedder(chosen, read_variable(env, KEY))))


class EmbedResult(msgspec.Struct, frozen=True):
    """The result of ``embed --json``: distinct texts of turns with a vector, of how many, and how many are new."""

    done: int
    total: int
    added: int


def embed_texts(app: App, report: Callable[[Progress], None]) -> EmbedResult:
    """Embed in the foreground until nothing is missing. EngineError, and StoreBusy when another process is at it."""
    first: list[int] = []

    def note(now: Progress) -> None:
        if not first:
            first.append(now.done)
        report(now)

    last = _fill(app, app.layout, note, lambda: True)
    for layout in _document_layouts(app):
        _fill(app, layout, report, lambda: True)
    return EmbedResult(last.done, last.total, last.done - first[0])


def _document_layouts(app: App) -> list[Layout]:
    """The stores of documents that have an index: the repository's and the person's."""
    stores = (app.layout.documents, Layout(personal_directory(app.env)).documents)
    return [layout for layout in stores if layout.index.exists()]


def _fill(app: App, layout: Layout, report: Callable[[Progress], None], more: Callable[[], bool]) -> Progress:
    from rekal.embed.open import open_chosen
    from rekal.index.vectors import embed_missing

    with closing(open_chosen(app.config.embed, read_variable(app.env, KEY))) as embedder:
        return embed_missing(layout.index, layout.vectors, embedder, report, more)


def embed_in_background(app: App, log: Callable[[App, str], None], go_on: Callable[[], bool]) -> None:
    """Embed gently, for some minutes, saying only what went wrong. It asks ``go_on`` between bites."""
    layouts = [layout for layout in (app.layout, *_document_layouts(app)) if _lacks_vectors(app, layout)]
    if not layouts:
        return
    if hasattr(os, "nice"):
        os.nice(_NICE)
    end = time.monotonic() + _AT_MOST
    try:
        for layout in layouts:
            _fill(app, layout, lambda now: None, lambda: time.monotonic() < end and go_on())
    except StoreBusy:
        return  # another worker is at it, and finds what we would have found
    except EngineError as error:
        log(app, f"no vectors: {error}")


def _lacks_vectors(app: App, layout: Layout) -> bool:
    now = _count_in(app, layout)
    return now is not None and now.done != now.total


def count_embedded(app: App) -> Progress | None:
    """Count the texts that have a vector; None when embedding is off or there is no index. Opens no model."""
    return _count_in(app, app.layout)


def _count_in(app: App, layout: Layout) -> Progress | None:
    if app.config.embed.engine == "off":
        return None
    from rekal.embed.open import chosen_model_id

    try:
        model = chosen_model_id(app.config.embed)
        from rekal.index.vectors import count_vectors, find_vectors

        return count_vectors(layout.index, find_vectors(layout.vectors, model))
    except (EngineError, StoreError):
        return None
