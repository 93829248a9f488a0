"""What is read off single sentences, over a small conversation of two people."""

from __future__ import annotations

import numpy as np
import pytest

from rekal.index.text import document_terms
from rekal.recall.sentences import (
    EVERYBODY,
    SIGNS,
    Sentences,
    find_owner,
    read_signs,
    split_sentences,
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
    tf = np.array([[document_terms(piece).count(term) for _, _, piece in pieces] for term in question], np.float64)
    speaker = np.array([who for _, who, _ in pieces], np.int64)
    return Sentences(
        turn=np.array([place for place, _, _ in pieces], np.int64),
        session=np.zeros(len(pieces), np.int64),
        length=np.array([float(len(document_terms(piece))) for _, _, piece in pieces]),
        speaker=speaker,
        listener=1 - speaker,
        owner=np.array([find_owner(piece, who, 1 - who) for _, who, piece in pieces], np.int64),
        signs=np.array([read_signs(piece) for _, _, piece in pieces], np.bool_).reshape(len(pieces), len(SIGNS)),
        standing=np.zeros((len(pieces), 3)),
        tf=tf.reshape(len(question), len(pieces)),
    )


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
    assert find_owner(text, ADA, GRACE) == whom


def test_whoever_talks_to_their_own_agent_talks_about_themselves() -> None:
    assert {find_owner(text, ADA, ADA) for text in ("You did it.", "I did it.", "You and I did it.", "Done.")} == {ADA}


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("I moved it on May 3rd.", {"myself", "time"}),
        ("Have you two met?", {"other", "asks", "number"}),
        ("It was fun.", set()),
        ("My plan failed twice.", {"myself", "number"}),
    ],
)
def test_signs(text: str, shown: set[str]) -> None:
    assert {name for name, seen in zip(SIGNS, read_signs(text), strict=True) if seen} == shown


def test_sentences_are_split_and_never_empty() -> None:
    assert split_sentences("One. Two?\n\nThree") == ["One.", "Two?", "Three"]
    assert split_sentences(" \n ") == []


def test_a_window_scores_only_what_is_about_one_side() -> None:
    found = sentences(["sail", "boat"])
    mine, theirs = found.sides(GRACE)
    ada, grace = found.window_scores(np.ones(2), theirs), found.window_scores(np.ones(2), mine)
    assert grace[5] > ada[5] > 0  # "our boats" is about both
    assert sentences(["rust"], []).window_scores(np.ones(1), np.zeros(0, np.bool_)).size == 0


def test_coverage_of_a_sentence() -> None:
    assert sentences(["rust", "lexer"]).covered(np.array([1.0, 3.0]))[[0, 3]].tolist() == [1.0, 0.25]


def test_the_strongest_of_both_sides_are_worth_a_vector() -> None:
    talk = [(who, f"I like topic{n}.") for n in range(60) for who in (ADA, GRACE)] + [(ADA, "I like rust.")]
    plain = sentences(["rust"], talk)
    chosen = plain.candidates(np.ones(1), ADA)
    assert len(chosen) == 48
    assert len(plain.turn) - 1 in chosen
    assert {int(plain.owner[at]) for at in chosen} == {ADA, GRACE}
