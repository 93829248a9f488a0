"""`status` names files of an agent that are of this repository and of no kind that is known."""

from __future__ import annotations

import json
import os
import sqlite3
from pathlib import Path, PurePath, PurePosixPath, PureWindowsPath

import pytest

from rekal.capture.former_places import names_root
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession
from tests.support.conversations import STORES, Conversation, Round

PLACES = {
    "claude": ".claude/conversations/one.jsonl",
    "codex": ".codex/threads/one.jsonl",
    "copilot": ".copilot/chats/one.jsonl",
    "cursor": ".cursor/new-place/store.db",
    "gemini": ".gemini/sessions/one.json",
    "kiro": ".kiro/threads/one.jsonl",
    "opencode": ".local/share/opencode/next.db",
}
"""By agent: a file where no version so far has put one."""


@pytest.fixture(autouse=True)
def _own_home(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("XDG_CONFIG_HOME", "XDG_DATA_HOME"):
        monkeypatch.delenv(name)


def _unread(rekal: Rekal) -> list[str]:
    return [one for one in rekal("status", "--json").json["problems"] if "names this repository" in one]


def _put(path: Path, root: Path) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".db":
        with sqlite3.connect(path) as con:
            con.execute("CREATE TABLE talks (cwd TEXT)")
            con.execute("INSERT INTO talks VALUES (?)", [json.dumps({"cwd": str(root)})])
        con.close()
        return
    path.write_text(json.dumps({"directory": str(root), "said": "something"}) + "\n", encoding="utf-8")


@pytest.mark.parametrize("agent", PLACES)
def test_a_file_in_a_new_place_is_named(rekal: Rekal, home: Path, agent: str) -> None:
    path = home / PLACES[agent]
    _put(path, rekal.root)
    assert rekal("checkpoint").code == 0
    (line,) = _unread(rekal)
    assert line.startswith(f"{agent}: {path} ")
    assert f"! {line}" in rekal("status").out


@pytest.mark.parametrize("store", STORES)
def test_what_is_read_is_not_named(rekal: Rekal, home: Path, store: str) -> None:
    for cwd in (rekal.root, rekal.root.parent / "other"):
        cwd.mkdir(exist_ok=True)
        rounds = [Round(f"Look at {rekal.root}/a.py", cwd / "a.py", "a line here\n", "Done.")]
        STORES[store](Conversation(home, cwd, cwd.name, rounds))
    assert rekal("checkpoint").code == 0
    assert _unread(rekal) == []


def test_an_older_file_and_one_of_another_repository_are_not_named(rekal: Rekal, home: Path) -> None:
    ClaudeSession(home, rekal.root, "one").human("Hello").says("Yes.")
    assert rekal("checkpoint").code == 0
    _put(home / ".claude/conversations/one.jsonl", rekal.root)
    os.utime(home / ".claude/conversations/one.jsonl", (10**9, 10**9))
    _put(home / ".claude/conversations/two.jsonl", rekal.root.parent / "another")
    _put(home / ".claude/settings.json", rekal.root)
    assert _unread(rekal) == []


@pytest.mark.parametrize(
    ("root", "inside", "beside"),
    [
        (PurePosixPath("/w/app"), "/w/app/src", "/w/app2"),
        (PureWindowsPath("C:\\w\\app"), "C:\\w\\app\\src", "C:\\w\\app2"),
        (PureWindowsPath("\\\\server\\share\\app"), "\\\\server\\share\\app", "\\\\server\\share\\apple"),
    ],
)
def test_a_root_is_found_as_json_spells_it(tmp_path: Path, root: PurePath, inside: str, beside: str) -> None:
    path = tmp_path / "one.jsonl"
    for directory, named in ((inside, True), (beside, False), (str(root), True)):
        path.write_text(json.dumps({"cwd": directory}), encoding="utf-8")
        assert names_root(path, [root], 1000) is named
        assert not names_root(path, [root], 5)
