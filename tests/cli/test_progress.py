"""Whoever waits longer than a second at a terminal reads what for, and the line is gone before the answer comes."""

from __future__ import annotations

import io
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from rekal.app import explain_lines, read_ledger, report_range
from rekal.cli import progress
from tests.support.app import Rekal

TIMEOUT = 20.0


class Terminal(io.StringIO):
    """A stderr that is a terminal, and says when something is written."""

    def __init__(self) -> None:
        super().__init__()
        self.written = threading.Event()

    def isatty(self) -> bool:
        return True

    def write(self, text: str) -> int:
        done = super().write(text)
        self.written.set()
        return done


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch) -> Terminal:
    shown = Terminal()
    monkeypatch.setattr(progress, "_FIRST", 0.0)
    monkeypatch.setattr(progress, "sys", SimpleNamespace(stderr=shown))  # pytest puts its own stderr back
    monkeypatch.setenv("TERM", "xterm")
    return shown


@pytest.mark.parametrize(
    ("place", "name", "verb", "said"),
    [
        (report_range, "report_range", ["report", "HEAD~1..HEAD"], "reading commits"),
        (explain_lines, "explain_target", ["why", "a.py:1"], "looking for who wrote it"),
        (read_ledger, "read_log", ["log"], "reading commits"),
        (read_ledger, "find_text", ["find", "queue"], "looking through the turns"),
    ],
)
def test_verbs_that_may_take_long_say_what_they_do(
    rekal: Rekal, terminal: Terminal, monkeypatch: pytest.MonkeyPatch, place: Any, name: str, verb: list[str], said: str
) -> None:
    def take_long(*_args: object) -> None:
        assert terminal.written.wait(TIMEOUT), "nothing was shown"
        raise KeyboardInterrupt

    monkeypatch.setattr(place, name, take_long)
    rekal(*verb)
    shown = terminal.getvalue()
    assert shown.startswith(f"\r{said}")
    assert f"\r{'':60}\r" in shown  # taken away, before anything else is said


@pytest.mark.parametrize("term", ["dumb", "xterm"])
def test_nothing_is_shown_on_a_dumb_terminal(terminal: Terminal, monkeypatch: pytest.MonkeyPatch, term: str) -> None:
    monkeypatch.setenv("TERM", term)
    with progress.show_work("counting", thread=False) as work:
        work._last -= 1.0  # a second ago
        work.count(3, 4000)
    assert ("counting 3 of 4,000" in terminal.getvalue()) == (term != "dumb")
