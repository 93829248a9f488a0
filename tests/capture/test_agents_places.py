"""Each agent's conversations go to the repositories they are about, whatever their directories are called."""

from __future__ import annotations

from pathlib import Path

import pytest

from rekal.app.context import App
from rekal.capture import read_sources
from rekal.git import find_repo
from rekal.model import Session
from tests.conftest import git
from tests.support.conversations import STORES, Conversation, Round

REPOSITORIES = ("app", "app2", "a.b", "a-b", "app/vendor/inner")
BEGUN_IN = {
    "in app": "app",
    "in app2": "app2",
    "in a.b": "a.b",
    "in a-b": "a-b",
    "in inner": "app/vendor/inner",
    "in src": "app/src",
    "in the worktree": "app-side",
    "above": ".",
}
"""Conversations by name and the directory each began in; the one above edits files of two repositories."""

EXPECTED = {
    "app": {"in app", "in src", "in the worktree", "above"},
    "app2": {"in app2"},
    "a.b": {"in a.b", "above"},
    "a-b": {"in a-b"},
    "app/vendor/inner": {"in inner"},
}


@pytest.fixture(scope="module")
def projects(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with the repositories, and a linked work tree of the first."""
    folder = tmp_path_factory.mktemp("w").resolve()
    for name in REPOSITORIES:
        (folder / name).mkdir(parents=True)
        git(folder / name, "init", "-q")
    who = ("-c", "user.name=Test Person", "-c", "user.email=person@example.com")
    git(folder / "app", *who, "commit", "-q", "--allow-empty", "-m", "first")
    git(folder / "app", "worktree", "add", "-q", "-b", "side", str(folder / "app-side"))
    (folder / "app/src").mkdir()
    return folder


def _write(home: Path, projects: Path, store: str) -> None:
    for number, (name, place) in enumerate(BEGUN_IN.items()):
        cwd = projects / place
        files = [projects / "app/above.py", projects / "a.b/above.py"] if place == "." else [cwd / "queue.py"]
        rounds = [Round(name, path, f"line of {name}\n", f"Answer {n} to {name}.") for n, path in enumerate(files)]
        STORES[store](Conversation(home, cwd.resolve(), f"talk {number}", rounds))


def _captured(home: Path, root: Path) -> dict[str, list[str]]:
    """What a first capture reads: by prompt, the paths that the session edited."""
    app = App(find_repo(root), home, {})
    job = app.job()
    sessions: list[Session] = []
    for adapter, source in read_sources.find_changed_sources(job, {}):
        reading = read_sources.read_source(job, adapter, source, None)
        assert reading.warning is None
        sessions += reading.sessions
    return {session.turns[0].content: [edit.path for edit in session.edits] for session in sessions}


@pytest.mark.parametrize("store", STORES)
def test_conversations_stay_in_their_repositories(home: Path, projects: Path, store: str) -> None:
    _write(home, projects, store)
    found = {name: _captured(home, projects / name) for name in REPOSITORIES}
    assert {name: set(sessions) for name, sessions in found.items()} == EXPECTED
    assert found["app"]["in src"] == ["src/queue.py"]
    assert found["app"]["in the worktree"] == ["queue.py"]
    assert "above.py" in found["app"]["above"] and "above.py" in found["a.b"]["above"]
