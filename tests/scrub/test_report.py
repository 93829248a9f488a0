"""Counting what would go, without showing it."""

from __future__ import annotations

from rekal.scrub import Rules, Scrubber, count_secrets
from tests.scrub.examples import example

SCRUBBER = Scrubber(Rules())


def test_kinds_are_counted() -> None:
    token, key = example("github-token").text, example("anthropic-key").text
    counted = SCRUBBER.kinds(f"{token} {token} {key}")
    assert counted == {"github-token": 2, "anthropic-key": 1}


def test_report_counts_and_never_shows() -> None:
    token = example("github-token").text
    made = count_secrets(SCRUBBER, [f"use {token} now", "nothing here", f"{token} {example('jwt').text}"])
    assert (made.texts, made.words, made.redacted_words) == (3, 7, 3)
    assert made.kinds == (("github-token", 2), ("jwt", 1))
    assert made.share == 3 / 7
    assert made.lines() == ["       2  github-token", "       1  jwt", "       3  in 3 texts (42.8571% of words)"]
    assert token not in repr(made)


def test_report_of_nothing() -> None:
    assert count_secrets(SCRUBBER, []).share == 0.0
