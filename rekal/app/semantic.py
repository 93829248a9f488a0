"""What vectors can add to a recall now, and what is missing for more."""

from __future__ import annotations

from pathlib import Path

import msgspec

from rekal.app.context import App
from rekal.app.resources import Kept
from rekal.errors import EngineError, RekalError, StoreDamaged
from rekal.index.dense import Meaning
from rekal.index.vectors import find_vectors

KEY = "RECALL_EMBED_API_KEY"


class Semantic(msgspec.Struct, frozen=True):
    """``note`` belongs on the first line of the answer; ``meaning`` is None when it says "off" or "0 %"."""

    note: str
    meaning: Meaning | None = None


def vectors_of(app: App) -> Path | None:
    """The file with the vectors of the chosen model; None when nothing was embedded with it. EngineError."""
    from rekal.embed.open import chosen_model_id

    return find_vectors(app.layout.vectors, chosen_model_id(app.config.embed))


def off(error: RekalError) -> Semantic:
    """Keywords alone, because of ``error``."""
    return Semantic(f"semantic: off ({error.message})")


def semantic(app: App, kept: Kept) -> Semantic:
    """Vectors for the index in use, and the model, which is opened when a question needs it."""
    try:
        path = vectors_of(app)
        if path is None:
            return Semantic("semantic: warming 0 %")
        dense = kept.dense(app.layout.index, path)
    except (EngineError, StoreDamaged) as error:
        return off(error)
    share = dense.share
    # Rounded down: 100 % means all.
    note = "semantic: on" if share == 1.0 else f"semantic: warming {int(share * 100)} %"
    return Semantic(note, Meaning(dense, lambda: kept.embedder(app.config.embed, app.env.get(KEY))))
