"""Conversations of directories that are gone are read where commits tie them to this repository, and only there."""

from __future__ import annotations

import shutil
from datetime import timedelta
from pathlib import Path

import pytest

from tests.capture.test_link import commit, work
from tests.conftest import git
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession
from tests.support.conversations import START, STORES, Conversation, Round, moment


def _prompts(rekal: Rekal) -> list[str]:
    return [row[0] for row in rekal("query", "--json", "SELECT content FROM turns WHERE role = 'human'").json["rows"]]


def _talk(home: Path, cwd: Path, prompt: str, file: str, text: str) -> Conversation:
    return Conversation(home, cwd, prompt, [Round(prompt, cwd / file, text, "Done.")])


@pytest.fixture(autouse=True)
def _own_home(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name)


@pytest.mark.parametrize("store", STORES)
def test_sessions_of_a_removed_work_tree_are_found(rekal: Rekal, home: Path, store: str) -> None:
    commit(rekal.root, START - timedelta(days=1), "first", "--allow-empty")
    side = rekal.root.parent / "side"
    git(rekal.root, "worktree", "add", "-q", "-b", "side", str(side))
    text = "class Breaker:\n    limit = 3\n"
    work(side, "src/breaker.py", text)
    commit(side, moment(0, 120), "breaker")
    STORES[store](_talk(home, side, "Why does the pump need a breaker?", "src/breaker.py", text))
    git(rekal.root, "merge", "-q", "side")
    git(rekal.root, "worktree", "remove", "--force", str(side))
    assert rekal("checkpoint", "--since", "3650d").code == 0
    assert _prompts(rekal) == ["Why does the pump need a breaker?"]
    edits = rekal("query", "--json", "SELECT path FROM edits").json["rows"]
    assert edits == [["src/breaker.py"]]
    assert "Why does the pump need a breaker?" in rekal("why", "src/breaker.py:1").out


def test_a_moved_repository_keeps_its_sessions_and_finds_new_ones(
    rekal: Rekal, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = rekal.root
    commit(old, START, "first", "--allow-empty")
    assert rekal("checkpoint").code == 0
    ClaudeSession(home, old, "late", start=START).human("Said before the move, read after it").says("Yes.")
    new = old.parent / "renamed"
    old.rename(new)
    moved = Rekal(new, home, capsys)
    assert moved("checkpoint").code == 0
    assert _prompts(moved) == ["Said before the move, read after it"]
    assert moved("checkpoint", "--json").json["sessions"] == 0


def test_a_place_that_another_repository_took_is_not_ours_any_more(
    rekal: Rekal, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    old = rekal.root
    commit(old, START, "first", "--allow-empty")
    assert rekal("checkpoint").code == 0
    new = old.parent / "renamed"
    old.rename(new)
    git(old.parent, "init", "-q", str(old))
    ClaudeSession(home, old, "other", start=START).human("A secret of another project").says("Yes.")
    moved = Rekal(new, home, capsys)
    assert moved("checkpoint", "--since", "3650d").code == 0
    assert _prompts(moved) == []


def test_a_gone_directory_of_another_project_stays_out(rekal: Rekal, home: Path) -> None:
    licence = "Permission is hereby granted\nfree of charge\n"
    work(rekal.root, "LICENSE", licence)
    work(rekal.root, "main.py", "alpha line of code\nbeta line of code\ngamma line of code\n")
    commit(rekal.root, moment(0, 120), "first")
    for name in ("other", "rekal-copy"):
        gone = rekal.root.parent / name
        rounds = [
            Round(f"Secret of {name}", gone / "LICENSE", licence, "Done."),
            Round("Go on", gone / "main.py", "one other line\ntwo other lines\nthree other lines\n", "Done."),
        ]
        STORES["claude"](Conversation(home, gone, name, rounds))
    assert rekal("checkpoint", "--since", "3650d").code == 0
    assert _prompts(rekal) == []


def test_the_same_lines_of_another_time_prove_nothing(rekal: Rekal, home: Path) -> None:
    text = "alpha line of code\nbeta line of code\n"
    work(rekal.root, "main.py", text)
    commit(rekal.root, START + timedelta(days=90), "first")
    STORES["claude"](_talk(home, rekal.root.parent / "other", "Long before", "main.py", text))
    assert rekal("checkpoint", "--since", "3650d").code == 0
    assert _prompts(rekal) == []


def test_a_gone_directory_inside_another_repository_is_that_ones(rekal: Rekal, home: Path) -> None:
    text = "alpha line of code\nbeta line of code\n"
    work(rekal.root, "main.py", text)
    commit(rekal.root, moment(0, 120), "first")
    other = rekal.root.parent / "other"
    git(rekal.root.parent, "init", "-q", str(other))
    STORES["claude"](_talk(home, other / "gone", "Inside another one", "main.py", text))
    assert rekal("checkpoint", "--since", "3650d").code == 0
    assert _prompts(rekal) == []


def test_a_session_filed_under_another_directory_is_found_and_followed(rekal: Rekal, home: Path) -> None:
    commit(rekal.root, START, "first", "--allow-empty")
    elsewhere = rekal.root.parent / "elsewhere"
    elsewhere.mkdir()
    session = ClaudeSession(home, elsewhere, "one", start=START)
    session.cwd = str(rekal.root)
    session.human("Begun elsewhere").says("Yes.")
    assert rekal("checkpoint").code == 0
    assert _prompts(rekal) == []
    assert rekal("checkpoint", "--since", "3650d").code == 0
    assert _prompts(rekal) == ["Begun elsewhere"]
    session.human("And gone on with").says("Yes.")
    assert rekal("checkpoint").code == 0
    assert sorted(_prompts(rekal)) == ["And gone on with", "Begun elsewhere"]
    shutil.rmtree(session.path.parent)
    assert rekal("checkpoint").code == 0
