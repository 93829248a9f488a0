"""Whose evidence it is: what sentences claim, and what the gate makes of it."""

from __future__ import annotations

import msgspec
import numpy as np
import pytest

from rekal.index.text import query_terms
from rekal.recall.claims import OWNERSHIP, RELEVANCE, Claims
from rekal.recall.consistency import anchored_share
from rekal.recall.gate import Attention
from tests.recall.test_sentences import ADA, GRACE, TALK, sentences

PLAIN = Attention(
    {name: 8.0 if name in ("covered", "asked_covered") else 0.0 for name in RELEVANCE},
    {"myself": 3.0, "other": -3.0, "both": 0.0, "nobody": 2.0, "asks": -4.0, "asks_other": 0.0},
    0.0,
)


def ask(text: str, asked: int, talk: list[tuple[int, str]] = TALK) -> Claims:
    terms = query_terms(text)
    found = sentences(terms, talk)
    return Claims.of(found, np.ones(len(terms)), asked, text, np.arange(len(found.turn)))


def column(found: Claims, name: str) -> list[float]:
    return [float(value) for value in found.relevance[:, RELEVANCE.index(name)]]


def test_a_claim_has_every_feature_the_model_weighs() -> None:
    found = ask("writing rust", ADA)
    assert found.relevance.shape == (8, len(RELEVANCE))
    assert found.ownership.shape == (8, len(OWNERSHIP))
    assert found.says.tolist() == [True, True, False, False, True, False, False, True]
    assert (found.hears == ~found.says).all()


def test_what_answers_a_question_is_known_by_the_question() -> None:
    found = ask("writing rust", ADA)  # "Three years." has no word of it
    assert column(found, "answers") == [0, 0, 0, 0, 1, 0, 0, 0]
    assert column(found, "asked_covered") == [0, 0, 0, 0, 1, 0, 0, 0]
    assert column(found, "covered")[4] == 0


def test_a_time_or_a_number_counts_where_it_is_wanted() -> None:
    assert column(ask("when was the lexer rewritten", ADA), "when") == [1, 0, 0, 0, 1, 0, 0, 0]
    assert column(ask("how long did rust take", ADA), "many") == [0, 0, 0, 0, 1, 0, 0, 0]
    assert sum(column(ask("what was rewritten", ADA), "when") + column(ask("what was rewritten", ADA), "many")) == 0


def test_only_vectors_of_the_chosen_count() -> None:
    found = sentences(["rust"])
    some = Claims.of(found, np.ones(1), ADA, "rust", np.array([0, 6]), np.array([0.1, 0.9]))
    assert column(some, "cosine") == [0.1, 0.9]
    assert some.says.tolist() == [True, False]


def test_what_was_said_to_somebody_is_about_them() -> None:
    # The question about Rust is asked by Grace and answered by Ada.
    assert PLAIN.log_odds(ask("writing rust", ADA)) > 2 > -2 > PLAIN.log_odds(ask("writing rust", GRACE))


@pytest.mark.parametrize("text", ["sailed boat", "writing rust", "lexer", "nothing of this"])
def test_exchanging_two_people_turns_the_odds(text: str) -> None:
    assert PLAIN.log_odds(ask(text, ADA)) == pytest.approx(-PLAIN.log_odds(ask(text, GRACE)))


def test_a_third_person_is_somebody_else() -> None:
    found = ask("sailed boat", 2)
    assert not found.says.any()
    assert PLAIN.log_odds(found) == -30.0
    assert PLAIN.probability(found) < 1e-9


def test_nobody_else_in_the_store_is_no_doubt() -> None:
    alone = ask("sailed boat", ADA)
    alone = msgspec.structs.replace(alone, says=np.ones(8, np.bool_), hears=np.ones(8, np.bool_))
    assert PLAIN.log_odds(alone) == 30.0


def test_without_claims_the_offset_decides() -> None:
    assert msgspec.structs.replace(PLAIN, offset=1.5).log_odds(ask("rust", ADA, [])) == 1.5


def test_an_anchor_apart_from_the_rest_is_told() -> None:
    # Terms: retry, upload, 30s. Passage 0 has the first two, passage 1 the number alone, passage 2 all.
    present = np.array([[1, 0, 1], [1, 0, 1], [0, 1, 1]], np.bool_)
    own = np.array([False, False, True])
    idf = np.ones(3)
    assert anchored_share(present[:, :2], idf, own, present[2, :2]) == 0.0
    assert anchored_share(present, idf, own, present[2]) == 1.0


def test_an_anchor_nobody_has_seen_tells_nothing() -> None:
    present = np.array([[1, 1], [1, 0], [0, 0]], np.bool_)
    own = np.array([False, False, True])
    assert anchored_share(present, np.ones(3), own, present[2]) is None
    assert anchored_share(present, np.ones(3), np.array([False, True, True]), present[1]) is None
