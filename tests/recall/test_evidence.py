"""Features and rankings over small hand-made arrays."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekal.recall.scores import (
    PRESENCE,
    PRESENCE_LEXICAL,
    Found,
    measure_coverage,
    measure_presence,
    per_session,
    rank_sessions,
    rank_turns,
)


def found(
    occurrences: list[tuple[int, int]], session: list[int], idf: list[float], cosine: list[float] | None
) -> Found:
    """Occurrences are (term, place). BM25 is stood in for by the idf found; session 1 has no facets."""
    sessions = max(session) + 1
    term, place = (
        (np.array(column, np.int64) for column in zip(*occurrences, strict=True))
        if occurrences
        else (np.empty(0, np.int64),) * 2
    )
    weights = np.array(idf)
    turns = np.bincount(place, weights[term], minlength=len(session)).astype(np.float64)
    whole = np.bincount(np.array(session)[place], weights[term], minlength=sessions).astype(np.float64)
    return Found(
        term=term,
        place=place,
        idf=weights,
        session=np.array(session, np.int64),
        sessions=sessions,
        turns=turns,
        whole=whole,
        facets=np.zeros(sessions),
        cosine=None if cosine is None else np.array(cosine),
    )


def test_coverage_of_turns_windows_and_sessions() -> None:
    # Session 0: turns 0-2 have terms 0, 1, nothing; session 1: turn 3 has term 2.
    spread = measure_coverage(found([(0, 0), (1, 1), (2, 3)], [0, 0, 0, 1], [2.0, 1.0, 1.0], None))
    np.testing.assert_allclose(spread.turn, [0.5, 0.25, 0, 0.25])
    np.testing.assert_allclose(spread.window, [0.75, 0.75, 0.25, 0.25])
    np.testing.assert_allclose(spread.session, [0.75, 0.25])


def test_a_window_does_not_reach_into_the_next_session() -> None:
    spread = measure_coverage(found([(0, 0), (1, 1)], [0, 1], [1.0, 1.0], None))
    np.testing.assert_allclose(spread.window, [0.5, 0.5])


def test_a_session_without_turns_scores_nothing() -> None:
    scores = per_session(found([(0, 0)], [0, 2], [1.0], None), np.array([3.0, 5.0]))
    np.testing.assert_allclose(scores, [3, 0, 5])


def test_the_session_that_has_more_of_the_question_comes_first() -> None:
    hits = found([(0, 0), (1, 0), (0, 1)], [0, 1], [1.0, 2.0], None)
    scores = rank_sessions(hits, measure_coverage(hits))
    assert scores[0] > scores[1] > 0


def test_vectors_can_turn_the_order() -> None:
    plain = found([(0, 0), (0, 1)], [0, 1], [1.0], None)
    near = found([(0, 0), (0, 1)], [0, 1], [1.0], [0.1, 0.9])
    assert rank_sessions(plain, measure_coverage(plain))[0] == rank_sessions(plain, measure_coverage(plain))[1]
    assert rank_sessions(near, measure_coverage(near))[1] > rank_sessions(near, measure_coverage(near))[0]


@pytest.mark.parametrize("cosine", [None, [0.0, 0.0, 0.0, 0.0]])
def test_a_turn_beside_the_best_one_beats_a_turn_apart(cosine: list[float] | None) -> None:
    hits = found([(0, 0)], [0, 0, 0, 1], [1.0], cosine)
    covered = measure_coverage(hits)
    scores = rank_turns(hits, covered, rank_sessions(hits, covered))
    assert scores[0] > scores[1] >= scores[2] > scores[3]


def test_presence_is_absolute() -> None:
    half = found([(0, 0)], [0, 1], [1.0, 1.0], [0.5, 0.1])
    full = found([(0, 0), (1, 0)], [0, 1], [1.0, 1.0], [0.5, 0.1])
    weak, strong = (measure_presence(hits, measure_coverage(hits), stranger=False) for hits in (half, full))
    assert (weak["window_coverage"], strong["window_coverage"]) == (0.5, 1.0)
    assert (weak["unknown"], strong["unknown"]) == (0.5, 0.0)
    assert weak["coverage_cosine"] == pytest.approx(0.25)
    assert strong["matched"] > weak["matched"]


def test_a_stranger_is_told() -> None:
    hits = found([(0, 0)], [0], [1.0], None)
    assert measure_presence(hits, measure_coverage(hits), stranger=True)["stranger"] == 1.0


@settings(deadline=None, max_examples=150)
@given(data=st.data(), turns=st.integers(1, 12), terms=st.integers(1, 5), dense=st.booleans())
def test_features_are_complete_and_finite(data: st.DataObject, turns: int, terms: int, dense: bool) -> None:
    session = sorted(data.draw(st.lists(st.integers(0, 4), min_size=turns, max_size=turns)))
    places = st.tuples(st.integers(0, terms - 1), st.integers(0, turns - 1))
    occurrences = data.draw(st.lists(places, max_size=20, unique=True))
    idf = data.draw(st.lists(st.floats(0, 12), min_size=terms, max_size=terms))
    cosine = data.draw(st.lists(st.floats(-1, 1), min_size=turns, max_size=turns)) if dense else None
    hits = found(occurrences, session, idf, cosine)
    covered = measure_coverage(hits)
    features = measure_presence(hits, covered, stranger=False)
    assert set(PRESENCE if dense else PRESENCE_LEXICAL) <= set(features)
    by_session = rank_sessions(hits, covered)
    assert np.isfinite([*features.values(), *by_session, *rank_turns(hits, covered, by_session)]).all()
    assert all(
        (part >= 0).all() and (part <= 1 + 1e-9).all() for part in (covered.turn, covered.window, covered.session)
    )
