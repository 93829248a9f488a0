"""The text of a row: whole sentences, code as code, no narration at its head, no bare "yes"."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from rekal.cli.verbs.recall import answer_lines
from rekal.recall.answer import Answer, Hit, Row
from rekal.recall.row_text import is_worth_a_row, snap_to_sentences

TEXT = (
    "Let me look at the worker first. The lock is taken per job now. Two workers never hold the same one, since the "
    "row is locked by the database itself. Retries wait twice as long each time."
)


def test_a_row_begins_and_ends_with_a_sentence() -> None:
    start = TEXT.index("never hold")
    said, cut = snap_to_sentences(TEXT, start, start + 120, agent=True)
    assert said.startswith(("Two workers", "The lock"))
    assert said.endswith((".", "itself."))
    assert cut


def test_narration_at_the_head_is_left_out_of_an_agents_words_only() -> None:
    assert snap_to_sentences(TEXT, 0, len(TEXT), agent=True)[0].startswith("The lock is taken per job now.")
    assert snap_to_sentences(TEXT, 0, len(TEXT), agent=False)[0] == TEXT


def test_narration_at_the_end_is_left_out_of_an_agents_words_only() -> None:
    text = "The lock is taken per job now, so two workers never hold the same one. Now let me run the tests again."
    assert snap_to_sentences(text, 0, len(text), agent=True) == (text[: text.index(" Now let me")], True)
    assert snap_to_sentences(text, 0, len(text), agent=False) == (text, False)


def test_a_sentence_longer_than_a_row_is_cut_at_words() -> None:
    long = "the queue waits for " + "every single worker of this machine and " * 20
    said, cut = snap_to_sentences(long, 100, 220, agent=True)
    assert cut
    assert set(said.split()) <= set(long.split())


@pytest.mark.parametrize("said", ["yes", "Now let me run it again with the other lock:", "ok, go on"])
def test_yes_and_narration_alone_are_no_rows(said: str) -> None:
    assert not is_worth_a_row(said, person=False)


def test_what_says_something_is_a_row() -> None:
    assert is_worth_a_row("The lock is taken per job, because two workers met.", person=False)
    assert is_worth_a_row("Take the lock per job instead of once for the whole queue", person=True)


def test_code_is_printed_as_code_and_cannot_pass_for_a_row() -> None:
    text = "The lock is now per job:\n```python\nwith lock(job):\n    run(job)\n  abc:1  me\n```\nHeld for one run."
    row = Row(4, "assistant", None, text, False, 1.0)
    hit = Hit(
        "27tn23jge7abc", "claude", "Ada", "a@b", "local", "human", "main", [], "Locks",
        datetime(2026, 3, 2, 12, tzinfo=UTC), 1.0, [row], commit="9c1f2ab0d1", subject="Lock per job", merged=True,
    )  # fmt: skip
    lines = list(answer_lines(Answer("INJECT", "", 0.9, "why", [hit], [], [], 0), explain=False))
    assert lines[1:] == [
        '27tn23jge7  2026-03-02  claude  main  "Locks" led to 9c1f2ab0 "Lock per job", merged',
        '  27tn23jge7:4  claude  "The lock is now per job:"',
        "    | with lock(job):",
        "    |     run(job)",
        "    |   abc:1  me",
        '    "Held for one run."',
    ]
