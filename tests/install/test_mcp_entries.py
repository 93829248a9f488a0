"""The server's entry goes into the project files of agents' hosts and comes out byte for byte, beside hooks or not."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from rekal.git import Repo, find_repo
from rekal.install import host_hooks
from rekal.install.json_text import read_json
from rekal.install.mcp_entries import MCP_PLACES, write_servers
from tests.support.app import Rekal

EXE = Path("/usr/bin/rekal")
TEXTS = {
    "empty object": "{}",
    "other servers": '{\n  "mcpServers": {"x": {"command": "x"}},\n  "servers": {},\n  "mcp": {"y": {}}\n}\n',
    "comments": '// mine\n{\n  /* why */ "mcpServers": {\n    // none yet\n  },\n}\n',
    "trailing commas": '{\n\t"mcpServers": {\n\t\t"x": {"args": ["a",],},\n\t},\n}\n',
    "CRLF": '{\r\n  "mcpServers": {\r\n    "x": {}\r\n  },\r\n  "a": 1\r\n}\r\n',
    "hooks": '{"hooks": {"SessionStart": [{"hooks": [{"type": "command", "command": "x"}]}]}}',
    "byte order mark": '\ufeff{"a": 1}\n',
    "nothing but space": " \n",
}
TOML = {
    "empty": "",
    "others": '# mine\nmodel = "x"\n\n[mcp_servers.other] # theirs\ncommand = "y"\n',
    "CRLF": 'model = "x"\r\n[tools]\r\nweb = true\r\n',
    "no end": "[a]\nb = 1",
}


def snapshot(root: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(root)): path.read_bytes() if path.is_file() else b"a directory"
        for path in root.rglob("*")
        if ".git" not in path.relative_to(root).parts and ".rekal" not in path.relative_to(root).parts
    }


def servers_in(path: Path, key: str) -> dict[str, Any]:
    text = path.read_text("utf-8").removeprefix("\ufeff")
    held: dict[str, Any] = tomllib.loads(text) if path.suffix == ".toml" else read_json(text)
    return dict(held[key])


@pytest.fixture
def found(repo: Path) -> Repo:
    """A repository in which nothing of rekal is, but the place for its record."""
    (repo / ".git/rekal").mkdir()
    return find_repo(repo)


@pytest.mark.parametrize("host", MCP_PLACES)
def test_a_file_that_was_there_comes_back_byte_for_byte(found: Repo, host: str) -> None:
    place = MCP_PLACES[host]
    path = found.root / place.file
    path.parent.mkdir(parents=True, exist_ok=True)
    for text in (TOML if place.form == "toml" else TEXTS).values():
        path.write_bytes(text.encode())
        for _ in range(2):  # twice is once
            assert write_servers(found, [host], EXE) == ([place.file], [])
            entry = servers_in(path, place.key)["rekal"]
            assert entry["command"] in (str(EXE), [str(EXE), "mcp"])
        host_hooks.take_out_entries(found)
        assert path.read_bytes() == text.encode()
        assert not (found.root / ".git/rekal/injection.json").exists()


def test_init_writes_what_is_found_and_clean_leaves_nothing(rekal: Rekal) -> None:
    assert rekal("clean", "--yes").code == 0
    (rekal.root / ".vscode").mkdir()
    before = snapshot(rekal.root)
    ran = rekal("init", "--mcp", "--agents", ",".join(sorted(set(MCP_PLACES) - {"vscode"})), "--json")
    assert ran.code == 0
    # Copilot reads Claude Code's file.
    assert sorted(ran.json["servers"]) == sorted(p.file for host, p in MCP_PLACES.items() if host != "copilot")
    for host, place in MCP_PLACES.items():
        if host != "copilot":
            assert "rekal" in servers_in(rekal.root / place.file, place.key)
    assert "rekal inject on" in rekal("init").out
    assert rekal("inject", "on", *host_hooks.HOSTS).code == 0
    assert rekal("init", "--mcp").code == 0
    assert rekal("clean", "--yes").code == 0
    assert snapshot(rekal.root) == before


@pytest.mark.parametrize("order", [("hooks", "server"), ("server", "hooks")])
@pytest.mark.parametrize("off_first", [True, False])
def test_hooks_and_the_server_in_one_file_come_out_in_any_order(
    found: Repo, order: tuple[str, ...], off_first: bool
) -> None:
    path = found.root / MCP_PLACES["gemini"].file
    for text in (None, *(text for text in TEXTS.values() if text.strip())):
        if text is not None:
            path.parent.mkdir(exist_ok=True)
            path.write_bytes(text.encode())
        before = snapshot(found.root)
        for step in order:
            if step == "hooks":
                assert host_hooks.turn_on(found, ["gemini"], EXE) == ([MCP_PLACES["gemini"].file], [])
            else:
                assert write_servers(found, ["gemini"], EXE) == ([MCP_PLACES["gemini"].file], [])
        assert "hooks" in read_json(path.read_text("utf-8").removeprefix("\ufeff"))
        assert servers_in(path, "mcpServers")["rekal"]
        if off_first:
            host_hooks.turn_off(found)
            assert "rekal hook" not in path.read_text("utf-8")
            assert servers_in(path, "mcpServers")["rekal"]
        host_hooks.take_out_entries(found)
        assert snapshot(found.root) == before


def test_what_a_person_wrote_into_a_file_of_ours_stays(found: Repo) -> None:
    repo, path = found, found.root / MCP_PLACES["gemini"].file
    host_hooks.turn_on(repo, ["gemini"], EXE)
    write_servers(repo, ["gemini"], EXE)
    held = json.loads(path.read_text("utf-8"))
    path.write_text(json.dumps({"theme": "dark", **held}, indent=1), encoding="utf-8")
    host_hooks.turn_off(repo)
    host_hooks.take_out_entries(repo)
    assert json.loads(path.read_text("utf-8"))["theme"] == "dark"
    assert "rekal" not in path.read_text("utf-8")


def test_a_server_of_that_name_is_left_alone(found: Repo) -> None:
    for host, text in (
        ("claude", '{"mcpServers": {"rekal": {"command": "mine"}}}'),
        ("codex", "[mcp_servers.rekal]\n"),
    ):
        path = found.root / MCP_PLACES[host].file
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
        done, notes = write_servers(found, [host], EXE)
        assert (done, len(notes)) == ([], 1)
        assert path.read_text("utf-8") == text
