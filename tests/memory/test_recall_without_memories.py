"""Where there are no memories recall is as if there were no such thing, and so it is where none bears on a question."""

from __future__ import annotations

import sys

import pytest

from tests.support.app import Rekal
from tests.support.claude import ClaudeSession

ASKED = ("why is the job queue in postgres", "what did we decide about tls certificates", "queue", "--explain queue")


@pytest.fixture
def captured(rekal: Rekal) -> Rekal:
    session = ClaudeSession(rekal.home, rekal.root, "queue")
    session.human("Jobs get lost when the worker restarts. Make the job queue durable.")
    session.says("The job queue lives in postgres now, because redis loses what it did not write.")
    rekal("checkpoint")
    rekal("index")
    return rekal


def _answers(rekal: Rekal) -> list[tuple[int, str, str]]:
    ran = [rekal("recall", *form, asked) for asked in ASKED for form in ((), ("--json",))]
    return [(one.code, one.out, one.err) for one in ran]


def test_no_code_of_memories_runs(captured: Rekal, monkeypatch: pytest.MonkeyPatch) -> None:
    before = _answers(captured)
    assert before[0][0] == 0
    for name in ("rekal.app.memory_recall", "rekal.memory.rank", "rekal.memory.grounds"):
        monkeypatch.setitem(sys.modules, name, None)  # importing it fails
    assert _answers(captured) == before
    assert all("memories" not in out for _, out, _ in before)


def test_memories_about_something_else_change_no_byte(captured: Rekal) -> None:
    before = _answers(captured)
    made = captured("decide", "invoices are printed on yellow paper", "--json").json["memory"]["id"]
    assert _answers(captured) == before
    assert captured("forget", made, "--yes").code == 0
    assert _answers(captured) == before
