"""Making the vectors that are missing, for the worker and for ``rekal embed``."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import closing

from rekal.app.context import App
from rekal.app.semantic import KEY, vectors_of
from rekal.errors import EngineError, StoreBusy, StoreError
from rekal.index.vectors import Progress, count_vectors, embed_missing

_AT_MOST = 300.0  # seconds of one worker; the next one goes on
_NICE = 10


def fill_vectors(app: App, report: Callable[[Progress], None], more: Callable[[], bool]) -> Progress:
    """Embed what has no vector yet. EngineError, and StoreBusy when another process is at it."""
    from rekal.embed.open import open_chosen

    with closing(open_chosen(app.config.embed, app.env.get(KEY))) as embedder:
        return embed_missing(app.layout.index, app.layout.vectors, embedder, report, more)


def fill_in_background(app: App, log: Callable[[App, str], None]) -> None:
    """The worker's part: gently, for some minutes, saying only what went wrong."""
    known = vectors_known(app)
    if known is None or known.done == known.total:
        return
    if hasattr(os, "nice"):
        os.nice(_NICE)
    end = time.monotonic() + _AT_MOST
    try:
        fill_vectors(app, lambda count_vectors: None, lambda: time.monotonic() < end)
    except StoreBusy:
        return  # another worker is at it, and finds what we would have found
    except EngineError as error:
        log(app, f"no vectors: {error}")


def vectors_known(app: App) -> Progress | None:
    """How far embedding has come; None when it is switched off or there is no index. Opens no model."""
    try:
        path = vectors_of(app)
        return count_vectors(app.layout.index, path)
    except (EngineError, StoreError):
        return None
