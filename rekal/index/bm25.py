"""BM25 over turns, sessions and facets, from one reading of the postings.

Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with k1 = 1.2, b = 0.75
and idf = ln(1 + (N - df + 0.5) / (df + 0.5)), which is never negative. N, df and average lengths are those of the
whole index, per kind of unit: a filter chooses what may be found, it does not change what a word is worth.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from rekal.index.filters import NO_FILTERS, Filters, session_mask, sessions_in_time, turn_mask
from rekal.index.index_tables import Kind
from rekal.index.reader import Bools, IndexReader, Ints, Longs, Postings, Units

Floats = NDArray[np.float64]

K1, B = 1.2, 0.75
FEWEST_TURNS, FEWEST_SESSIONS = 1000, 20


class Occurrences(msgspec.Struct, frozen=True):
    """Postings of one kind of unit: parallel arrays of term index, place and frequency, and ``df`` by term."""

    term: Ints
    place: Ints
    tf: Ints
    df: Longs


class Lexical(msgspec.Struct, frozen=True):
    """Scores of one question, 0 where nothing matches or a filter says no.

    ``turns`` by place of the turn, ``sessions`` and ``facets`` by session number. ``idf`` by term, over turns (over
    facets for a term that no turn has; of a term never seen, the idf of df = 0). ``allowed`` is what the filters let
    through, by place of the turn.
    """

    postings: Postings
    idf: Floats
    turns: Floats
    sessions: Floats
    facets: Floats
    allowed: Bools
    occurrences: Occurrences


def term_weights(df: Longs, count: int, fewest: int = 0) -> Floats:
    """Weight of terms that ``df`` of ``count`` units contain; fewer than ``fewest`` units count as that many.

    In a store of six turns every word is frequent: taken at its word it would know nothing about anything.
    """
    weights: Floats = np.log1p((max(count, fewest) - df + 0.5) / (df + 0.5))
    return weights


def _score(weights: Floats, found: Occurrences, lengths: Longs | Ints, average: float) -> Floats:
    """BM25 by place. Sums go term by term, so that they round alike whatever order the units are in."""
    norm = K1 * (1 - B + B * lengths / max(average, 1.0))
    tf = found.tf.astype(np.float64)
    gain = weights[found.term] * tf * (K1 + 1) / (tf + norm[found.place])
    return np.bincount(found.place, gain, minlength=len(lengths)).astype(np.float64, copy=False)


def find_occurrences(postings: Postings, units: Units) -> Occurrences:
    """The postings that fall on ``units``, filtered by nothing."""
    place = units.place[postings.doc]
    inside = np.flatnonzero(place >= 0)
    term = postings.term[inside]
    df = _count_terms(term, len(postings.terms))
    return Occurrences(term, place[inside], postings.tf[inside], df)


def _count_terms(term: Ints, terms: int) -> Longs:
    """Number of occurrences by term; ``term`` is in order."""
    return np.diff(np.searchsorted(term, np.arange(terms + 1)))


def _keep(found: Occurrences, mask: Bools) -> Occurrences:
    if mask.all():
        return found
    kept = mask[found.place]
    return Occurrences(found.term[kept], found.place[kept], found.tf[kept], found.df)


def _summed(found: Occurrences, group: Ints, groups: int) -> Occurrences:
    """Occurrences by group instead of by place, frequencies added; ``df`` counts groups."""
    terms = len(found.df)
    sums = np.bincount(found.term.astype(np.int64) * groups + group, found.tf, minlength=terms * groups)
    cells = np.flatnonzero(sums)
    term, place = np.divmod(cells, groups)
    return Occurrences(
        term.astype(np.int32), place.astype(np.int32), sums[cells].astype(np.int32), _count_terms(term, terms)
    )


def score_kind(reader: IndexReader, postings: Postings, kind: Kind) -> Floats:
    """BM25 of all documents of one kind, by place in ``reader.units(kind)``."""
    units = reader.units(kind)
    found = find_occurrences(postings, units)
    return _score(term_weights(found.df, len(units)), found, units.length, _mean(units.length))


def _mean(lengths: Ints | Longs) -> float:
    return float(lengths.sum()) / max(1, len(lengths))


def score_lexical(reader: IndexReader, terms: list[str], filters: Filters = NO_FILTERS) -> Lexical:
    """Score turns, sessions and facets for ``terms``.

    Filters apply before anything is cut. Sessions are made of the turns the filters let through.
    """
    turns, facets = reader.units("turn"), reader.units("facet")
    postings = reader.postings(list(dict.fromkeys(terms)))
    sessions = session_mask(reader, filters)
    allowed = turn_mask(reader, filters, sessions)
    everywhere = find_occurrences(postings, turns)
    found = _keep(everywhere, allowed)
    in_facets = find_occurrences(postings, facets)
    only_facets = (everywhere.df == 0) & (in_facets.df > 0)
    weights = np.where(
        only_facets,
        term_weights(in_facets.df, len(facets), FEWEST_SESSIONS),
        term_weights(everywhere.df, len(turns), FEWEST_TURNS),
    )
    scores = _score(weights, found, turns.length, _mean(turns.length))
    open_facets = (sessions & sessions_in_time(reader, filters, allowed))[facets.session]
    return Lexical(
        postings=postings,
        idf=weights,
        turns=scores,
        sessions=_score_sessions(reader, everywhere, found, allowed),
        facets=_score_facets(reader, _keep(in_facets, open_facets)),
        allowed=allowed,
        occurrences=found,
    )


def _score_sessions(reader: IndexReader, everywhere: Occurrences, found: Occurrences, allowed: Bools) -> Floats:
    turns, count = reader.units("turn"), len(reader.sessions)
    mine = _summed(found, turns.session[found.place], count)
    df = mine.df if found is everywhere else _summed(everywhere, turns.session[everywhere.place], count).df
    lengths = np.bincount(turns.session, np.where(allowed, turns.length, 0), minlength=count).astype(np.int64)
    return _score(term_weights(df, count, FEWEST_SESSIONS), mine, lengths, float(turns.length.sum()) / max(1, count))


def _score_facets(reader: IndexReader, found: Occurrences) -> Floats:
    facets = reader.units("facet")
    by_place = _score(term_weights(found.df, len(facets), FEWEST_SESSIONS), found, facets.length, _mean(facets.length))
    scores = np.zeros(len(reader.sessions))
    scores[facets.session] = by_place
    return scores
