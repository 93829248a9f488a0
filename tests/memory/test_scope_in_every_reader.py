"""What holds on another branch alone is shown by no verb and no tool, until that branch is merged."""

from __future__ import annotations

import pytest

from tests.conftest import git
from tests.memory.test_time_in_every_reader import READERS, WORDS, ask_every_tool
from tests.support.app import Rekal

TOKENS = ("spikedecision", "spikeruling", "spikefact")


@pytest.fixture
def elsewhere(rekal: Rekal) -> Rekal:
    """A repository on its main branch, with memories of the branch ``spike`` in the same words as one of its own."""
    git(rekal.root, "checkout", "-q", "-b", "spike")
    git(rekal.root, "commit", "-q", "--allow-empty", "-m", "Try it")
    decision, ruling, fact = TOKENS
    for words in (
        ("decide", f"{WORDS} {decision}"),
        ("rule-out", f"{WORDS} {ruling}", "--because", "it was slow"),
        ("remember", f"{WORDS} {fact}", "--type", "fact"),
    ):
        done = rekal(*words, "--branch", "spike")
        assert done.code == 0, done.err
    git(rekal.root, "checkout", "-q", "main")
    assert rekal("decide", f"{WORDS} holdshere").code == 0
    return rekal


@pytest.mark.parametrize("reader", READERS, ids=" ".join)
def test_no_verb_shows_what_holds_elsewhere(elsewhere: Rekal, reader: tuple[str, ...]) -> None:
    ran = elsewhere(*reader)
    assert ran.code in (0, 1, 3, 7), ran.err
    assert [token for token in TOKENS if token in ran.out + ran.err] == []


def test_it_is_shown_where_it_holds_and_once_it_is_merged(elsewhere: Rekal) -> None:
    git(elsewhere.root, "checkout", "-q", "spike")
    assert [token in elsewhere("recall", WORDS).out for token in TOKENS] == [True] * 3
    git(elsewhere.root, "checkout", "-q", "main")
    assert "3 more hold on other branches alone" in elsewhere("memories").out
    assert [token in elsewhere("memories", "--everywhere").out for token in TOKENS] == [True] * 3
    git(elsewhere.root, "merge", "-q", "--no-ff", "-m", "Take it", "spike")
    assert [token in elsewhere("recall", WORDS).out for token in TOKENS] == [True] * 3


def test_what_holds_for_other_files_answers_no_question_about_a_file(rekal: Rekal) -> None:
    assert rekal("decide", f"{WORDS} apirule", "--scope", "src/api/**").code == 0
    for reader in (("recall", WORDS), ("check", f"{WORDS} apirule"), ("memories",)):
        path = "--file" if reader[0] != "memories" else "--scope"
        assert "apirule" in rekal(*reader, path, "src/api/a.py").out
        assert "apirule" not in rekal(*reader, path, "src/web/b.ts").out


def test_no_tool_of_any_profile_shows_what_holds_elsewhere(elsewhere: Rekal) -> None:
    seen = 0
    for tool, said in ask_every_tool(elsewhere.root):
        assert [token for token in TOKENS if token in said] == [], tool
        seen += "holdshere" in said
    assert seen > 3, "it would pass where nothing is shown"
