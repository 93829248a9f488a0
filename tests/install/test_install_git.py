"""Real git in its less usual ways: each commit is one event, the index is as git left it, work trees share a store."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from rekal.errors import StoreDamaged
from rekal.git import find_repo
from rekal.install import hooks, install_rekal, uninstall_rekal
from rekal.install.manifest import Journal
from rekal.store import spool
from tests.install.install_support import Stub, commit, events, git, listing


@pytest.fixture
def ready(repo: Path, stub: Stub) -> Path:
    """A repository with two files and our hooks."""
    commit(repo, "a.txt")
    commit(repo, "b.txt")
    install_rekal(find_repo(repo), (), stub.path)
    return repo


def shas(root: Path) -> list[object]:
    return [event["sha"] for event in events(root, "commit")]


def head(root: Path) -> str:
    return git(root, "rev-parse", "HEAD").strip()


def test_commit_all_leaves_the_index_clean(ready: Path, stub: Stub) -> None:
    (ready / "a.txt").write_text("new\n", "utf-8")
    git(ready, "commit", "-q", "-a", "-m", "all")
    assert shas(ready) == [head(ready)]
    assert git(ready, "status", "--short") == ""
    assert stub.calls(1)[0].endswith("||1"), "git's own GIT_INDEX_FILE must not reach the worker"


def test_commit_of_a_path_leaves_what_else_is_staged(ready: Path, stub: Stub) -> None:
    for name in ("a.txt", "b.txt"):
        (ready / name).write_text("new\n", "utf-8")
    git(ready, "add", "b.txt")
    git(ready, "commit", "-q", "-m", "only a", "a.txt")
    assert shas(ready) == [head(ready)]
    assert git(ready, "status", "--short") == "M  b.txt\n"
    assert stub.calls(1)[0].endswith("||1")


def test_commit_of_a_hunk(ready: Path, stub: Stub) -> None:
    (ready / "a.txt").write_text("new\n", "utf-8")
    subprocess.run(["git", "commit", "-q", "-p", "-m", "p"], cwd=ready, input=b"y\n", capture_output=True, check=True)
    assert shas(ready) == [head(ready)]
    assert git(ready, "status", "--short") == ""
    stub.calls(1)


def test_rebase_with_exec(ready: Path, stub: Stub) -> None:
    old = git(ready, "rev-list", "--reverse", "HEAD~2..").split()
    git(ready, "rebase", "-q", "--force-rebase", "--exec", "git commit -q --allow-empty -m between", "HEAD~2")
    new = git(ready, "rev-list", "--reverse", "HEAD~4..").split()
    made = shas(ready)
    assert len(made) == len(set(made)) and set(new[1::2]) <= set(made) <= set(new)
    (event,) = events(ready, "rewrite")
    assert (event["how"], event["pairs"]) == ("rebase", [[old[0], new[0]], [old[1], new[2]]])
    assert git(ready, "status", "--short") == ""
    stub.calls(1)


def test_merges_with_and_without_a_commit(ready: Path, stub: Stub) -> None:
    git(ready, "checkout", "-q", "-b", "side", "HEAD~1")
    side = commit(ready, "c.txt")
    git(ready, "checkout", "-q", "main")
    git(ready, "merge", "-q", "--no-edit", "side")
    git(ready, "checkout", "-q", "-b", "behind", "main~1")
    git(ready, "merge", "-q", "--squash", "side")
    found = [(event["sha"], event["squash"]) for event in events(ready, "merge")]
    assert found == [(git(ready, "rev-parse", "main").strip(), False), (head(ready), True)]
    assert shas(ready) == [side]
    stub.calls(3)


def test_linked_work_trees_share_the_store(ready: Path, stub: Stub) -> None:
    linked = ready.parent / "linked"
    git(ready, "worktree", "add", "-q", "-b", "topic", str(linked))
    (linked / ".rekal/spool").mkdir(parents=True)  # a copied work tree may bring this along
    sha = commit(linked)
    (event,) = events(ready)
    assert (event["sha"], event["git_dir"]) == (sha, str(ready / ".git/worktrees/linked"))
    assert stub.calls(1) == [f"_worker|{ready.resolve()}||1"]
    git(ready, "worktree", "remove", "--force", str(linked))
    assert len(events(ready)) == 1


def test_bare_repository_with_work_trees(repo: Path, stub: Stub) -> None:
    bare, linked = repo.parent / "app.git", repo.parent / "tree"
    git(repo, "clone", "-q", "--bare", ".", str(bare))
    git(bare, "worktree", "add", "-q", str(linked), "main")
    places = (bare / "hooks", bare / "info", linked)
    before, config = listing(*places), (bare / "config").read_bytes()
    install_rekal(find_repo(linked), ("claude",), stub.path)
    assert git(linked, "status", "--short") == ""
    sha = commit(linked)
    assert shas(bare) == [sha]
    assert stub.calls(1) == [f"_worker|{bare.resolve()}||1"]
    uninstall_rekal(find_repo(linked))
    git(linked, "reset", "-q", "--hard", "HEAD~1")
    assert (listing(*places), (bare / "config").read_bytes()) == (before, config)


def test_submodule_and_superproject_keep_to_themselves(ready: Path, repo: Path, stub: Stub) -> None:
    other = repo.parent / "other"
    git(repo.parent, "clone", "-q", str(repo), str(other))
    git(ready, "-c", "protocol.file.allow=always", "submodule", "add", "-q", str(other), "sub")
    git(ready, "commit", "-q", "-m", "add a submodule")
    outer = head(ready)
    commit(ready / "sub")
    assert shas(ready) == [outer], "nobody initialised the submodule"

    install_rekal(find_repo(ready / "sub"), (), stub.path)
    inner = commit(ready / "sub", "d.txt")
    assert shas(ready) == [outer]
    (event,) = events(ready / "sub")
    assert (event["sha"], event["git_dir"]) == (inner, str((ready / ".git/modules/sub").resolve()))
    stub.calls(2)


def test_git_directory_elsewhere(tmp_path: Path, stub: Stub) -> None:
    root, store = tmp_path / "tree", tmp_path / "elsewhere"
    root.mkdir()
    git(root, "init", "-q", f"--separate-git-dir={store}")
    first = commit(root)
    places = (root, store / "hooks", store / "info")
    before, config = listing(*places), (store / "config").read_bytes()
    install_rekal(find_repo(root), (), stub.path)
    git(root, "commit", "-q", "--amend", "-m", "x")
    assert shas(root) == [head(root)]
    assert events(root, "rewrite")[0]["pairs"] == [[first, head(root)]]
    git(root, "worktree", "add", "-q", "-b", "topic", "../linked")
    linked = commit(tmp_path / "linked")
    assert linked in shas(root)
    assert stub.calls(3) == [f"_worker|{root}||1"] * 3
    git(root, "worktree", "remove", "../linked")
    uninstall_rekal(find_repo(root))
    assert (listing(*places), (store / "config").read_bytes()) == (before, config)


def test_git_dir_in_the_environment(ready: Path, tmp_path: Path, stub: Stub) -> None:
    (ready / "a.txt").write_text("new\n", "utf-8")
    env = {"GIT_DIR": str(ready / ".git"), "GIT_WORK_TREE": str(ready)}
    git(tmp_path, "commit", "-q", "-a", "-m", "from outside", env=env)
    assert shas(ready) == [head(ready)]
    assert stub.calls(1) == [f"_worker|{ready.resolve()}||1"]


def test_commit_from_a_folder(ready: Path, stub: Stub) -> None:
    (ready / "deep/er").mkdir(parents=True)
    (ready / "deep/er/x").write_text("x", "utf-8")
    git(ready / "deep/er", "add", "x")
    git(ready / "deep/er", "commit", "-q", "-m", "x")
    assert shas(ready) == [head(ready)]
    stub.calls(1)


def test_a_relative_hooks_path_is_served_in_every_work_tree(repo: Path, stub: Stub) -> None:
    (repo / ".githooks").mkdir()
    (repo / ".githooks/pre-commit").write_text("#!/bin/sh\n", "utf-8")
    (repo / ".githooks/pre-commit").chmod(0o755)
    git(repo, "add", ".githooks")
    git(repo, "config", "core.hooksPath", ".githooks")
    commit(repo)
    linked = repo.parent / "linked"
    git(repo, "worktree", "add", "-q", "-b", "topic", str(linked))
    before = listing(repo, linked)
    install_rekal(find_repo(repo), (), stub.path)
    assert git(linked, "status", "--short") == ""
    made = [commit(linked), commit(repo)]
    assert sorted(shas(repo), key=str) == sorted(made)
    stub.calls(2)
    assert len(uninstall_rekal(find_repo(linked)).hooks) == 8
    for root in (repo, linked):
        git(root, "reset", "-q", "--hard", "HEAD~1")
    assert listing(repo, linked) == before


def test_a_work_tree_whose_place_another_repository_took_is_not_touched(repo: Path, stub: Stub) -> None:
    (repo / ".githooks").mkdir()
    git(repo, "config", "core.hooksPath", ".githooks")
    linked, gone = repo.parent / "linked", repo.parent / "gone"
    for tree in (linked, gone):
        git(repo, "worktree", "add", "-q", "--detach", str(tree))
        shutil.rmtree(tree)
    gone.mkdir()
    git(repo.parent, "clone", "-q", str(repo), str(linked))
    before = listing(linked, gone)
    install_rekal(find_repo(repo), (), stub.path)
    assert listing(linked, gone) == before
    assert len(uninstall_rekal(find_repo(repo)).hooks) == 4


def test_a_hooks_path_of_one_work_tree(ready: Path, stub: Stub) -> None:
    linked = ready.parent / "linked"
    git(ready, "worktree", "add", "-q", "-b", "topic", str(linked))
    git(ready, "config", "extensions.worktreeConfig", "true")
    (linked / "hooks").mkdir()
    git(linked, "config", "--worktree", "core.hooksPath", "hooks")
    install_rekal(find_repo(linked), (), stub.path)
    made = [commit(linked), commit(ready)]
    assert sorted(shas(ready), key=str) == sorted(made)
    stub.calls(2)
    assert len(uninstall_rekal(find_repo(linked)).hooks) == 8


def test_two_repositories_share_a_global_hooks_directory(repo: Path, stub: Stub) -> None:
    shared, other = repo.parent / "hooks", repo.parent / "other"
    git(repo.parent, "clone", "-q", str(repo), str(other))
    git(repo, "config", "--global", "core.hooksPath", str(shared))
    for root in (repo, other):
        install_rekal(find_repo(root), (), stub.path)
    assert not uninstall_rekal(find_repo(repo)).hooks
    assert {hook.status for hook in hooks.read_hooks(find_repo(other), stub.path)} == {"installed"}
    commit(other)
    assert len(events(other)) == 1
    stub.calls(1)
    assert len(uninstall_rekal(find_repo(other)).hooks) == 4
    assert not shared.exists() or not list(shared.iterdir())


def test_the_spool_s_reader_understands_every_event(ready: Path, stub: Stub) -> None:
    first = commit(ready)
    git(ready, "commit", "-q", "--amend", "-m", "other")
    other = git(ready, "commit-tree", "HEAD^{tree}", "-m", "x", "-p", "HEAD~1").strip()
    git(ready, "merge", "-q", "--no-edit", other)
    found = spool.read_spooled(ready / ".git/rekal/spool")
    assert found.broken == 0
    kinds = sorted(type(event).__name__ for event in found.events)
    assert kinds == ["CommitEvent", "CommitEvent", "MergeEvent", "RewriteEvent"]
    assert any(isinstance(event, spool.CommitEvent) and event.sha == first for event in found.events)
    stub.calls(4)


def test_a_damaged_record_is_one_sentence(ready: Path) -> None:
    (ready / ".git/rekal/install.json").write_text("{", "utf-8")
    with pytest.raises(StoreDamaged, match="is not readable; remove it"):
        Journal(find_repo(ready))
