"""Entries in the settings of agents' hosts go in and come out byte for byte, whatever else the files hold."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekal.errors import Refused
from rekal.git import find_repo
from rekal.install.host_hooks import HOSTS, entries_for, hosts_state, turn_off, turn_on
from rekal.install.json_text import add_entries, apply_inserts, is_json, read_json, remove_inserts
from tests.support.app import Rekal

EXE = Path("/usr/bin/rekal")
JSON_HOSTS = sorted(set(HOSTS) - {"opencode"})
TEXTS = {
    "empty object": "{}",
    "other settings": '{\n  "model": "x",\n  "permissions": {"allow": ["Bash(ls:*)"]}\n}\n',
    "other hooks": json.dumps(
        {"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "x"}]}]}}, indent=4
    ),
    "comments": '// mine\n{\n  /* why */ "hooks": {\n    // none yet\n  },\n}\n',
    "trailing commas": '{\n\t"hooks": {\n\t\t"SessionStart": [\n\t\t\t{"hooks": [],},\n\t\t],\n\t},\n}\n',
    "CRLF": '{\r\n  "hooks": {\r\n    "UserPromptSubmit": []\r\n  },\r\n  "a": 1\r\n}\r\n',
    "one line, no end": '{"a":{"hooks":{"SessionStart":[]}},"hooks":{"Stop":[1]}}',
    "byte order mark": '\ufeff{"a": 1}\n',
    "braces in strings": '{"a": "}{ \\" // no comment", "hooks": {"SessionStart": ["]"]}}\n',
    "nothing but space": " \n",
}


@pytest.mark.parametrize("name", TEXTS)
@pytest.mark.parametrize("host", sorted(set(JSON_HOSTS) - {"kiro"}))  # whose file is rekal's own
def test_a_file_that_was_there_comes_back_byte_for_byte(rekal: Rekal, host: str, name: str) -> None:
    repo, path = find_repo(rekal.root), rekal.root / HOSTS[host].file
    path.parent.mkdir(parents=True, exist_ok=True)
    before = TEXTS[name].encode()
    path.write_bytes(before)
    assert turn_on(repo, [host], EXE) == ([HOSTS[host].file], [])
    held = read_json(path.read_text("utf-8").removeprefix("\ufeff"))
    for event in entries_for(HOSTS[host], EXE):
        assert "rekal hook" in json.dumps(held["hooks"][event])
    assert hosts_state(repo)[host] == "on"
    turn_off(repo)
    assert path.read_bytes() == before
    assert hosts_state(repo)[host] == "off"


@pytest.mark.parametrize("host", sorted(HOSTS))
def test_a_file_that_was_not_there_is_gone_again(rekal: Rekal, host: str) -> None:
    repo = find_repo(rekal.root)
    before = sorted(p.relative_to(rekal.root) for p in rekal.root.rglob("*") if ".rekal" not in p.parts)
    turn_on(repo, [host], EXE)
    assert (rekal.root / HOSTS[host].file).is_file()
    assert repo.ask("status", "--porcelain") == ""
    turn_off(repo)
    assert sorted(p.relative_to(rekal.root) for p in rekal.root.rglob("*") if ".rekal" not in p.parts) == before


@pytest.mark.parametrize("host", JSON_HOSTS)
def test_turning_on_twice_changes_nothing(rekal: Rekal, host: str) -> None:
    repo, path = find_repo(rekal.root), rekal.root / HOSTS[host].file
    turn_on(repo, [host], EXE)
    once = path.read_bytes()
    turn_on(repo, [host], EXE)
    assert path.read_bytes() == once


def test_what_somebody_added_since_stays(rekal: Rekal) -> None:
    repo, path = find_repo(rekal.root), rekal.root / HOSTS["claude"].file
    path.write_text('{\n  "model": "x"\n}\n', encoding="utf-8")
    turn_on(repo, ["claude"], EXE)
    path.write_text(path.read_text("utf-8").replace('"model": "x"', '"model": "y", // mine'), encoding="utf-8")
    turn_off(repo)
    assert path.read_text("utf-8") == '{\n  "model": "y", // mine\n}\n'


def test_a_file_that_its_program_wrote_anew_loses_our_entries_only(rekal: Rekal) -> None:
    repo, path = find_repo(rekal.root), rekal.root / HOSTS["claude"].file
    path.write_text('{"hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}}', encoding="utf-8")
    turn_on(repo, ["claude"], EXE)
    path.write_text(json.dumps(json.loads(path.read_text("utf-8")), indent=7), encoding="utf-8")
    assert hosts_state(repo)["claude"] == "changed"
    turn_off(repo)
    assert json.loads(path.read_text("utf-8")) == {
        "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "mine"}]}]}
    }


@pytest.mark.parametrize("text", ["[1]", "{", '{"hooks": 3}', '{"hooks": {"SessionStart": {}}}', "no json"])
def test_a_file_that_cannot_be_understood_is_left_alone(rekal: Rekal, text: str) -> None:
    repo, path = find_repo(rekal.root), rekal.root / HOSTS["claude"].file
    path.write_text(text, encoding="utf-8")
    done, notes = turn_on(repo, ["claude"], EXE)
    assert done == []
    assert len(notes) == 1
    assert path.read_text("utf-8") == text


def test_clean_takes_them_out(rekal: Rekal) -> None:
    path = rekal.root / HOSTS["gemini"].file
    path.parent.mkdir()
    path.write_text('{ "theme": "dark" } // keep', encoding="utf-8")
    assert rekal("inject", "on", "gemini", "opencode").code == 0
    assert "hook start --host gemini" in path.read_text("utf-8")
    assert rekal("clean", "--yes").code == 0
    assert path.read_text("utf-8") == '{ "theme": "dark" } // keep'
    assert not (rekal.root / ".opencode").exists()


def test_the_command_line_of_a_host_is_always_the_same() -> None:
    # Codex asks its user again when it changes, and some hosts drop a prompt whose hook fails.
    assert entries_for(HOSTS["codex"], EXE)["SessionStart"] == [
        {
            "hooks": [
                {
                    "type": "command",
                    "command": "/usr/bin/rekal hook start --host codex 2>/dev/null || exit 0",
                    "timeout": 5,
                }
            ]
        }
    ]


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=12,
)


@settings(max_examples=200, deadline=None)
@given(st.dictionaries(st.text(max_size=6), _VALUES, max_size=4), st.sampled_from([None, 0, 2, "\t"]), st.booleans())
def test_any_object_takes_an_entry_and_gives_it_back(value: dict[str, Any], indent: Any, crlf: bool) -> None:
    text = json.dumps(value, indent=indent)
    text = text.replace("\n", "\r\n") if crlf else text
    try:
        inserts = add_entries(text, ["hooks", "SessionStart"], [{"rekal": True}])
    except Refused:
        held = value.get("hooks")
        assert not isinstance(held, dict) or not isinstance(held.get("SessionStart", []), list)
        return
    after = apply_inserts(text, inserts)
    assert {"rekal": True} in json.loads(after)["hooks"]["SessionStart"]
    assert remove_inserts(after, inserts) == text


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet='{}[]",:/*\\ \n1a', max_size=30))
def test_no_text_breaks_the_reader(text: str) -> None:
    if is_json(text):
        try:
            read_json(text)
        except Refused:
            return
