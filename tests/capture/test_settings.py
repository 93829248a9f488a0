"""What the settings about capturing do, from the file to the store."""

from __future__ import annotations

from pathlib import Path

import pytest

from rekal.config import HELP
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession


def captured(rekal: Rekal, sql: str = "SELECT content FROM turns WHERE role = 'human' ORDER BY ALL") -> list[str]:
    done = rekal("checkpoint", "--json")
    assert (done.code, done.json["warnings"]) == (0, []), done.err
    return [row[0] for row in rekal("query", "--json", sql).json["rows"]]


def settings(rekal: Rekal, text: str) -> None:
    rekal.layout.own_config.write_text(text, encoding="utf-8")


def own(home: Path, text: str) -> Path:
    """The user's own settings; XDG_CONFIG_HOME is the home directory in the tests."""
    path = home / "rekal" / "config.yml"
    path.parent.mkdir(exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize("text", ["enabled: false\n", '{"enabled": false}\n', '{"enabled": false, # comment\n}\n'])
def test_settings_are_yaml_of_which_json_is_a_part(rekal: Rekal, text: str) -> None:
    settings(rekal, text)
    (enabled,) = (one for one in rekal("config", "--json").json["settings"] if one["key"] == "enabled")
    assert enabled["value"] is False


def test_excluded_paths_branches_and_sessions(rekal: Rekal, home: Path) -> None:
    (rekal.root / "vendor").mkdir()
    ClaudeSession(home, rekal.root, "kept").human("kept")
    ClaudeSession(home, rekal.root, "branch", branch="tmp/try").human("on an excluded branch")
    ClaudeSession(home, rekal.root / "vendor", "vendor").human("begun in an excluded directory")
    secret = ClaudeSession(home, rekal.root, "secret").human("an excluded session")
    settings(
        rekal, f"capture: {{exclude: {{paths: [vendor], branches: ['tmp/*'], sessions: ['{secret.session_id[:8]}*']}}}}"
    )
    assert captured(rekal) == ["kept"]


def test_calls_on_excluded_paths_are_left_out(rekal: Rekal, home: Path) -> None:
    session = ClaudeSession(home, rekal.root).human("Edit both")
    session.edits(rekal.root / "vendor/x.py", "a line of x").edits(rekal.root / "own.py", "a line of own")
    settings(rekal, "capture: {exclude: {paths: ['vendor/*']}}")
    assert captured(rekal, "SELECT path FROM tool_calls") == ["own.py"]
    assert captured(rekal, "SELECT path FROM edits") == ["own.py"]


@pytest.mark.parametrize(("value", "kept"), [("errors", ["no rule to make it"]), ("none", [None])])
def test_tool_output(rekal: Rekal, home: Path, value: str, kept: list[str | None]) -> None:
    ClaudeSession(home, rekal.root).human("Build").runs("make", "no rule to make it", error=True)
    settings(rekal, f"capture: {{tool_output: {value}}}")
    assert captured(rekal, "SELECT excerpt FROM tool_calls") == kept


def test_the_repositorys_file_beats_the_users(rekal: Rekal, home: Path) -> None:
    file = own(home, "capture: {agents: [codex], tool_output: none}\n")
    settings(rekal, "capture: {agents: [claude]}\n")
    ClaudeSession(home, rekal.root).human("Build").runs("make", "no rule", error=True)
    assert captured(rekal, "SELECT excerpt FROM tool_calls") == [None]
    shown = {one["key"]: one["value"] for one in rekal("config", "--json").json["settings"]}
    assert (shown["capture.agents"], shown["capture.tool_output"]) == (["claude"], "none")
    assert rekal("config", "--json").json["files"] == [str(file), str(rekal.layout.own_config)]


def test_every_key_is_explained_with_its_value(rekal: Rekal) -> None:
    out = rekal("config").out
    for key, text in HELP.items():
        assert f"{key}:" in out and text in out
        assert rekal("config", key).out.splitlines()[1].strip() == text


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("capture: {tool_output: all}", ("capture.tool_output", "all")),
        ("capture: {agents: claude}", ("capture.agents", "array")),
        ("capture: {exclude: {paths: [1]}}", ("capture.exclude.paths", "str")),
        ("enabled: sometimes", ("enabled", "bool")),
        ("capture: {agents: [claud]}", ("claud", "claude")),
    ],
)
def test_a_wrong_value_is_named_with_its_file_and_what_would_be_right(
    rekal: Rekal, text: str, words: tuple[str, str]
) -> None:
    settings(rekal, text + "\n")
    done = rekal("checkpoint")
    assert (done.code, len(done.err.splitlines())) == (2, 1)
    said = done.err.replace("$.", "")
    assert all(word in said for word in words), done.err
    assert "claud]" in text or "config.yml" in done.err


def test_an_unknown_key_is_said_with_the_one_that_was_meant(rekal: Rekal) -> None:
    settings(rekal, "capture: {tool_outputs: none}\n")
    assert "did you mean capture.tool_output?" in rekal("config").err
    assert any("tool_outputs" in problem for problem in rekal("status", "--json").json["problems"])
