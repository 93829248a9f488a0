"""The benchmark's own arithmetic: row sets, fitting, and what it refuses to print alone."""

from __future__ import annotations

import random
import sys
from pathlib import Path

import numpy as np
import pytest

BENCH = Path(__file__).parents[2] / "scripts/industry-bench"
sys.path.insert(0, str(BENCH))

from attend import batch, fit_attention, loss  # noqa: E402
from fit import auroc, fit_logistic, silence_at  # noqa: E402
from locomo import evidence, left_out, renamed  # noqa: E402
from measures import bootstrap, ranks, separation, verdicts  # noqa: E402
from models import out_of_fold, safe_cut  # noqa: E402
from passages import Passages, lowest_ratio, slot_swap  # noqa: E402
from printed import Asked, summary, wanted  # noqa: E402
from rows import NOT_FOUND, Packed, Row, rank_of  # noqa: E402
from run import at_cuts_of_others  # noqa: E402
from stores import Lexicon, Store, is_stranger  # noqa: E402

from rekal.recall.claims import OWNERSHIP, RELEVANCE, Claims  # noqa: E402
from rekal.recall.consistency import cut_passages  # noqa: E402
from rekal.recall.gate import Gate, Logistic  # noqa: E402
from rekal.recall.question import read_question  # noqa: E402


def test_auroc_counts_ties_half() -> None:
    assert auroc(np.array([2.0, 1.0]), np.array([1.0, 0.0])) == 0.875
    assert silence_at(np.arange(100.0), np.array([1.0, 4.0, 50.0]), 0.95) == pytest.approx(2 / 3)


def test_logistic_finds_the_feature_that_decides() -> None:
    rng = np.random.default_rng(1)
    wanted = [bool(v) for v in rng.random(400) < 0.2]
    rows = [{"a": float(w) + float(rng.normal(0, 0.5)), "b": float(rng.normal()), "same": 1.0} for w in wanted]
    model = fit_logistic(("a", "b", "same"), rows, wanted, 0.001)
    assert model.weight[0] > 1 > abs(model.weight[1])
    # Both classes weigh the same, however rare one is: half way between them is one half.
    assert model.probability({"a": 0.5, "b": 0.0, "same": 1.0}) == pytest.approx(0.5, abs=0.1)


def test_the_two_numberings_of_the_audit() -> None:
    audit = [
        {"question_id": "locomo_0_qa1", "error_type": "WRONG_CITATION"},
        {"question_id": "locomo_0_qa5", "error_type": "HALLUCINATION"},
    ]
    assert left_out(audit, 0) == {(0, 5)}
    assert left_out(audit, 1) == {(0, 4)}


def test_evidence_is_read_in_all_its_spellings() -> None:
    ids = {"D8:6": 0, "D9:17": 1, "D11:26": 2, "D4:4": 3}
    cited = {"evidence": ["D8:6; D9:17", "D:11:26", "D", "D4:4 D99:1"]}
    assert evidence(cited, ids) == [0, 1, 2, 3]
    assert evidence({}, ids) == []


def test_names_are_exchanged_both_at_once() -> None:
    assert renamed("Did Jo ask Jon about Jo's cat?", ("Jo", "Jon"), ("Jon", "Jo")) == "Did Jon ask Jo about Jon's cat?"


def rows(*kinds: str) -> list[Row]:
    return [Row(id=str(i), group=f"g{i % 3}", kind=kind) for i, kind in enumerate(kinds)]


def test_a_pass_rate_comes_with_the_constant_answers() -> None:
    found = verdicts(rows("answerable", "answerable", "answerable", "swap"), np.array([True, True, False, False]))
    assert (found["pass_rate"], found["pass_rate_always_inject"], found["pass_rate_always_silence"]) == (
        0.75,
        0.75,
        0.25,
    )
    assert found["want_inject_pass_rate"] == pytest.approx(2 / 3)
    assert found["want_silence_pass_rate"] == 1.0
    assert found["silence_f1"] == pytest.approx(2 / 3)


def test_separation_and_intervals() -> None:
    some = rows(*["answerable", "swap"] * 6)
    score = np.array([0.9, 0.1] * 6)
    assert separation(some, score)["swap"] == {
        "n": 6,
        "auroc": 1.0,
        "silence@0.95": 1.0,
        "silence@0.90": 1.0,
        "silence@0.80": 1.0,
    }
    assert bootstrap(some, score > 0.5)["pass_rate"] == [1.0, 1.0]


def test_ties_share_their_rank() -> None:
    assert rank_of(np.array([3.0, 2.0, 2.0, 1.0]), [2]) == 2.5
    assert rank_of(np.array([0.0, 1.0]), [0]) == NOT_FOUND
    assert rank_of(np.array([1.0]), []) is None
    found = ranks(
        [Row(id="a", group="g", kind="answerable", session_rank=1), Row(id="b", group="g", kind="answerable")]
    )
    assert found["session_mrr"] == 1.0
    assert "turn_mrr" not in found


def test_no_row_is_scored_by_what_has_seen_its_group() -> None:
    some = [Row(id=str(i), group=group, kind="kept") for i, group in enumerate(("a", "b>a", "b", "c"))]
    seen: list[set[str]] = []

    def fit(training: list[Row]) -> Gate:
        seen.append({row.id for row in training})
        always = Logistic((), (), (), (), 30.0)
        return Gate(always, None, always, ())

    assert out_of_fold(some, fit, "dense").shape == (4,)
    assert seen == [{"2", "3"}, {"0", "3"}, {"0", "1", "2"}]


def test_bm25_by_hand() -> None:
    lexicon = Lexicon(["cache cache", "cache lock", "queue"])
    ids = lexicon.ids(["cach", "nowhere"])
    assert list(ids) == [0, -1]
    idf = float(np.log1p(1.5 / 2.5))
    average = 5 / 3
    expected = idf * 2 * 2.2 / (2 + 1.2 * (0.25 + 0.75 * 2 / average))
    assert lexicon.bm25(ids)[0] == pytest.approx(expected)
    assert lexicon.bm25(ids)[2] == 0


def test_a_store_finds_its_session() -> None:
    texts = ["we moved the queue to postgres", "good", "the parser fails on tabs", "try spaces", "login cookie", "ok"]
    rng = np.random.default_rng(0)
    vectors = rng.standard_normal((6, 8)).astype(np.float32)
    store = Store(texts, [0, 0, 1, 1, 2, 2], vectors, ["queue.py", "parser.py", ""])
    question = read_question("why does the parser fail on tabs")
    found = store.find(question, vectors[2])
    assert int(found.whole.argmax()) == int(found.facets.argmax()) == 1
    assert int(found.turns.argmax()) == 2
    assert found.cosine is not None
    assert int(found.cosine.argmax()) == 2
    assert not is_stranger(store, question)
    assert is_stranger(store, read_question("why does Kafka fail on tabs"))


def test_passages_and_exchanged_anchors() -> None:
    text = "Set RETRY_LIMIT to 5 for uploads. Uploads retry slowly.\n\nSet CACHE_SIZE to 9 for thumbnails."
    assert [len(piece) <= 800 for piece in cut_passages("word. Word. " * 300)].count(False) == 0
    passages = Passages([text] * 2 + ["CACHE_SIZE is read at startup, RETRY_LIMIT is not.\n\n" + "filler " * 200])
    question = read_question("what was RETRY_LIMIT for uploads set to")
    assert lowest_ratio(passages, question) == 1.0
    assert slot_swap(passages, question, random.Random(0)) == "what was CACHE_SIZE for uploads set to"


def talk_claims(says: list[bool], cosine: list[float], myself: list[float]) -> Claims:
    relevance, ownership = np.zeros((len(says), len(RELEVANCE))), np.zeros((len(says), len(OWNERSHIP)))
    relevance[:, RELEVANCE.index("cosine")], ownership[:, OWNERSHIP.index("myself")] = cosine, myself
    return Claims(relevance, ownership, np.array(says), ~np.array(says))


def test_attention_learns_that_who_says_i_is_meant() -> None:
    rng = np.random.default_rng(3)
    said = [rng.random(6) < 0.5 for _ in range(200)]
    talks = [talk_claims(s.tolist(), (0.1 + 0.8 * s).tolist(), [1.0] * 6) for s in said]  # what fits, the asked said
    model = fit_attention(talks, 1.0)
    assert model.relevance["cosine"] > 1
    assert model.ownership["myself"] > 1
    assert model.log_odds(talk_claims([True, False], [0.9, 0.1], [1, 1])) > model.offset
    with pytest.raises(ValueError, match="two people"):
        batch([Claims(np.zeros((1, 15)), np.zeros((1, 6)), np.array([True]), np.array([True]))])


def test_the_slope_of_the_loss_is_its_derivative() -> None:
    rng = np.random.default_rng(4)
    data = batch(
        [talk_claims(rng.random(4).round().astype(bool).tolist(), rng.random(4).tolist(), [1, 0, 1, 0])] * 2
        + [talk_claims([True], [0.5], [1.0])]
    )
    weights = rng.normal(size=len(RELEVANCE) + len(OWNERSHIP))
    slope = loss(weights, data)[1]
    for at in (RELEVANCE.index("cosine"), len(RELEVANCE) + OWNERSHIP.index("myself")):
        step = np.zeros(len(weights))
        step[at] = 1e-6
        numeric = (loss(weights + step, data)[0] - loss(weights - step, data)[0]) / 2e-6
        assert slope[at] == pytest.approx(numeric, abs=1e-6)


def test_claims_survive_packing() -> None:
    found = talk_claims([True, False, True], [0.5, 0.25, 0.0], [1, 0, 1])
    again = Packed.of(found).claims()
    assert (again.relevance == found.relevance).all()
    assert (again.ownership == found.ownership).all()
    assert again.says.tolist() == [True, False, True]
    assert (again.hears != again.says).all()


def test_a_safe_cut_lets_more_pass_the_more_groups_differ() -> None:
    score = np.concatenate([np.linspace(0.5, 1, 100), np.linspace(0.2, 0.7, 100)])
    alike, apart = [str(at % 2) for at in range(200)], ["a"] * 100 + ["b"] * 100
    plain = float(np.quantile(score, 0.05))
    assert safe_cut(score, apart, 0.95) < safe_cut(score, alike, 0.95) < plain + 0.02


def test_what_a_recall_costs_and_prints_is_told_by_what_was_wanted() -> None:
    costs = [
        Asked("INJECT", "INJECT", True, 10.0, 12.0, 400.0),
        Asked("INJECT", "SILENCE", False, 20.0, 22.0, 4.0),
        Asked("SILENCE", "INJECT", False, 30.0, 32.0, 300.0),
    ]
    told = summary(costs)
    assert told["cpu_ms"]["p50"] == 20.0
    assert told["want INJECT"]["verdicts"] == {"INJECT": 1, "KNOWLEDGE": 0, "SILENCE": 1}
    assert told["want SILENCE"]["tokens_printed"]["mean"] == 300.0
    assert told["gold_among_shown"] == 1.0


def test_doubtful_gold_is_not_asked_for() -> None:
    sure = {"store": "full", "label": "INJECT", "kind": "subject", "ambiguous": False, "gold_grade": 3}
    assert wanted(sure)
    assert wanted({"store": "full", "label": "SILENCE", "kind": "subject"})
    for doubt in ({"ambiguous": True}, {"gold_grade": 1}, {"kind": "known_item"}, {"store": "t70"}):
        assert not wanted(sure | doubt)


def test_each_group_is_judged_by_the_cut_of_the_others() -> None:
    rows = [Row(id=str(at), group="ab"[at % 2], kind="answerable") for at in range(40)]
    score = np.array([0.9 if row.group == "a" else 0.1 for row in rows])
    told = at_cuts_of_others(rows, score, np.ones(40, np.bool_))
    assert told.tolist() == [row.group == "a" for row in rows]
