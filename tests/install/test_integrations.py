"""The packages for agents' hosts are fresh and have the shape that each host documents."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.conftest import git

jsonschema = pytest.importorskip("jsonschema", reason="the extra mcp is not installed")

ROOT = Path(__file__).resolve().parents[2]
HERE = ROOT / "integrations"
TEXT = {"type": "string", "minLength": 1}
SERVERS = {
    "type": "object",
    "minProperties": 1,
    "additionalProperties": {
        "type": "object",
        "required": ["command", "args"],
        "properties": {"command": TEXT, "args": {"type": "array", "items": TEXT}, "type": {"enum": ["stdio"]}},
        "additionalProperties": False,
    },
}
COMMAND = {
    "type": "object",
    "required": ["type", "command"],
    "properties": {"type": {"const": "command"}, "command": TEXT},
}
GROUPS = {
    "type": "array",
    "items": {
        "type": "object",
        "required": ["hooks"],
        "properties": {"matcher": TEXT, "hooks": {"type": "array", "items": COMMAND}},
        "additionalProperties": False,
    },
}


def events(names: str, entry: dict[str, Any]) -> dict[str, Any]:
    """A schema of hooks by the names of a host's events."""
    return {"type": "object", "properties": dict.fromkeys(names.split(), entry), "additionalProperties": False}


def closed(**properties: Any) -> dict[str, Any]:
    """An object with exactly these fields."""
    return {"type": "object", "required": list(properties), "properties": properties, "additionalProperties": False}


CLAUDE = events("SessionStart UserPromptSubmit PreToolUse PostToolUse PreCompact SessionEnd Stop", GROUPS)
GEMINI = events("SessionStart BeforeAgent AfterAgent BeforeTool AfterTool PreCompress SessionEnd", GROUPS)
CURSOR = events(
    "sessionStart beforeSubmitPrompt preToolUse postToolUse preCompact sessionEnd stop",
    {"type": "array", "items": {"type": "object", "required": ["command"], "properties": {"command": TEXT}}},
)
COPILOT = events(
    "sessionStart userPromptSubmitted preToolUse postToolUse preCompact sessionEnd agentStop",
    {"type": "array", "items": closed(type={"const": "command"}, bash=TEXT, timeoutSec={"type": "integer"})},
)
KIRO = {
    "type": "array",
    "items": closed(
        name=TEXT,
        trigger={
            "enum": [
                "SessionStart",
                "UserPromptSubmit",
                "PreToolUse",
                "PostToolUse",
                "PreCompact",
                "PostCompact",
                "Stop",
            ]
        },
        action=closed(type={"const": "command"}, command=TEXT),
        timeout={"type": "integer"},
        enabled={"type": "boolean"},
    ),
}
SHAPES: dict[str, dict[str, Any]] = {
    "claude-code/.claude-plugin/plugin.json": closed(
        name={"pattern": "^[a-z-]+$"}, version=TEXT, description=TEXT, license=TEXT
    ),
    "claude-code/hooks/hooks.json": closed(hooks=CLAUDE),
    "claude-code/.mcp.json": closed(mcpServers=SERVERS),
    "gemini/gemini-extension.json": closed(
        name={"pattern": "^[a-z-]+$"}, version=TEXT, description=TEXT, mcpServers=SERVERS
    ),
    "gemini/hooks/hooks.json": closed(hooks=GEMINI),
    "opencode/opencode.json": closed(
        mcp={
            "type": "object",
            "additionalProperties": closed(type={"const": "local"}, command={"type": "array", "items": TEXT}),
        }
    ),
    "codex/hooks.json": closed(hooks=CLAUDE),
    "cursor/mcp.json": closed(mcpServers=SERVERS),
    "cursor/hooks.json": closed(version={"const": 1}, hooks=CURSOR),
    "copilot/mcp.json": closed(mcpServers=SERVERS),
    "copilot/hooks/rekal.json": closed(version={"const": 1}, hooks=COPILOT),
    "vscode/mcp.json": closed(servers=SERVERS),
    "kiro/settings/mcp.json": closed(mcpServers=SERVERS),
    "kiro/hooks/rekal.json": closed(version={"const": "v1"}, hooks=KIRO),
}


def test_the_files_are_fresh() -> None:
    done = subprocess.run(
        [sys.executable, "scripts/write_integrations.py", "--check"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_every_json_file_has_a_shape_and_fits_it() -> None:
    found = {str(path.relative_to(HERE)) for path in HERE.rglob("*.json")}
    assert found == set(SHAPES)
    for name, shape in SHAPES.items():
        jsonschema.Draft7Validator(shape).validate(json.loads((HERE / name).read_text("utf-8")))


def test_the_marketplace_leads_to_the_plugin() -> None:
    market = json.loads((ROOT / ".claude-plugin/marketplace.json").read_text("utf-8"))
    assert {"name", "owner", "plugins"} == set(market)
    for plugin in market["plugins"]:
        manifest = json.loads((ROOT / plugin["source"] / ".claude-plugin/plugin.json").read_text("utf-8"))
        assert manifest["name"] == plugin["name"]


@pytest.mark.parametrize("path", sorted(HERE.rglob("*.toml")), ids=lambda p: str(p.relative_to(HERE)))
def test_toml_can_be_read(path: Path) -> None:
    assert tomllib.loads(path.read_text("utf-8"))


@pytest.mark.parametrize("path", sorted(HERE.rglob("SKILL.md")), ids=lambda p: str(p.relative_to(HERE)))
def test_skills_follow_the_standard(path: Path) -> None:
    head = yaml.safe_load(path.read_text("utf-8").split("---")[1])
    assert head["name"] == path.parent.name
    assert re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", head["name"])
    assert 1 <= len(head["description"]) <= 1024


def test_every_host_with_commands_has_the_five() -> None:
    five = {"recall", "why", "remember", "check", "review"}
    for folder in ("claude-code/commands", "gemini/commands", "opencode/command"):
        assert {path.stem for path in (HERE / folder).iterdir()} == five


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node to read JavaScript")
def test_the_plugin_for_opencode_is_a_module(tmp_path: Path) -> None:
    copy = tmp_path / "rekal.mjs"
    copy.write_text((HERE / "opencode/rekal.js").read_text("utf-8"), encoding="utf-8")
    code = (
        f"import({json.dumps(copy.as_uri())}).then(m => m.RekalMemory({{directory: '/'}}))"
        ".then(h => console.log(Object.keys(h)))"
    )
    done = subprocess.run(["node", "-e", code], capture_output=True, text=True, timeout=60, check=False)
    assert "chat.message" in done.stdout, done.stderr


def test_the_status_line_is_quick_and_quiet(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    held = tmp_path / ".git/rekal"
    (held / "spool").mkdir(parents=True)
    (held / "spool/1.json").write_text("{}", encoding="utf-8")
    (held / "injection.json").write_text('{"hosts":[{"host":"claude"}]}', encoding="utf-8")
    below = tmp_path / "below"
    below.mkdir()
    said = json.dumps({"workspace": {"current_dir": str(below)}})
    script = str(HERE / "claude-code/statusline.sh")
    done = subprocess.run(["sh", script], input=said, capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout) == (0, "rekal: 1 waiting, injecting\n")
