"""Vectors: those that a recall can use now, and making the ones that are missing."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Mapping
from contextlib import closing

import msgspec

from rekal.app.context import App, personal_directory
from rekal.app.resources import Kept
from rekal.config import Embed, read_variable
from rekal.errors import EngineError, RekalError, StoreBusy, StoreDamaged, StoreError
from rekal.index.dense import Meaning
from rekal.index.vectors import Progress, count_vectors, embed_missing, find_vectors
from rekal.store.layout import Layout

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
    from rekal.embed.open import chosen_model_id

    try:
        path = find_vectors(layout.vectors, chosen_model_id(chosen))
        if path is None:
            return Semantic("semantic: warming 0 %")
        dense = kept.dense(layout.index, path)
    except (EngineError, StoreDamaged) as error:
        return keywords_only(error)
    share = dense.share
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
    from rekal.embed.open import chosen_model_id

    try:
        return count_vectors(layout.index, find_vectors(layout.vectors, chosen_model_id(app.config.embed)))
    except (EngineError, StoreError):
        return None
