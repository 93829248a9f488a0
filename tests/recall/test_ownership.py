"""Whose evidence it is, over a small conversation of two people."""

from __future__ import annotations

import numpy as np
import pytest

from rekal.index.text import query_tokens, tokens
from rekal.recall.ownership import (
    CONSISTENCY,
    EVERYBODY,
    Floats,
    Sentences,
    about,
    anchored,
    margins,
    split_sentences,
    worth_a_vector,
)

ADA, GRACE = 0, 1
TALK = [
    (ADA, "I rewrote the lexer in Rust last week. It was fun."),
    (GRACE, "Nice! How long have you been writing Rust?"),
    (ADA, "Three years."),
    (GRACE, "I sailed to Malta. My boat leaks."),
    (ADA, "You and I should race our boats."),
]


def sentences(question: list[str], talk: list[tuple[int, str]] = TALK) -> Sentences:
    pieces = [(place, who, piece) for place, (who, text) in enumerate(talk) for piece in split_sentences(text)]
    tf = np.array([[tokens(piece).count(term) for _, _, piece in pieces] for term in question], np.float64)
    return Sentences(
        turn=np.array([place for place, _, _ in pieces]),
        session=np.zeros(len(pieces), np.int64),
        length=np.array([float(len(tokens(piece))) for _, _, piece in pieces]),
        speaker=np.array([who for _, who, _ in pieces]),
        owner=np.array([about(piece, who, 1 - who) for _, who, piece in pieces]),
        tf=tf.reshape(len(question), len(pieces)),
    )


def ask(text: str, asked: int, named: int = 1) -> dict[str, float]:
    terms = query_tokens(text)
    return margins(sentences(terms), np.ones(len(terms)), asked, named)


@pytest.mark.parametrize(
    ("text", "whom"),
    [
        ("I moved it to Postgres.", ADA),
        ("Have you tried the cache?", GRACE),
        ("The cache is slow.", ADA),
        ("You and I should talk.", EVERYBODY),
        ("We shipped our fix.", ADA),
        ("Is that yours?", GRACE),
    ],
)
def test_pronouns_tell_whom_a_sentence_is_about(text: str, whom: int) -> None:
    assert about(text, ADA, GRACE) == whom


def test_sentences_are_split_and_never_empty() -> None:
    assert split_sentences("One. Two?\n\nThree") == ["One.", "Two?", "Three"]
    assert split_sentences(" \n ") == []


def test_what_was_said_to_somebody_is_about_them() -> None:
    # Both sentences about Rust are about Ada, though Grace said one.
    right, wrong = ask("writing rust", ADA), ask("writing rust", GRACE)
    assert right["one_best"] > 0 > wrong["one_best"]
    assert right["one_balance"] > 0 > wrong["one_balance"]
    assert right["one_share"] == 0.5 == -wrong["one_share"]


def test_exchanging_the_people_mirrors_the_margins() -> None:
    right, wrong = ask("sailed boat", GRACE), ask("sailed boat", ADA)
    for name in CONSISTENCY:
        assert right[name] == pytest.approx(-wrong[name])


def test_two_named_people_use_weights_of_their_own() -> None:
    values = ask("rust", ADA, named=2)
    assert all(values[name] == 0 for name in CONSISTENCY if name.startswith("one_"))
    assert values["two_said_best"] != 0
    assert set(values) == set(CONSISTENCY)


def test_vectors_count_where_they_are() -> None:
    plain = sentences(["rust"])
    cosine: Floats = np.full(len(plain.turn), np.nan)
    cosine[[0, 5]] = 0.1, 0.9  # Ada's first sentence, Grace's about Malta
    full = Sentences(plain.turn, plain.session, plain.length, plain.speaker, plain.owner, plain.tf, cosine)
    assert margins(full, np.ones(1), GRACE, 1)["one_cosine"] == pytest.approx(0.8)


def test_the_strongest_of_both_sides_are_worth_a_vector() -> None:
    talk = [(who, f"I like topic{n}.") for n in range(60) for who in (ADA, GRACE)] + [(ADA, "I like rust.")]
    plain = sentences(["rust"], talk)
    chosen = worth_a_vector(plain, np.ones(1), ADA, np.zeros(len(plain.turn)))
    assert len(chosen) == 48
    assert len(plain.turn) - 1 in chosen
    assert {int(plain.owner[at]) for at in chosen} == {ADA, GRACE}


def test_no_sentences_give_no_margin() -> None:
    assert set(ask("nothing of this", ADA).values()) >= {0.0}
    empty = sentences(["rust"], [])
    assert margins(empty, np.ones(1), ADA, 1)["one_share"] == 0.0


def test_an_anchor_apart_from_the_rest_is_told() -> None:
    # Terms: retry, upload, 30s. Passage 0 has the first two, passage 1 the number alone, passage 2 all.
    present = np.array([[1, 0, 1], [1, 0, 1], [0, 1, 1]], np.bool_)
    own = np.array([False, False, True])
    idf = np.ones(3)
    assert anchored(present[:, :2], idf, own, present[2, :2]) == 0.0
    assert anchored(present, idf, own, present[2]) == 1.0


def test_an_anchor_nobody_has_seen_tells_nothing() -> None:
    present = np.array([[1, 1], [1, 0], [0, 0]], np.bool_)
    own = np.array([False, False, True])
    assert anchored(present, np.ones(3), own, present[2]) is None
    assert anchored(present, np.ones(3), np.array([False, True, True]), present[1]) is None
