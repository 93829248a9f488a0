"""The verdict's arithmetic, and the weights that are shipped."""

from __future__ import annotations

import pytest

from rekal.recall.evidence import PRESENCE, PRESENCE_LEXICAL
from rekal.recall.gate import Gate, Logistic, cut, judge, weights
from rekal.recall.ownership import CONSISTENCY

EVEN = Logistic((), (), (), (), 0.0)
RATIO = Logistic(("ratio",), (0.5,), (0.25,), (1.0,), 0.0)
GATE = Gate(EVEN, RATIO, RATIO, (0.0, 0.2, 0.4, 0.6, 0.8, 1.0))


def test_log_odds_by_hand() -> None:
    model = Logistic(("a", "b"), (1.0, 0.0), (2.0, 1.0), (3.0, -1.0), 0.5)
    assert model.log_odds({"b": 2.0, "a": 3.0, "other": 9.0}) == pytest.approx(0.5 + 3.0 - 2.0)
    assert Logistic((), (), (), (), 1e9).probability({}) == pytest.approx(1.0)


def test_a_missing_feature_is_not_guessed() -> None:
    with pytest.raises(KeyError):
        RATIO.log_odds({})


def test_support_is_a_product_and_either_gate_can_silence() -> None:
    assert judge(GATE, {}).total == 0.5
    assert judge(GATE, {}, anchor_ratio=0.5).total == 0.25
    judged = judge(GATE, {}, person={"ratio": 10.0}, anchor_ratio=0.0)
    assert judged.total == pytest.approx(0.5 * judged.anchors)
    assert judged.weakest == "anchors"
    assert judge(GATE, {}).weakest == "presence"


def test_strictness_buys_silence_with_answerable_questions() -> None:
    assert [cut(GATE, s) for s in (-1, 0, 0.5, 1, 9)] == pytest.approx([0, 0, 0.1, 0.2, 0.2])


ALL = [(dense, person) for dense in (True, False) for person in (True, False)]


@pytest.mark.parametrize(("dense", "person"), ALL)
def test_the_shipped_weights_know_exactly_our_features(dense: bool, person: bool) -> None:
    gate = weights().gate(dense=dense, person=person)
    assert gate.presence.features == (PRESENCE if dense else PRESENCE_LEXICAL)
    assert gate.consistency.features == (CONSISTENCY if person else ())
    assert gate.anchors.features == ("ratio",)
    assert len(gate.quantiles) == 101
    assert list(gate.quantiles) == sorted(gate.quantiles)
    assert 0 < cut(gate, 0.25) < cut(gate, 0.5) < cut(gate, 1) < 1


@pytest.mark.parametrize("dense", [True, False])
def test_the_shipped_weights_point_the_right_way(dense: bool) -> None:
    gate = weights().gate(dense=dense, person=False)
    typical = dict(zip(gate.presence.features, gate.presence.mean, strict=True)) | {"stranger": 0.0}
    met = typical | {"whole": 0.8, "turn": 0.7, "coverage_cosine": 0.5, "matched": 3.5}
    unmet = typical | {"whole": 0.1, "turn": 0.1, "coverage_cosine": 0.05, "matched": 1.5}
    assert judge(gate, unmet).total < cut(gate, 0.25) < cut(gate, 0.5) < judge(gate, met).total
    assert judge(gate, met, anchor_ratio=0.0).total < judge(gate, met, anchor_ratio=1.0).total


@pytest.mark.parametrize("dense", [True, False])
def test_evidence_about_somebody_else_silences(dense: bool) -> None:
    gate = weights().gate(dense=dense, person=True)
    mine = dict(zip(CONSISTENCY, gate.consistency.mean, strict=True)) | {"one_share": 0.5, "one_balance": 0.6}
    theirs = mine | {"one_share": -0.5, "one_balance": -0.6, "one_mass": -0.2, "one_best": -0.3}
    assert gate.consistency.probability(theirs) < 0.5 < gate.consistency.probability(mine)
