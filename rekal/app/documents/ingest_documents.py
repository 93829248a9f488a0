"""Ingesting documents: into the repository's ledger of documents, or into the person's own."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from rekal.app.desk import Desk
from rekal.documents import walk
from rekal.documents.document_records import DocumentSource, Skipped, count_reasons
from rekal.documents.formats import load_formats
from rekal.documents.ingest import Ingested, IngestOptions, forget_sources, ingest_sources, list_states, prune_sources
from rekal.errors import GitError, NoRepository, UsageError
from rekal.git import find_repo
from rekal.git.repo import find_ignored_paths
from rekal.index.build import refresh_documents
from rekal.store.erase import rewrite, want_rewrite
from rekal.store.guard import keep_second_name
from rekal.store.layout import Layout
from rekal.store.ledger import open_ledger
from rekal.store.locks import hold_lock
from rekal.store.source_state import SourceCount, count_sources

_WAIT = 60.0

Order = Literal["path", "smallest"]


class IngestRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Files and folders to read, and how. ``top`` takes the largest files only, 0 all of them."""

    paths: tuple[Path, ...]
    kind: str | None = None
    exclude: tuple[str, ...] = ()
    order: Order = "path"
    top: int = 0
    most_mails: int = 0
    personal: bool = False
    prune: bool = False
    again: bool = False


class IngestAnswer(msgspec.Struct, frozen=True):
    """The result of ``ingest --json``.

    ``sources`` counts files by what became of them: added, changed, unchanged, empty, failed, skipped, forgotten.
    ``chunks`` were added, ``removed`` sessions taken out, ``characters`` read. ``passed_over`` counts files that were
    not read, by reason; ``problems`` are sentences; ``pruned`` are sources that were gone.
    """

    personal: bool
    sources: dict[str, int]
    chunks: int
    removed: int
    characters: int
    passed_over: dict[str, int]
    pruned: list[str]
    problems: list[str]


def documents_layout(desk: Desk, *, personal: bool) -> Layout:
    """The documents' own ledger in the repository's store, or in the personal one. It need not exist."""
    base = desk.personal if personal or desk.app is None else desk.app.layout
    return base.documents


def ingest_documents(
    desk: Desk, request: IngestRequest, report: Callable[[DocumentSource, int, int], None] = lambda source, at, of: None
) -> IngestAnswer:
    """Read what is new or changed, and bring the index up to it. Raises UsageError, and the store's errors.

    ``report`` is called before each file that is read, with its number and how many there are.
    """
    names = sorted({one.name for one in load_formats()})
    if request.kind is not None and request.kind not in names:
        raise UsageError(f"{request.kind} is no format of documents", f"one of {', '.join(names)}")
    personal = request.personal or desk.app is None
    desk.layout_of(personal=personal)
    layout = documents_layout(desk, personal=personal)
    layout.create()
    found = walk.find_documents(request.paths, request.exclude, list_ignored)
    sources = order_sources(found.sources, request.order, request.top)
    options = IngestOptions(request.kind, request.most_mails, request.again)
    with hold_lock(layout.lock, wait=_WAIT, purpose="ingesting"):
        with open_ledger(layout.data, read_only=False, wait=_WAIT, create=True, bulk=True) as ledger:
            done = ingest_sources(
                ledger, sources, desk.scrubber, options, lambda source, at: report(source, at, len(sources))
            )
            pruned = prune_sources(ledger, found.roots, found.sources) if request.prune else []
        keep_second_name(layout)
        refresh_documents(layout, changed=bool(done.removed or pruned))
    return _ingest_answer(done, found.skipped, pruned, personal=personal)


def _ingest_answer(done: Ingested, passed: Sequence[Skipped], pruned: list[str], *, personal: bool) -> IngestAnswer:
    counts: dict[str, int] = dict(sorted(done.sources.items()))
    reasons = count_reasons([*passed, *done.skipped])
    return IngestAnswer(
        personal,
        counts,
        done.chunks,
        done.removed,
        done.characters,
        reasons,
        pruned,
        done.problems,
    )


def order_sources(sources: Sequence[DocumentSource], order: Order, top: int) -> list[DocumentSource]:
    """Return the sources to read, in the order asked for; with ``top`` only so many, the largest."""
    kept = sorted(sources, key=lambda one: (-one.size, one.key))[:top] if top else list(sources)
    return sorted(kept, key=lambda one: (one.size, one.key) if order == "smallest" else (0, one.key))


def list_ignored(paths: Sequence[Path]) -> set[Path]:
    """List those of ``paths`` that git ignores, whichever repository they are in; none outside of one."""
    tops: dict[Path, list[Path]] = {}
    known: dict[Path, Path | None] = {}
    for path in paths:
        top = _top_of(path.parent, known)
        if top is not None:
            tops.setdefault(top, []).append(path)
    ignored: set[Path] = set()
    for top, inside in tops.items():
        with suppress(NoRepository, GitError):  # a damaged repository ignores nothing
            ignored |= find_ignored_paths(find_repo(top), inside)
    return ignored


def _top_of(folder: Path, known: dict[Path, Path | None]) -> Path | None:
    if folder not in known:
        if os.path.lexists(folder / ".git"):
            known[folder] = folder
        else:
            known[folder] = None if folder.parent == folder else _top_of(folder.parent, known)
    return known[folder]


def find_ingested(desk: Desk, path: Path, *, personal: bool) -> list[str]:
    """Find the sources that are stored of a file, or below a folder; their paths, in order."""
    layout = documents_layout(desk, personal=personal)
    if not layout.data.exists():
        return []
    with open_ledger(layout.data, read_only=True, wait=_WAIT) as ledger:
        return [state.source for state in list_states(ledger, _absolute_path(path))]


def _absolute_path(path: Path) -> Path:
    return Path(os.path.normpath(Path.cwd() / path))


def forget_documents(desk: Desk, path: Path, *, personal: bool) -> list[str]:
    """Forget a source, or all below a folder, for good; returns their paths. It is not read again unless asked to."""
    layout = documents_layout(desk, personal=personal)
    if not layout.data.exists():
        return []
    with hold_lock(layout.lock, wait=_WAIT, purpose="forgetting"):
        want_rewrite(layout.run)
        with open_ledger(layout.data, read_only=False, wait=_WAIT) as ledger:
            gone = forget_sources(ledger, _absolute_path(path))
        # Also what an ingestion replaced goes from the file's free pages by this.
        rewrite(layout.data, layout.run)
        refresh_documents(layout, changed=True)
    return gone


def list_documents(desk: Desk, *, personal: bool) -> list[SourceCount]:
    """Count what is held of each file, the largest first."""
    layout = documents_layout(desk, personal=personal)
    if not layout.data.exists():
        return []
    with open_ledger(layout.data, read_only=True, wait=_WAIT) as ledger:
        return count_sources(ledger.con)
