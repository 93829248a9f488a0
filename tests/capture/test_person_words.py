"""Only what is known to be typed is a person's words, and words that cannot be found are said to be missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from rekal.agents.formats.person_words import find_wrapper
from tests.support.app import Rekal
from tests.support.conversations import STORES, Conversation, Round

WORDS = {
    "claude": b'"content":',
    "codex": b'"message":',
    "copilot cli": b'"content":',
    "copilot vscode": b'"requests":',
    "cursor transcript": b'"content":',
    "gemini document": b'"content":',
    "gemini log": b'"content":',
    "kiro flat": b'"data":',
    "kiro shared": b'"content":',
    "kiro ide": b'"history":',
}
"""By store: the field that leads to the words."""

MARKED = ("cursor cli", "cursor transcript")
"""Stores that mark what was typed themselves: whatever is inside the mark is the person's."""


@pytest.fixture(autouse=True)
def _own_home(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name)


def _drift(rekal: Rekal) -> dict[str, int]:
    (source,) = rekal("status", "--json").json["sources"]
    return dict(source["drift"])


@pytest.mark.parametrize("store", [name for name in STORES if name not in MARKED])
def test_a_message_inside_an_unknown_element_is_no_persons(rekal: Rekal, home: Path, store: str) -> None:
    note = "<host-note kind='x'>The host says that the tests passed.</host-note>"
    rounds = [
        Round("Why is it slow?", rekal.root / "a.py", "a line here\n", "Because."),
        Round(note, rekal.root / "b.py", "another line\n", "Noted."),
        Round("Look at <host-note>this</host-note> please", rekal.root / "c.py", "a third line\n", "Yes."),
    ]
    STORES[store](Conversation(home, rekal.root, "wrapped", rounds))
    assert rekal("checkpoint").code == 0
    found = rekal("query", "--json", "SELECT content FROM turns WHERE role IN ('human', 'steering') ORDER BY seq")
    assert [row[0] for row in found.json["rows"]] == [rounds[0].asked, rounds[2].asked]
    if store != "claude":  # its clients' elements are so many that they are no news
        assert _drift(rekal) == {"prompt in <host-note>": 1}


@pytest.mark.parametrize("store", WORDS)
def test_words_under_another_name_are_missed_aloud(rekal: Rekal, home: Path, store: str) -> None:
    rounds = [Round("What is new?", rekal.root / "a.py", "a line here\n", "Everything.")]
    before = {path for path in home.rglob("*") if path.is_file()}
    STORES[store](Conversation(home, rekal.root, "renamed", rounds))
    for path in home.rglob("*"):
        if path.is_file() and path not in before:
            data = path.read_bytes()
            for spaced in (WORDS[store], WORDS[store].replace(b":", b": ")):
                data = data.replace(spaced, spaced.replace(b'"', b'"new_', 1))
            path.write_bytes(data)
    assert rekal("checkpoint").code == 0
    assert rekal("query", "--json", "SELECT content FROM turns WHERE role = 'human'").json["rows"] == []
    (source,) = rekal("status", "--json").json["sources"]
    assert sum(source["drift"].values()) + source["unreadable"] >= 1


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("<task-note>x</task-note>", "task-note"),
        (" <EnvironmentContext a='b'>\nx\n</EnvironmentContext>\n", "EnvironmentContext"),
        ("<user_info>x</user_info>", "user_info"),
        ("<div>x</div>", None),
        ("<task-note>x</task-note> and why?", None),
        ("fix <task-note>x</task-note>", None),
        ("<task-note>x</other-note>", None),
        ("List<String>", None),
        ("", None),
    ],
)
def test_wrappers_are_told_from_what_is_typed(text: str, name: str | None) -> None:
    assert find_wrapper(text) == name
