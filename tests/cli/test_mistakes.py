"""The mistakes that people make at a prompt: each gets one sentence that says what to do, and no stack of frames."""

from __future__ import annotations

import pytest

from tests.support.app import Rekal
from tests.support.claude import ClaudeSession

# What is typed, the exit code, and words of the sentence that helps. ID stands for a session's own.
MISTAKES = [
    ("stauts", 2, "did you mean `rekal status`?"),
    ("checkpiont --since 90d", 2, "did you mean `rekal checkpoint`?"),
    ("grep retry", 2, "did you mean `rekal find`?"),
    ("ls", 2, "did you mean `rekal sessions`?"),
    ("blame queue.py", 2, "did you mean `rekal why`?"),
    ("search retry", 2, "did you mean `rekal recall`?"),
    ("rm ID", 2, "did you mean `rekal forget`?"),
    ("recall", 2, "there is no question; write one"),
    ("show", 2, "`rekal show` needs HANDLE; `rekal help show` explains it"),
    ("show nosuch", 1, "`rekal sessions` lists them"),
    ("show ID:99", 1, "has 2 turns, 0 to 1"),
    ("show ID:x", 1, "`rekal sessions` lists them"),
    ("find", 2, "`rekal find` needs TEXT"),
    ("find -E (", 2, "leave --regex out for a literal text"),
    ("log --since yesterdax", 2, "write 2026-03-01, yesterday, 30d"),
    ("log nosuch..HEAD", 2, "write it as git does: main..HEAD"),
    ("log --agent cladue", 2, "unknown agent cladue; known are claude"),
    ("find --agent cladue retry", 2, "known are claude"),
    ("recall --agent cladue retry", 2, "known are claude"),
    ("recall --limit five retry", 2, "`rekal help recall` explains it"),
    ("recall -x retry", 2, "no such option '-x'; `rekal help recall` explains it"),
    ("why", 2, "`rekal why` needs TARGET"),
    ("why README.md:99", 2, "give a line that is there"),
    ("why nosuch.py:1", 2, "there is no nosuch.py here"),
    ("config recal.strictness", 2, "did you mean recall.strictness?"),
    ("config strictness", 2, "did you mean recall.strictness?"),
    ("config recall.strictness banana", 2, "see `rekal config` for what each key takes"),
    ("share orign", 2, "`git remote -v` lists them"),
    ("push", 5, "`rekal share REMOTE` turns it on"),
    ("forget", 2, "name a session, a turn or a memory"),
    ("forget nosuch --yes", 2, "print ids"),
    ("clean", 2, "give --yes"),
    ("query SELECT", 2, "docs/store.md for the tables"),
    ("init --agents cluade", 2, "unknown agent cluade; known are claude"),
    ("checkpoint --since 90", 2, "write 90d, 12w, 6m or 1y"),
    ("resume nosuch", 2, "`rekal sessions` lists them"),
    ("completion tcsh", 2, "'bash', 'fish', 'zsh'"),
    ("completion", 2, "`rekal help completion` explains it"),
    ("help nosuch", 2, "`rekal help` lists them"),
    ("export nosuch", 2, "`rekal sessions` lists them"),
    ("import nosuch.json", 2, "give a file or a folder"),
    ("-C nowhere status", 2, "give a directory that is there"),
    ("--verbose status", 2, "`rekal help` lists what there is"),
    ("status --color=red", 2, "write --color=never"),
    ("stats -n 0", 2, "`rekal help stats` explains it"),
    ("review --accept nosuch", 2, "`rekal memories` lists them"),
    ("remember", 2, "say it in a sentence"),
]


@pytest.fixture
def store(rekal: Rekal) -> Rekal:
    """A store with a session of two turns."""
    session = ClaudeSession(rekal.home, rekal.root, "one")
    session.human("Why should the retry queue live in Postgres?")
    session.says("It survives a restart there.")
    assert rekal("checkpoint").code == 0
    return rekal


@pytest.mark.parametrize(("typed", "code", "helps"), MISTAKES, ids=[typed for typed, _, _ in MISTAKES])
def test_a_mistake_gets_a_sentence_that_helps(typed: str, code: int, helps: str, store: Rekal) -> None:
    handle = store("sessions", "--json").json["sessions"][0]["id"][:10]
    done = store(*typed.replace("ID", handle).split())
    assert done.code == code, (done.out, done.err)
    said = done.err + done.out
    assert helps in said, said
    assert len(said.strip().splitlines()) == 1, "one sentence, not a screen"


@pytest.mark.parametrize(
    "question", ["list all the places where the queue is drained", "search for how the queue is drained in tests"]
)
def test_a_question_that_begins_like_another_program_s_verb_is_a_question(question: str, store: Rekal) -> None:
    assert store(*question.split()).code in (0, 1)


def test_outside_of_a_store_it_says_where_to_go(store: Rekal) -> None:
    assert "`git init` first" in store("status", cwd=store.root.parent).err
    assert "run this in the work tree" in store("status", cwd=store.root / ".git").err
