"""Setting up: a refusal leaves nothing behind, hooks are healed, the main work tree is found from everywhere."""

from __future__ import annotations

from pathlib import Path

import pytest

from rekal.git import find_repo
from rekal.install import install_rekal
from tests.conftest import git
from tests.support.app import Rekal


def test_a_refusal_leaves_nothing_behind(
    repo: Path, home: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("rekal.cli.verbs.init.start_worker", lambda app: None)
    git(repo, "config", "core.hooksPath", "/dev/null")
    before = sorted(repo.rglob("*"))
    done = Rekal(repo, home, capsys)("init")
    assert (done.code, len(done.err.splitlines())) == (5, 1)
    assert "hooks" in done.err
    assert sorted(repo.rglob("*")) == before


def test_the_worker_puts_hooks_back_that_were_written_over(rekal: Rekal, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("rekal.app.work_in_background.find_executable", lambda: Path("/bin/true"))
    hook = rekal.root / ".git/hooks/post-commit"
    assert rekal("_worker").code == 0
    assert not rekal.layout.log.exists() or "put back" not in rekal.layout.log.read_text("utf-8")
    hook.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    assert rekal("_worker").code == 0
    assert "managed by rekal" in hook.read_text("utf-8")
    assert "put back" in rekal.layout.log.read_text("utf-8")


def _with_worktree(root: Path) -> Path:
    git(root, "commit", "-q", "--allow-empty", "-m", "first")
    install_rekal(find_repo(root), (), Path("/bin/true"), hooks_only=True)
    side = root.parent / f"{root.name}-side"
    git(root, "worktree", "add", "-q", "-b", "side", str(side))
    return side


def test_a_worktree_of_a_repository_with_its_git_directory_elsewhere(tmp_path: Path) -> None:
    root = tmp_path / "app"
    git(tmp_path, "init", "-q", "--separate-git-dir", str(tmp_path / "elsewhere"), str(root))
    side = _with_worktree(root)
    assert find_repo(side).root == find_repo(root).root == root.resolve()
    assert find_repo(side).worktrees() == (root.resolve(), side.resolve())


def test_a_worktree_of_a_submodule(repo: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(repo), "library")
    git(repo, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(tmp_path / "library"), "lib")
    side = _with_worktree(repo / "lib")
    assert find_repo(side).root == find_repo(repo / "lib").root == (repo / "lib").resolve()
