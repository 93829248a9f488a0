"""Fixtures of the installation tests."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from tests.conftest import hand_on_no_lock
from tests.install.install_support import LAYOUTS, Layout, Stub, git


@pytest.fixture(autouse=True)
def _no_lock_is_handed_on(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each hook starts its worker here, also while the one before is about to end."""
    hand_on_no_lock(tmp_path_factory.mktemp("path"), monkeypatch)


@pytest.fixture
def stub(tmp_path: Path) -> Iterator[Stub]:
    made = Stub(tmp_path)
    yield made
    made.close()


@pytest.fixture
def layout(repo: Path) -> Callable[[str], Layout]:
    """Makes a repository with the foreign hooks of one of ``LAYOUTS``, everything committed."""

    def make(name: str) -> Layout:
        made = Layout(repo, repo.parent / "ran.log")
        git(repo, "init", "-q", "--bare", "../remote.git")
        git(repo, "remote", "add", "origin", "../remote.git")
        LAYOUTS[name](made)
        git(repo, "commit", "-q", "-m", "hooks", "--allow-empty", "--no-verify")
        made.logged()
        return made

    return make
