"""Which repository a directory is in, remembered from one command of the daemon to the next."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from rekal.app import context
from rekal.app.context import find_app
from rekal.errors import NoRepository
from rekal.git import Repo, find_repo


def git(directory: Path, *args: str) -> None:
    subprocess.run(["git", *args], cwd=directory, check=True, capture_output=True, timeout=60)


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    """The directories that git was asked about."""
    context._remembered.cache_clear()
    found: list[Path] = []

    def find(where: Path) -> Repo:
        found.append(where)
        return find_repo(where)

    monkeypatch.setattr("rekal.app.context.find_repo", find)
    return found


def test_git_is_asked_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[Path]) -> None:
    git(tmp_path, "init", "-q")
    monkeypatch.chdir(tmp_path)
    assert find_app().repo == find_app().repo
    assert asked == [tmp_path]


def test_a_repository_that_appears_in_between_counts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[Path]
) -> None:
    outer, inner = tmp_path / "outer", tmp_path / "outer" / "a" / "inner"
    inner.mkdir(parents=True)
    git(outer, "init", "-q")
    monkeypatch.chdir(inner)
    assert find_app().repo.root == outer
    git(inner.parent, "init", "-q")
    assert find_app().repo.root == inner.parent
    assert asked == [inner, inner]


def test_settings_rewritten_in_between_count(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, asked: list[Path]
) -> None:
    git(tmp_path, "init", "-q")
    monkeypatch.chdir(tmp_path)
    find_app()
    git(tmp_path, "config", "core.bare", "true")
    assert find_app().repo.bare
    assert len(asked) == 2


def test_a_repository_that_went_is_gone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    git(tmp_path, "init", "-q")
    monkeypatch.chdir(tmp_path)
    find_app()
    (tmp_path / ".git").rename(tmp_path / "elsewhere")
    with pytest.raises(NoRepository):
        find_app()
