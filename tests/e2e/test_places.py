"""Work trees, bare repositories, submodules and a git directory elsewhere: one store, found from everywhere."""

from __future__ import annotations

from pathlib import Path

from tests.conftest import git
from tests.support.installed_rekal import ASKED, Live, worked


def test_a_linked_worktree_is_captured_into_the_main_ones_store_and_outlived_by_it(live: Live, home: Path) -> None:
    tree = live.root.parent / "side"
    live.git("worktree", "add", "-q", "-b", "side", str(tree))
    native = worked(home, tree, "one")
    sha = live.commit("Add the queue", cwd=tree)
    live.settle()
    assert live.links() == {sha: [native]}
    assert not (tree / ".rekal").exists()
    assert live.recalled(ASKED, cwd=tree) == [native]
    live.git("worktree", "remove", str(tree))
    assert live.recalled(ASKED) == [native]
    assert live.rows("SELECT branch, cwd FROM sessions") == [["main", "."]]
    assert live.rows("SELECT path FROM edits") == [["queue.py"]]


def test_a_bare_repository_with_worktrees(repo: Path, home: Path, tmp_path: Path) -> None:
    bare = tmp_path / "bare.git"
    git(tmp_path, "clone", "-q", "--bare", str(repo), str(bare))
    git(bare, "worktree", "add", "-q", "-b", "one", str(tmp_path / "one"), "main")
    git(bare, "worktree", "add", "-q", "-b", "two", str(tmp_path / "two"), "main")
    live = Live(bare)
    live("init", "--backfill", "0", cwd=tmp_path / "one")
    assert (bare / ".rekal" / "data.db").is_file()
    natives = [worked(home, tmp_path / name, name, f"{name}.py") for name in ("one", "two")]
    shas = [live.commit(f"Add {name}", cwd=tmp_path / name) for name in ("one", "two")]
    live.settle()
    assert live.links() == {sha: [native] for sha, native in zip(shas, natives, strict=True)}
    assert set(live.recalled(ASKED, cwd=tmp_path / "two")) == set(natives)


def test_a_submodule_has_a_store_of_its_own(live: Live, home: Path, tmp_path: Path) -> None:
    git(tmp_path, "clone", "-q", str(live.root), "library")
    allowed = ("-c", "protocol.file.allow=always")
    live.git(*allowed, "submodule", "--quiet", "add", str(tmp_path / "library"), "lib")
    outer_sha = live.commit("Add the library")
    inner = Live(live.root / "lib")
    assert (inner.root / ".git").is_file()
    inner("init", "--backfill", "0", "--hooks-only")
    native = worked(home, inner.root, "inside")
    sha = inner.commit("Add the queue")
    inner.settle()
    live("checkpoint")
    assert inner.links() == {sha: [native]}
    assert live.rows("SELECT native_id FROM sessions") == []
    assert outer_sha not in inner.links()
    inner("clean", "--yes")
    assert not (inner.root / ".rekal").exists()


def test_a_git_directory_elsewhere(home: Path, tmp_path: Path) -> None:
    root = tmp_path / "app"
    git(tmp_path, "init", "-q", "--separate-git-dir", str(tmp_path / "elsewhere"), str(root))
    git(root, "commit", "-q", "--allow-empty", "-m", "first")
    live = Live(root)
    live("init", "--backfill", "0", "--hooks-only")
    native = worked(home, root, "one")
    sha = live.commit("Add the queue")
    live.settle()
    assert live.links() == {sha: [native]}
    tree = tmp_path / "side"
    live.git("worktree", "add", "-q", "-b", "side", str(tree))
    there = worked(home, tree, "two", "other.py")
    sha_there = live.commit("Add the other", cwd=tree)
    live.settle()
    assert live.links() == {sha: [native], sha_there: [there]}
