"""A person's terminal: colour and pager as git decides, lines that fit, local times; and plain lines elsewhere."""

from __future__ import annotations

import os
import pty
import re
import select
import subprocess
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rekal.cli.look import LOOK, Appearance
from rekal.cli.main import take_look_options
from rekal.cli.terminal import find_pager, measure_width, paint_line, wants_color, wrap_line
from rekal.errors import UsageError
from tests.conftest import git
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession
from tests.support.installed_rekal import REKAL

QUESTION = "Why should the retry queue live in Postgres and not in Redis, where all of our other queues are?"


@pytest.fixture
def asked(rekal: Rekal) -> Rekal:
    """A store with one session."""
    session = ClaudeSession(rekal.home, rekal.root, "one")
    session.human(QUESTION)
    session.says("It survives a restart there, and nobody has to run one more service for it.")
    assert rekal("checkpoint").code == 0
    return rekal


def at_terminal(root: Path, *words: str, columns: int = 60, **more: str) -> str:
    """What the installed program shows on a terminal of so many columns."""
    leader, follower = pty.openpty()
    env = {**os.environ, "TERM": "xterm", "COLUMNS": str(columns), "PAGER": "cat", **more}
    with subprocess.Popen([REKAL, *words], cwd=root, env=env, stdin=follower, stdout=follower, stderr=follower) as run:
        os.close(follower)
        shown = b""
        while select.select([leader], [], [], 60)[0]:
            try:
                part = os.read(leader, 65536)
            except OSError:  # the other side was closed
                break
            if not part:
                break
            shown += part
        run.wait(timeout=60)
    os.close(leader)
    return shown.decode().replace("\r\n", "\n")


def without_color(text: str) -> str:
    return re.sub(r"\x1b\[\d*m", "", text)


@given(st.text(alphabet="ab 語é|  ", max_size=200), st.integers(20, 80))
def test_wrapping_loses_nothing_but_spaces_and_fits(line: str, width: int) -> None:
    parts = wrap_line(line, width)
    assert "".join("".join(parts).replace("|", "").split()) == "".join(line.replace("|", "").split())
    assert all(measure_width(part) <= width for part in parts)


def test_what_goes_on_hangs_further_in() -> None:
    assert wrap_line("  one two three four five six", 20) == ["  one two three four", "      five six"]


def test_quoted_text_stays_behind_its_gutter() -> None:
    parts = wrap_line("    | one two three four five six", 22)
    assert len(parts) == 2 and all(part.startswith("    | ") for part in parts)


@pytest.mark.parametrize(
    ("look", "settings", "env", "colored"),
    [
        ("auto", {}, {}, True),
        ("auto", {}, {"NO_COLOR": "1"}, False),
        ("auto", {}, {"TERM": "dumb"}, False),
        ("auto", {"color.ui": "false"}, {}, False),
        ("auto", {"color.ui": "false", "color.rekal": "auto"}, {}, True),
        ("always", {"color.ui": "false"}, {"NO_COLOR": "1"}, True),
        ("never", {"color.ui": "always"}, {}, False),
    ],
)
def test_colour_is_decided_as_in_git(
    look: str, settings: dict[str, str], env: dict[str, str], colored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in {"TERM": "xterm", "NO_COLOR": "", **env}.items():
        monkeypatch.setenv(name, value)
    assert wants_color(Appearance(color=look), settings, terminal=True) is colored


@pytest.mark.parametrize(
    ("env", "settings", "pager"),
    [
        ({}, {}, "less"),
        ({"PAGER": "more"}, {}, "more"),
        ({"PAGER": "more"}, {"core.pager": "less -S"}, "less -S"),
        ({"GIT_PAGER": "more", "PAGER": "less"}, {"core.pager": "less -S"}, "more"),
        ({"GIT_PAGER": ""}, {"core.pager": "less"}, None),
        ({"PAGER": "cat"}, {}, None),
        ({}, {"pager.rekal": "false"}, None),
        ({"TERM": "dumb"}, {}, None),
        ({"PAGER": "no-such-pager"}, {}, None),
    ],
)
def test_the_pager_is_found_as_git_finds_it(
    env: dict[str, str], settings: dict[str, str], pager: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda name: None if name == "no-such-pager" else name)
    for name in ("GIT_PAGER", "PAGER"):
        monkeypatch.delenv(name, raising=False)
    for name, value in {"TERM": "xterm", **env}.items():
        monkeypatch.setenv(name, value)
    assert find_pager(Appearance(), settings) == pager
    assert find_pager(Appearance(pager=False), settings) is None


def test_handles_days_and_verdicts_are_painted_and_words_are_not() -> None:
    assert paint_line("INJECT support=1.00").startswith("\x1b[32mINJECT\x1b[m ")
    painted = paint_line("  1p6maxv455:0  2026-12-01  Ada  on 2026-12-01 INJECT")
    assert painted.count("\x1b[3") == 2 and without_color(painted).endswith("on 2026-12-01 INJECT")


def test_options_of_the_look_are_taken_wherever_they_stand() -> None:
    assert take_look_options(["--no-pager", "log", "--color=never", "--utc", "--", "--utc"]) == ["log", "--", "--utc"]
    assert LOOK.get() == Appearance("never", False, True)
    with pytest.raises(UsageError, match="red"):
        take_look_options(["log", "--color=red"])


def test_a_terminal_gets_colour_and_lines_that_fit(asked: Rekal) -> None:
    shown = at_terminal(asked.root, "sessions", columns=50)
    assert "\x1b[33m" in shown
    assert all(len(line) <= 50 for line in without_color(shown).splitlines())
    assert " ".join(without_color(shown).split()).count("Why should the retry queue live in Postgres") == 1


def test_nothing_of_it_reaches_a_pipe_unless_it_is_asked_for(asked: Rekal) -> None:
    plain = asked("sessions").out
    assert "\x1b" not in plain and QUESTION[:60] in plain
    assert without_color(asked("--color=always", "sessions").out) == plain
    assert "\x1b[33m" in asked("sessions", "--color=always").out
    assert "\x1b" not in asked("sessions", "--json", "--color=always").out


def test_the_pager_gets_a_listing_and_a_recall_is_not_paged(asked: Rekal) -> None:
    pager = "sed s/^/paged:/"
    assert "paged:" in at_terminal(asked.root, "sessions", PAGER=pager)
    assert "paged:" not in at_terminal(asked.root, "sessions", "--no-pager", PAGER=pager)
    assert "paged:" not in at_terminal(asked.root, "recall", "why is the retry queue in postgres", PAGER=pager)
    git(asked.root, "config", "core.pager", "sed s/^/gits:/")
    assert "gits:" in at_terminal(asked.root, "sessions", PAGER=pager)


def test_a_pager_that_is_left_early_is_no_error(asked: Rekal) -> None:
    assert "Error" not in at_terminal(asked.root, "sessions", PAGER="head -1")
    assert "rror" not in at_terminal(asked.root, "sessions", PAGER="true")


def test_times_are_the_user_s_own_and_say_so(asked: Rekal, monkeypatch: pytest.MonkeyPatch) -> None:
    handle = asked("sessions").out.split()[0]
    tokyo = {"TZ": "Asia/Tokyo"}
    shown = at_terminal(asked.root, "show", handle, columns=200, **tokyo)
    assert "+0900 human:" in without_color(shown)
    assert "+0000 human:" in without_color(at_terminal(asked.root, "show", handle, "--utc", columns=200, **tokyo))
