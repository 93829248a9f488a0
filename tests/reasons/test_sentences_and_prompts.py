"""Sentences cut from prose, what each is, and prompts that say what is wanted."""

from __future__ import annotations

from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekal.reasons.choose_reason import SpokenTurn, choose_reason
from rekal.reasons.prompt_content import choose_prompt, has_content
from rekal.reasons.prose_sentences import split_prose
from rekal.reasons.sentence_kind import is_telling


def test_a_dot_inside_a_name_ends_no_sentence() -> None:
    text = "The lock of queue.py v1.2 is held too long. It is now taken per job."
    assert [one.text for one in split_prose(text)] == [
        "The lock of queue.py v1.2 is held too long.",
        "It is now taken per job.",
    ]


def test_code_blocks_and_tables_are_no_sentences() -> None:
    text = "Before.\n```python\nreturn because_of(this)\n```\n| a | table |\n|---|---|\nAfter the block."
    assert [one.text for one in split_prose(text)] == ["Before.", "After the block."]


def test_marks_of_lists_and_headings_are_signs_not_words() -> None:
    listed, heading = split_prose("- **Retry**: waits longer each time\n## Summary of it")
    assert (listed.text, listed.listed, listed.heading) == ("**Retry**: waits longer each time", True, False)
    assert (heading.text, heading.heading) == ("Summary of it", True)


@given(st.text(alphabet="ab .!?\n`*-#|1é漢", max_size=200))
def test_sentences_stand_where_they_say(text: str) -> None:
    found = split_prose(text)
    assert all(text[one.start : one.end] == one.text for one in found)
    assert all(a.end <= b.start for a, b in pairwise(found))


@pytest.mark.parametrize(
    "said",
    [
        "Let me look at how the worker starts.",
        "Now I'll write the test for the empty queue.",
        "Good, now let me run all of it again.",
        "I'm checking the hooks of the other clone.",
        "Reading the configuration of the remote first.",
        "I need to see who calls this function.",
        "The following files are affected:",
        "Should the worker wait for the lock?",
        "Done.",
        "**What changed in this commit**",
        "Yes, perfect.",
    ],
)
def test_narration_headings_and_questions_tell_nothing(said: str) -> None:
    assert not any(map(is_telling, split_prose(said)))


@pytest.mark.parametrize(
    "said",
    [
        "The queue retries because the broker drops jobs on restart.",
        "Retries now wait twice as long each time.",
        "Let me keep the old name, because other clones still read it.",
        "Nothing is written before the lock is held.",
        "队列会重试，因为代理在重启时会丢失任务。",
    ],
)
def test_reasons_and_results_tell(said: str) -> None:
    assert all(map(is_telling, split_prose(said)))


def test_the_reason_is_chosen_among_narration_and_status() -> None:
    turns = [
        SpokenTurn(3, "Let me look at the retry loop."),
        SpokenTurn(4, "The loop never ends because `failed()` counts jobs that were given up. Now I'll fix it:"),
        SpokenTurn(6, "All tests pass. Committed and pushed.", closing=True),
    ]
    found = choose_reason(turns, 5, ["queue.py", "while queue.failed():"])
    assert found is not None
    assert (found.seq, found.worth.kind) == (4, "reason")
    assert found.sentence.text.startswith("The loop never ends because")
    assert choose_reason(turns, 5, ["queue.py"], taken={found.sentence.text}) is None


@pytest.mark.parametrize("said", ["yes", "just keep going", "ok, commit and push it", "3", "/compact", "do it please"])
def test_go_ahead_has_no_content(said: str) -> None:
    assert not has_content(said)


@pytest.mark.parametrize(
    "said", ["Make `drain` wait for the lock", "remove the unused svgs from docs", "再試行のたびに待ち時間を倍にする"]
)
def test_an_order_has_content(said: str) -> None:
    assert has_content(said)


def test_numbers_choose_the_items_of_a_list() -> None:
    offered = "Three things are left:\n1. Pack the journal\n2. Name the lock's owner\n3. Drop the old hooks"
    shown = choose_prompt(["do 1 and 3"], offered)
    assert shown is not None
    assert (shown.back, shown.answers) == (0, "Pack the journal; Drop the old hooks")


def test_no_prompt_is_shown_where_none_says_anything() -> None:
    assert choose_prompt(["yes", "go on", "Pack the journal of each clone"], "It works.") is None
    assert choose_prompt([], "") is None
