"""Every kind of foreign hook, from installation to removal: it runs exactly once, and nothing is left of us."""

from __future__ import annotations

import shutil
from collections.abc import Callable

import pytest

from rekal.install import install_rekal, uninstall_rekal
from tests.install.install_support import LAYOUTS, Layout, Stub, commit, events, git, listing

AGENTS = ("claude", "codex", "gemini", "copilot", "kiro")


def expected(layout: Layout, *names: str) -> list[str]:
    return [name for name in names if name in layout.runs]


def heads(lines: list[str]) -> list[str]:
    return [line.split("|")[0] for line in lines if line[:40].strip("0123456789abcdef")]


@pytest.mark.parametrize("name", LAYOUTS)
def test_from_install_to_uninstall(name: str, layout: Callable[[str], Layout], stub: Stub) -> None:
    made = layout(name)
    root = made.root
    before = made.snapshot()

    installed = install_rekal(made.repo, AGENTS, stub.path)
    assert [hook.status for hook in installed.hooks] == ["installed"] * 4
    assert git(root, "status", "--short") == before[2]

    sha = commit(root)
    assert heads(made.logged()) == expected(made, "pre-commit", "post-commit")
    assert [event["sha"] for event in events(root)] == [sha]
    assert stub.calls(1) == [f"_worker|{root.resolve()}||1"]

    once = listing(root, *made.extra)
    install_rekal(made.repo, AGENTS, stub.path)
    assert listing(root, *made.extra) == once

    git(root, "commit", "-q", "--amend", "-m", "other")
    new = git(root, "rev-parse", "HEAD").strip()
    said = made.logged()
    assert heads(said) == expected(made, "pre-commit", "post-commit", "post-rewrite")
    assert events(root, "rewrite")[0]["pairs"] == [[sha, new]]
    assert f"{sha} {new}" in said or "post-rewrite" not in made.runs
    assert "post-rewrite|amend" in said or "post-rewrite" not in made.runs
    stub.calls(2)

    git(root, "push", "-q", "origin", "main")
    zero = "0" * 40
    pushed = ["pre-push|origin|../remote.git", f"refs/heads/main {new} refs/heads/main {zero}"]
    assert made.logged() == (pushed if "pre-push" in made.runs else [])

    uninstall_rekal(made.repo)
    shutil.rmtree(root / ".rekal")
    git(root, "reset", "-q", "--hard", "HEAD~1")
    made.logged()
    assert made.snapshot() == before


@pytest.mark.parametrize("name", LAYOUTS)
def test_a_push_that_carries_memory_gives_both_hooks_the_same_lines(
    name: str, layout: Callable[[str], Layout], stub: Stub
) -> None:
    made = layout(name)
    install_rekal(made.repo, AGENTS, stub.path)
    (made.root / ".git/rekal/share-on").touch()
    git(made.root, "push", "-q", "origin", "main")
    head = git(made.root, "rev-parse", "HEAD").strip()
    line = f"refs/heads/main {head} refs/heads/main {'0' * 40}"
    assert stub.calls(1) == [f"push --hook origin ../remote.git|{made.root.resolve()}||1"]
    assert stub.stdin.read_text("utf-8") == line + "\n"
    assert made.logged() == (["pre-push|origin|../remote.git", line] if "pre-push" in made.runs else [])


def test_uninstall_twice_and_without_install_changes_nothing(layout: Callable[[str], Layout], stub: Stub) -> None:
    made = layout("plain")
    before = made.snapshot()
    assert uninstall_rekal(made.repo).hooks == ()
    install_rekal(made.repo, AGENTS, stub.path)
    assert len(uninstall_rekal(made.repo).hooks) == 4
    assert uninstall_rekal(made.repo).hooks == ()
    assert made.snapshot()[:2] == before[:2]
