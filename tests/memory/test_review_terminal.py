"""`rekal review` at a terminal: a key for each memory that waits."""

from __future__ import annotations

import sys
from collections.abc import Callable

import click
import pytest

from tests.support.app import Rekal

Script = Callable[..., str]


@pytest.fixture
def waiting(rekal: Rekal, monkeypatch: pytest.MonkeyPatch) -> Callable[..., list[str]]:
    """Let an agent propose memories; their ids."""

    def propose(*calls: tuple[str, ...]) -> list[str]:
        monkeypatch.setenv("CLAUDECODE", "1")
        made = [rekal(*call, "--json").json["memory"]["id"] for call in calls]
        monkeypatch.delenv("CLAUDECODE")
        return made

    return propose


@pytest.fixture
def terminal(rekal: Rekal, monkeypatch: pytest.MonkeyPatch) -> Script:
    """Run review with keys pressed, and lines typed where it asks."""

    def run(keys: str, *lines: str) -> str:
        pressed, typed = iter(keys), iter(lines)
        monkeypatch.setattr(sys, "stdin", _Terminal())
        monkeypatch.setattr(click, "getchar", lambda: next(pressed))
        monkeypatch.setattr("rekal.cli.verbs.memory.review.ask_for", lambda question, default=None: next(typed))
        done = rekal("review")
        assert done.code == 0, done.err
        assert (list(pressed), list(typed)) == ([], []), "it asked for less than was scripted"
        return done.out + done.err

    return run


class _Terminal:
    def isatty(self) -> bool:
        return True


def _states(rekal: Rekal) -> dict[str, tuple[str, str]]:
    listed = rekal("memories", "--state", "all", "--json").json["memories"]
    return {one["id"]: (one["state"], one["text"]) for one in listed}


def test_each_key_does_what_it_says(rekal: Rekal, waiting: Callable[..., list[str]], terminal: Script) -> None:
    rekal("decide", "invoices are kept for ten years")
    (kept,) = _states(rekal)
    accepted, rejected, edited, merged, skipped = waiting(
        ("remember", "the office closes at six"),
        ("decide", "the cache never expires"),
        ("decide", "jobs live in Postgers"),
        ("remember", "old bills stay a decade"),
        ("remember", "lunch is at noon"),
    )
    out = terminal("ar?emms", "it grew without end", "jobs live in Postgres", "zzzz", kept)
    assert "no memory zzzz" in out
    states = _states(rekal)
    assert states[accepted][0] == "accepted"
    assert states[rejected][0] == "rejected"
    assert states[edited] == ("accepted", "jobs live in Postgres")
    assert states[merged][0] == "superseded"
    assert states[skipped][0] == "proposed"
    assert states[kept][0] == "accepted"
    assert [one["kind"] for one in rekal("history", edited, "--json").json["events"]] == ["assert", "amend", "accept"]


def test_quitting_leaves_the_rest_as_it_is(rekal: Rekal, waiting: Callable[..., list[str]], terminal: Script) -> None:
    made = waiting(("remember", "the office closes at six"), ("remember", "lunch is at noon"))
    terminal("q")
    assert {_states(rekal)[one][0] for one in made} == {"proposed"}


def test_patterns_are_tried_before_they_are_accepted(
    rekal: Rekal, waiting: Callable[..., list[str]], terminal: Script
) -> None:
    (rule,) = waiting(("rule-out", "Redis as a queue", "--when", "import redis", "--hits", "import redis here"))
    near = ("remove the queue", "write the notes")
    out = terminal("aa", "use nothing", *near, "add import redis", *near)
    assert "the patterns miss 'use nothing'" in out
    assert _states(rekal)[rule][0] == "accepted"
