"""Guards and fixtures for all tests: no test can touch the real home directory or the user's git settings."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.support.app import Rekal

SHARED = Path(__file__).resolve().parents[1].parent / "shared"


@pytest.fixture(autouse=True)
def _guarded_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    home = tmp_path_factory.mktemp("home")
    for name in ("HOME", "USERPROFILE", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR"):
        monkeypatch.setenv(name, str(home))
    for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME", "COPILOT_HOME", "KIRO_HOME", "OPENCODE_DB"):
        monkeypatch.delenv(name, raising=False)
    # The tests may be run by an agent; what they remember is a person's unless they say otherwise.
    for name in (
        "CLAUDECODE",
        "CLAUDE_CODE_SESSION_ID",
        "CODEX_THREAD_ID",
        "CODEX_SANDBOX",
        "GEMINI_CLI",
        "CURSOR_AGENT",
    ):
        monkeypatch.delenv(name, raising=False)
    # Workers would embed, and recalls start a daemon: the tests of these two turn them on.
    monkeypatch.setenv("RECALL_EMBED_ENGINE", "off")
    monkeypatch.setenv("RECALL_DAEMON", "off")
    monkeypatch.setenv("GIT_CONFIG_GLOBAL", str(home / "gitconfig"))
    monkeypatch.setenv("GIT_CONFIG_NOSYSTEM", "1")
    (home / "gitconfig").write_text(
        "[user]\n\tname = Test Person\n\temail = person@example.com\n[init]\n\tdefaultBranch = main\n", encoding="utf-8"
    )
    yield


@pytest.fixture
def shared() -> Path:
    """The shared fixtures beside the checkout; a test that needs them is skipped where they are not."""
    if not SHARED.is_dir():
        pytest.skip("the shared fixtures are not beside this checkout")
    return SHARED


Git = Callable[..., str]


def git(directory: Path, *args: str) -> str:
    """Run the real git in ``directory``."""
    done = subprocess.run(
        ["git", *args], cwd=directory, capture_output=True, text=True, check=True, timeout=60, stdin=subprocess.DEVNULL
    )
    return done.stdout


@pytest.fixture
def repo(tmp_path: Path) -> Path:
    """A real repository with one commit."""
    root = tmp_path / "app"
    root.mkdir()
    git(root, "init", "-q")
    (root / "README.md").write_text("# app\n", encoding="utf-8")
    git(root, "add", ".")
    git(root, "commit", "-q", "-m", "first")
    return root


@pytest.fixture
def home() -> Path:
    """The guarded home directory of this test."""
    return Path.home()


def hand_on_no_lock(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the hooks find a ``flock`` that locks nothing.

    A program that stands for the worker holds the lock of one that waits for as long as it lives, and knows nothing of
    it: whatever comes meanwhile would be left to it. ``folder`` is put in front of PATH.
    """
    program = folder / "flock"
    program.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")


@pytest.fixture
def rekal(
    repo: Path,
    home: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    tmp_path_factory: pytest.TempPathFactory,
) -> Rekal:
    """The command line in a repository that has a store. The background worker is run by hand: ``rekal("_worker")``."""
    monkeypatch.setattr("rekal.cli.verbs.init.start_worker", lambda app: None)
    for module in ("context", "setup"):
        monkeypatch.setattr(f"rekal.app.{module}.find_executable", lambda: Path("/bin/true"))
    hand_on_no_lock(tmp_path_factory.mktemp("path"), monkeypatch)
    command = Rekal(repo, home, capsys)
    done = command("init", "--backfill", "0")
    assert done.code == 0, done.err
    return command


@pytest.fixture
def remote(rekal: Rekal) -> Path:
    """A bare remote named origin that has the first commit and may have memory."""
    path = rekal.root.parent / "remote.git"
    git(rekal.root.parent, "init", "-q", "--bare", "-b", "main", str(path))
    git(rekal.root, "remote", "add", "origin", str(path))
    git(rekal.root, "push", "-q", "-u", "origin", "main")
    assert rekal("share", "origin").code == 0
    return path
