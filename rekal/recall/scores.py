"""What speaks for an answer, in absolute terms: ranks sessions and turns, and measures what the gate decides on.

Everything here is arithmetic on arrays; nothing reads a store. U turns are numbered by *place*, neighbours adjacent;
S sessions by number; T terms by their index in the question. Scores that order (:func:`rank_sessions`) are relative
to the best of their kind. Features that decide (:func:`measure_presence`) never are: a store with nothing to say has a
best hit, too.
"""

from __future__ import annotations

import msgspec
import numpy as np
from numpy.typing import NDArray

from rekal.index.bm25 import FEWEST_SESSIONS, K1

Floats = NDArray[np.float64]
Ints = NDArray[np.int32] | NDArray[np.int64]

# Tuned on the development half of devrecall (clean commit-side questions), checked across repositories.
TURN, WHOLE, DENSE, CENTROID, BOTH, FACETS = 0.32, 0.32, 0.45, 0.25, 0.15, 0.05
# A turn counts for itself, its neighbourhood and its session. Tuned on LoCoMo, halves apart: turn hit@5 .73 on either.
TURN_SESSION, TURN_ALONE, TURN_COVERAGE = 1.2, 0.3, 0.6
TURN_COSINE, TURN_COSINE_AROUND, TURN_BOTH_AROUND = 0.6, 0.4, 0.8
TURN_AROUND = 0.35  # without vectors

PRESENCE = (
    "coverage_cosine",
    "cosine",
    "cosine_top5",
    "cosine_of_best",
    "whole",
    "window_coverage",
    "session_coverage",
    "matched",
    "terms",
    "stranger",
)
PRESENCE_LEXICAL = ("turn", "whole", "window_coverage", "session_coverage", "matched", "unknown", "stranger")


class Found(msgspec.Struct, frozen=True):
    """Scores of all arms for one question.

    ``term`` and ``place`` are parallel: which term occurs in which turn. ``idf`` is by term, over turns, that of
    df = 0 for a term never seen. ``session`` is the session of each turn and never decreases. ``turns`` and ``whole``
    are BM25 of turns and of sessions as one text, ``facets`` BM25 of paths and the like by session. Cosines are of
    unit vectors, 0 where a turn has none yet: ``cosine`` by turn, ``centroid`` by session (the mean of its turns'
    vectors); None without a model.
    """

    term: Ints
    place: Ints
    idf: Floats
    session: Ints
    sessions: int
    turns: Floats
    whole: Floats
    facets: Floats
    cosine: Floats | None = None
    centroid: Floats | None = None

    def place_features(self, covered: TermCoverage) -> Floats:
        """Features of each turn among all turns, ``[U, 3]`` by :data:`rekal.recall.sentences.PLACE_FEATURES`."""
        cosine = np.zeros(len(self.session)) if self.cosine is None else self.cosine
        columns: Floats = np.stack([covered.window, cosine, _share_of_best(self.turns)], axis=1)
        return columns


class TermCoverage(msgspec.Struct, frozen=True):
    """Share of the question's idf that one turn, one turn with its neighbours, and one session contains."""

    turn: Floats
    window: Floats
    session: Floats


def _distinct_pairs(term: Ints, unit: Ints, terms: int, units: int) -> NDArray[np.intp]:
    """Distinct pairs as ``term * units + unit``, in order. A table of flags: ten times as fast as sorting them."""
    seen = np.zeros(terms * units, np.bool_)
    seen[term.astype(np.int64) * units + unit] = True
    return np.flatnonzero(seen)


def _held(term: Ints, unit: Ints, idf: Floats, units: int) -> Floats:
    """Share of the question's idf by unit; a pair of term and unit counts once."""
    pairs = _distinct_pairs(term, unit, len(idf), units)
    held = np.bincount(pairs % units, idf[pairs // units], minlength=units)
    total = float(idf.sum())
    share: Floats = held.astype(np.float64) / max(total, 1e-9)
    return share


def measure_coverage(found: Found) -> TermCoverage:
    """Return the shares of the question's weight that stand together in one turn, one window, one session."""
    units = len(found.session)
    place = found.place.astype(np.int64)
    reach = [(found.term, place)]
    for step in (-1, 1):
        near = place + step
        inside = (near >= 0) & (near < units)
        same = found.session[np.clip(near, 0, max(0, units - 1))] == found.session[place]
        reach.append((found.term[inside & same], near[inside & same]))
    window = _held(np.concatenate([t for t, _ in reach]), np.concatenate([p for _, p in reach]), found.idf, units)
    session = _held(found.term, found.session[place], found.idf, found.sessions)
    return TermCoverage(_held(found.term, place, found.idf, units), window, session)


def per_session(found: Found, by_turn: Floats) -> Floats:
    """The highest value of a session's turns; 0 for a session without turns."""
    best = np.zeros(found.sessions)
    starts = np.flatnonzero(np.diff(found.session, prepend=-1))
    if len(starts):
        best[found.session[starts]] = np.maximum.reduceat(by_turn, starts)
    return best


def _share_of_best(scores: Floats) -> Floats:
    top = float(scores.max(initial=0.0))
    return scores / top if top > 0 else np.zeros(len(scores))


def rank_sessions(found: Found, covered: TermCoverage) -> Floats:
    """Scores that order the sessions.

    BM25 of the best turn and of the whole session weigh as much as the vectors; equal-weight rank fusion is worse on
    every cut, because a rank forgets by how much the first one won.
    """
    score = TURN * _share_of_best(per_session(found, found.turns)) + WHOLE * _share_of_best(found.whole)
    score += FACETS * _share_of_best(found.facets)
    if found.cosine is not None:
        score += DENSE * _share_of_best(np.maximum(per_session(found, found.cosine), 0))
        score += BOTH * per_session(found, np.maximum(found.cosine, 0) * covered.turn)
    if found.centroid is not None:
        score += CENTROID * found.centroid
    return score


def _with_neighbours_share(found: Found, values: Floats, decay: float = 0.5) -> Floats:
    """Each turn's value plus ``decay`` of its neighbours' in the same session."""
    total = values.copy()
    if len(values) > 1:
        same = found.session[1:] == found.session[:-1]
        total[1:] += decay * np.where(same, values[:-1], 0)
        total[:-1] += decay * np.where(same, values[1:], 0)
    return total


def rank_turns(found: Found, covered: TermCoverage, by_session: Floats) -> Floats:
    """Scores that order the turns; ``by_session`` is from :func:`rank_sessions`."""
    score = TURN_SESSION * _share_of_best(by_session)[found.session]
    score += TURN_ALONE * _share_of_best(found.turns) + TURN_COVERAGE * covered.turn
    if found.cosine is None:
        around: Floats = score + TURN_AROUND * _share_of_best(_with_neighbours_share(found, found.turns))
        return around
    positive = np.maximum(found.cosine, 0)
    score += TURN_COSINE * positive + TURN_COSINE_AROUND * _share_of_best(_with_neighbours_share(found, positive))
    score += TURN_BOTH_AROUND * _share_of_best(_with_neighbours_share(found, positive * covered.window))
    return score


def _session_idf(found: Found) -> Floats:
    pairs = _distinct_pairs(found.term, found.session[found.place], len(found.idf), found.sessions)
    df = np.bincount(pairs // found.sessions, minlength=len(found.idf))
    weights: Floats = np.log1p((max(found.sessions, FEWEST_SESSIONS) - df + 0.5) / (df + 0.5))
    return weights


def measure_presence(found: Found, covered: TermCoverage, stranger: bool) -> dict[str, float]:
    """Is anything here at all: features by name, those of ``PRESENCE`` and ``PRESENCE_LEXICAL`` alike.

    ``stranger``: the question uses a proper name that this store has never seen, and names nobody it knows.
    ``matched`` (log of the best turn's BM25) is the one that tells a short question fully met from a long one half
    met: without it, silence on another project's questions falls from .96 to .92 at 95 % INJECT.
    """
    # The largest gain of a term is idf · (K1 + 1): the score of a text that is made of the question alone.
    ceiling = (K1 + 1) * max(float(found.idf.sum()), 1e-9)
    whole_ceiling = (K1 + 1) * max(float(_session_idf(found).sum()), 1e-9)
    seen = np.zeros(len(found.idf), np.bool_)
    seen[found.term] = True
    best_turn = float(found.turns.max(initial=0.0))
    features = {
        "turn": best_turn / ceiling,
        "whole": float(found.whole.max(initial=0.0)) / whole_ceiling,
        "window_coverage": float(covered.window.max(initial=0.0)),
        "session_coverage": float(covered.session.max(initial=0.0)),
        "matched": float(np.log1p(best_turn)),
        "unknown": float(found.idf[~seen].sum() / max(float(found.idf.sum()), 1e-9)),
        "terms": float(np.log(max(1, len(found.idf)))),
        "stranger": float(stranger),
    }
    if found.cosine is not None and len(found.cosine):
        top = np.sort(found.cosine)[::-1][:5]
        lexical_best = found.session == int(found.whole.argmax())
        features["cosine"] = float(top[0])
        features["cosine_top5"] = float(top.mean())
        features["cosine_of_best"] = float(found.cosine[lexical_best].max(initial=0.0))
        features["coverage_cosine"] = float((found.cosine * covered.turn).max())
    return features
