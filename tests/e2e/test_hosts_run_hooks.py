"""Every command that `rekal inject on` wrote is run by a shell, as its host does, and says what the host can take."""

from __future__ import annotations

import json
import os
import subprocess
from pathlib import Path
from typing import Any

import pytest

from rekal.install.host_hooks import HOSTS
from rekal.install.json_text import read_json
from tests.support.installed_rekal import Live

# Session's start as each host says it.
STARTS: dict[str, dict[str, Any]] = {
    "claude": {"session_id": "s", "transcript_path": "/t", "hook_event_name": "SessionStart", "source": "startup"},
    "codex": {"session_id": "s", "transcript_path": None, "hook_event_name": "SessionStart", "source": "startup",
              "model": "m"},
    "gemini": {"session_id": "s", "transcript_path": "/t", "hook_event_name": "SessionStart", "source": "startup",
               "timestamp": "2026-11-30T10:00:00Z"},
    "cursor": {"conversation_id": "s", "hook_event_name": "sessionStart", "cursor_version": "3.1"},
    "copilot": {"sessionId": "s", "timestamp": 1_764_000_000_000, "source": "startup"},
    "kiro": {"hook_event_name": "SessionStart"},
}  # fmt: skip


def commands(value: Any) -> list[str]:
    """All command lines in a host's settings, in their order."""
    if isinstance(value, list):
        return [line for item in value for line in commands(item)]
    if isinstance(value, dict):
        own = [value[name] for name in ("command", "bash") if isinstance(value.get(name), str)]
        return own + [line for item in value.values() if not isinstance(item, str) for line in commands(item)]
    return []


def run(line: str, root: Path, said: str, elsewhere: Path) -> subprocess.CompletedProcess[str]:
    """Run a command line as hosts do: by a shell, with the event on stdin, in a directory of the host's choice."""
    return subprocess.run(
        ["sh", "-c", line], input=said, cwd=elsewhere, capture_output=True, text=True, timeout=60, check=False,
        env={**os.environ, "CLAUDE_PROJECT_DIR": str(root)},
    )  # fmt: skip


@pytest.mark.soak
@pytest.mark.parametrize("host", STARTS)
def test_the_commands_of_a_host_do_what_it_needs(live: Live, tmp_path: Path, host: str) -> None:
    live("remember", "Jobs live in Postgres.", "--type", "decision")
    live("inject", "on", host)
    lines = commands(read_json((live.root / HOSTS[host].file).read_text("utf-8")))
    assert len(lines) == len(HOSTS[host].events)
    said = json.dumps({**STARTS[host], "cwd": str(live.root), "workspace_roots": [str(live.root)]})
    (start,) = [line for line in lines if " hook start " in line]
    done = run(start, live.root, said, tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert "Jobs live in Postgres." in done.stdout
    if host != "kiro":
        json.loads(done.stdout)
    for line in lines:
        for words in (said, "", "no json", "[]"):
            done = run(line, live.root, words, tmp_path)
            assert (done.returncode, done.stderr) == (0, ""), line
    live("clean", "--yes")
    for line in lines:  # a host that has read its settings before goes on to call them
        done = run(line, live.root, said, tmp_path)
        assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    gone = [line.replace("rekal", "no-such-rekal", 1) for line in lines]
    for line in gone:
        assert run(line, live.root, said, tmp_path).returncode == 0
