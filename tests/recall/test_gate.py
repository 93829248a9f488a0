"""The verdict's arithmetic, and the weights that are shipped."""

from __future__ import annotations

import pytest

from rekal.recall.claims import OWNERSHIP, RELEVANCE
from rekal.recall.gate import Attention, Gate, Logistic, load_weights
from rekal.recall.scores import PRESENCE, PRESENCE_LEXICAL
from tests.recall.test_ownership import ask
from tests.recall.test_sentences import ADA, GRACE

EVEN = Logistic((), (), (), (), 0.0)
RATIO = Logistic(("ratio",), (0.5,), (0.25,), (1.0,), 0.0)
ODDS = Attention(dict.fromkeys(RELEVANCE, 0.0), dict.fromkeys(OWNERSHIP, 0.0), 30.0)
GATE = Gate(EVEN, ODDS, RATIO, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0))


def test_log_odds_by_hand() -> None:
    model = Logistic(("a", "b"), (1.0, 0.0), (2.0, 1.0), (3.0, -1.0), 0.5)
    assert model.log_odds({"b": 2.0, "a": 3.0, "other": 9.0}) == pytest.approx(0.5 + 3.0 - 2.0)
    assert Logistic((), (), (), (), 1e9).probability({}) == pytest.approx(1.0)


def test_a_missing_feature_is_not_guessed() -> None:
    with pytest.raises(KeyError):
        RATIO.log_odds({})


def test_support_is_a_product_and_either_gate_can_silence() -> None:
    assert GATE.judge({}).total == 0.5
    assert GATE.judge({}, anchor_ratio=0.5).total == 0.25
    judged = GATE.judge({}, person=ask("rust", ADA), anchor_ratio=0.0)
    assert judged.consistency > 0.99
    assert judged.total == pytest.approx(0.5 * judged.anchors)
    assert Gate(EVEN, None, RATIO, ()).judge({}, person=ask("rust", ADA)).consistency == 1.0


def test_strictness_buys_silence_with_answerable_questions() -> None:
    assert [GATE.cut(s) for s in (-1, 0, 0.5, 1, 9)] == pytest.approx([0, 0, 0.1, 0.2, 0.2])


ALL = [(dense, person) for dense in (True, False) for person in (True, False)]


@pytest.mark.parametrize(("dense", "person"), ALL)
def test_the_shipped_weights_know_exactly_our_features(dense: bool, person: bool) -> None:
    gate = load_weights().gate(dense=dense, person=person)
    assert gate.presence.features == (PRESENCE if dense else PRESENCE_LEXICAL)
    if person:
        assert gate.consistency is not None
        assert tuple(gate.consistency.relevance) == RELEVANCE
        assert tuple(gate.consistency.ownership) == OWNERSHIP
    else:
        assert gate.consistency is None
    assert gate.anchors.features == ("ratio",)
    assert len(gate.quantiles) == 101
    assert list(gate.quantiles) == sorted(gate.quantiles)
    assert 0 < gate.cut(0.25) < gate.cut(0.5) < gate.cut(1) < 1


@pytest.mark.parametrize("dense", [True, False])
def test_the_shipped_weights_point_the_right_way(dense: bool) -> None:
    gate = load_weights().gate(dense=dense, person=False)
    typical = dict(zip(gate.presence.features, gate.presence.mean, strict=True)) | {"stranger": 0.0}
    met = typical | {"whole": 0.8, "turn": 0.7, "coverage_cosine": 0.5, "matched": 3.5}
    unmet = typical | {"whole": 0.1, "turn": 0.1, "coverage_cosine": 0.05, "matched": 1.5}
    assert gate.judge(unmet).total < gate.cut(0.25) < gate.cut(0.5) < gate.judge(met).total
    assert gate.judge(met, anchor_ratio=0.0).total < gate.judge(met, anchor_ratio=1.0).total


@pytest.mark.parametrize("dense", [True, False])
@pytest.mark.parametrize(("question", "right", "wrong"), [("sailed boat", GRACE, ADA), ("rewrote lexer", ADA, GRACE)])
def test_evidence_about_somebody_else_silences(dense: bool, question: str, right: int, wrong: int) -> None:
    attention = load_weights().gate(dense=dense, person=True).consistency
    assert attention is not None
    assert attention.probability(ask(question, wrong)) < 0.5 < attention.probability(ask(question, right))
