"""Where Claude Code's transcripts are looked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rekal.agents.claude.adapter import ADAPTER, Narrowing, config_directories, encode_directory, session_above
from rekal.agents.contract import Where
from rekal.errors import SourceError

ROOT = Path("/home/me/my_app")


@pytest.mark.parametrize(
    ("path", "folder"),
    [
        ("/home/me/a.b", "-home-me-a-b"),
        ("C:\\Users\\x", "c--users-x"),
        ("/w/a_b c@d-e", "-w-a-b-c-d-e"),
        ("/w/é", "-w--"),
        ("/w/\U0001f600", "-w---"),
    ],
)
def test_encoded(path: str, folder: str) -> None:
    assert encode_directory(path) == folder


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("-home-me-my-app", True),
        ("-home-me-my-app-src-deep", True),
        ("-home-me-my-app--claude-worktrees-fix", True),
        ("-home-me", True),
        ("-", True),
        ("-HOME-me-My-App", True),
        ("-home-me-my-app2", False),
        ("-home-me-other", False),
        ("-home-you", False),
    ],
)
def test_narrowing(folder: str, expected: bool) -> None:
    assert Narrowing((ROOT,)).admits(folder) is expected


def test_long_paths_are_cut_and_end_in_a_hash() -> None:
    deep = Path("/w/" + "d" * 250)
    narrowing = Narrowing((deep,))
    assert narrowing.admits(encode_directory(str(deep)) + "-1x2y3z")
    assert not narrowing.admits("-w-" + "e" * 197 + "-1x2y3z")
    root = Path("/w/" + "d" * 190)
    assert Narrowing((root,)).admits(encode_directory(str(root / ("e" * 40))) + "-abc")


def test_configuration_directories() -> None:
    home = Path("/home/me")
    plain = Where(home, (ROOT,), {"XDG_CONFIG_HOME": "/elsewhere"})
    assert config_directories(plain) == [home / ".claude", home / ".config" / "claude"]
    assert config_directories(Where(home, (ROOT,), {"CLAUDE_CONFIG_DIR": "/opt/c"})) == [Path("/opt/c")]
    assert config_directories(Where(home, (ROOT,), {"CLAUDE_CONFIG_DIR": "~/c"})) == [home / "c"]
    assert config_directories(Where(home, (ROOT,), {"CLAUDE_CONFIG_DIR": " "})) == config_directories(plain)


def test_discover(tmp_path: Path) -> None:
    projects = tmp_path / ".claude" / "projects"
    wanted = [
        "-home-me/s0.jsonl",
        "-home-me-my-app/agent-old.jsonl",
        "-home-me-my-app/s1.jsonl",
        "-home-me-my-app/s1/subagents/agent-a.jsonl",
        "-home-me-my-app/s1/subagents/workflows/w/agent-b.jsonl",
        "-home-me-my-app-src/s2.jsonl",
    ]
    others = [
        "-home-me-my-app/sessions-index.json",
        "-home-me-my-app/memory/notes.md",
        "-home-me-my-app/s1/tool-results/x.jsonl",
        "-home-me-my-app/s1/subagents/agent-a.meta.json",
        "-home-me-my-app/s1/subagents/workflows/w/journal.jsonl",
        "-home-me-other/s3.jsonl",
    ]
    for name in wanted + others:
        (projects / name).parent.mkdir(parents=True, exist_ok=True)
        (projects / name).write_text("{}\n", encoding="utf-8")
    (tmp_path / ".claude" / "history.jsonl").write_text("{}\n", encoding="utf-8")
    found = list(ADAPTER.discover(Where(tmp_path, (ROOT,))))
    assert sorted(str(source.path.relative_to(projects)) for source in found) == sorted(wanted)
    assert [source.key for source in found] == [source.key for source in ADAPTER.discover(Where(tmp_path, (ROOT,)))]
    session = str(projects / "-home-me-my-app/s1.jsonl")
    parents = {source.path.name: source.parent_key for source in found}
    assert parents["agent-a.jsonl"] == parents["agent-b.jsonl"] == session
    assert parents["agent-old.jsonl"] is parents["s1.jsonl"] is None
    places = [source.key for source in found]
    assert places.index(session) < places.index(str(projects / wanted[3]))
    assert all(source.size == 3 and source.mtime_ns > 0 for source in found)


@pytest.mark.parametrize("closed", ["projects", "projects/-home-me-my-app"])
def test_a_folder_that_cannot_be_listed_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, closed: str) -> None:
    folder = tmp_path / ".claude/projects/-home-me-my-app"
    folder.mkdir(parents=True)
    listing = Path.iterdir

    def refuse(path: Path) -> Iterator[Path]:
        if path == tmp_path / ".claude" / closed:
            raise PermissionError(13, "Permission denied")
        return iter(list(listing(path)))

    monkeypatch.setattr(Path, "iterdir", refuse)
    where = Where(tmp_path, (ROOT,))
    (source,) = ADAPTER.discover(where)
    assert source.path == tmp_path / ".claude" / closed
    with pytest.raises(SourceError, match="cannot be read"):
        ADAPTER.parse(source, None, where)


def test_session_above() -> None:
    assert session_above(Path("/p/s1/subagents/agent-a.jsonl")) == "s1"
    assert session_above(Path("/p/s1/subagents/workflows/w/agent-a.jsonl")) == "s1"
    assert session_above(Path("/p/agent-a.jsonl")) is None
    assert session_above(Path("subagents/agent-a.jsonl")) is None
