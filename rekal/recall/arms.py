"""Bring what the index scored into one record for :mod:`rekal.recall.evidence`."""

from __future__ import annotations

from rekal.index.bm25 import Lexical
from rekal.index.reader import IndexReader
from rekal.recall.evidence import Floats, Found


def gather(
    reader: IndexReader,
    lexical: Lexical,
    *,
    cosine: Floats | None = None,
    centroid: Floats | None = None,
) -> Found:
    """The arms of one question.

    ``lexical`` is of the terms of :func:`rekal.recall.question.understand`: without grammar and without people's
    names. ``cosine`` is by place of the turn, ``centroid`` by session number; None without a model.
    """
    return Found(
        term=lexical.occurrences.term,
        place=lexical.occurrences.place,
        idf=lexical.idf,
        session=reader.units("turn").session,
        sessions=len(reader.sessions),
        turns=lexical.turns,
        whole=lexical.sessions,
        facets=lexical.facets,
        cosine=cosine,
        centroid=centroid,
    )
