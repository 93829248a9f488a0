"""Hook managers that come after us, write over us or move us: we are found again, run once, and go without a trace."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from rekal.errors import REFUSED, Refused
from rekal.install import hooks, install_rekal, repair_hooks, uninstall_rekal
from rekal.install.hook_places import chained_path
from tests.install import install_support as support
from tests.install.install_support import Layout, Stub, commit, events, git, listing, script

Make = Callable[[str], Layout]


def statuses(made: Layout, stub: Stub) -> set[str]:
    return {hook.status for hook in hooks.read_hooks(made.repo, stub.path)}


def test_pre_commit_installed_after_us_runs_us(layout: Make, stub: Stub) -> None:
    made = layout("plain")
    before = listing(made.root / ".git/hooks")
    install_rekal(made.repo, (), stub.path)
    hook = made.root / ".git/hooks/pre-push"
    hook.rename(hook.with_name("pre-push.legacy"))
    support.pre_commit_generate(made, "pre-push")

    assert statuses(made, stub) == {"installed"}
    assert not repair_hooks(made.repo, stub.path)
    (made.root / ".git/rekal/share-on").touch()
    git(made.root, "push", "-q", "origin", "main")
    ran = [line.split("|")[0] for line in made.logged() if "|" in line]
    assert ran == ["pre-push.legacy", "pre-push"], "the user's own hook, by way of ours, then pre-commit's"
    stub.calls(1)

    uninstall_rekal(made.repo)
    after = listing(made.root / ".git/hooks")
    assert after.pop(str(hook))[1] != before[str(hook)][1]
    assert after.pop(f"{hook}.legacy") == before[str(hook)]
    assert after == {name: what for name, what in before.items() if name != str(hook)}


def test_pre_commit_installed_again_over_us_does_not_call_itself(layout: Make, stub: Stub) -> None:
    made = layout("pre-commit")
    before = listing(made.root / ".git/hooks")
    install_rekal(made.repo, (), stub.path)
    hook = made.root / ".git/hooks/pre-push"
    hook.rename(hook.with_name("pre-push.legacy"))
    support.pre_commit_generate(made, "pre-push")

    git(made.root, "push", "-q", "origin", "main")
    assert [line for line in made.logged() if "|" in line] == ["pre-push|origin|../remote.git"]
    uninstall_rekal(made.repo)
    assert listing(made.root / ".git/hooks") == before


def test_lefthook_that_writes_its_hooks_again_is_chained_again(layout: Make, stub: Stub) -> None:
    made = layout("lefthook")
    before = listing(made.root / ".git/hooks")
    install_rekal(made.repo, (), stub.path)
    hook = made.root / ".git/hooks/post-commit"
    assert b"LEFTHOOK" in hook.read_bytes(), "lefthook stops at a strange file whose .old name is taken"
    support.lefthook_generate(made)

    assert statuses(made, stub) == {"displaced"}
    assert repair_hooks(made.repo, stub.path)
    assert statuses(made, stub) == {"installed"}
    commit(made.root)
    assert [line for line in made.logged() if line] == ["post-commit"]
    assert len(events(made.root)) == 1
    stub.calls(1)
    uninstall_rekal(made.repo)
    assert listing(made.root / ".git/hooks") == before


def test_lefthook_installed_after_us_moves_us_aside(layout: Make, stub: Stub) -> None:
    made = layout("plain")
    original = (made.root / ".git/hooks/post-commit").read_bytes()
    install_rekal(made.repo, (), stub.path)
    hook = made.root / ".git/hooks/post-commit"
    for name in support.NAMES:
        (hook.with_name(name)).rename(hook.with_name(f"{name}.old"))
    support.lefthook_generate(made)

    assert repair_hooks(made.repo, stub.path)
    assert hook.with_name("post-commit.old").read_bytes() == original, "as lefthook would have kept it"
    commit(made.root)
    assert [line for line in made.logged() if line] == ["post-commit"]
    stub.calls(1)
    uninstall_rekal(made.repo)
    assert b"call_lefthook" in hook.read_bytes()
    assert not list(hook.parent.glob("*rekal*"))


def test_our_file_that_lefthook_moved_aside_does_not_block_its_next_time(layout: Make, stub: Stub) -> None:
    made = layout("none")
    install_rekal(made.repo, (), stub.path)
    hook = made.root / ".git/hooks/post-commit"
    hook.rename(hook.with_name("post-commit.old"))
    support.lefthook_generate(made)
    repair_hooks(made.repo, stub.path)
    assert not hook.with_name("post-commit.old").exists()


def test_a_manager_that_removes_our_file_is_gone_for_good(layout: Make, stub: Stub) -> None:
    made = layout("lefthook")
    install_rekal(made.repo, (), stub.path)
    for name in support.NAMES:
        (made.root / ".git/hooks" / name).unlink()
    assert statuses(made, stub) == {"missing"}
    assert repair_hooks(made.repo, stub.path)
    commit(made.root)
    assert made.logged() == []
    stub.calls(1)


def test_a_user_s_hook_under_a_removed_hook_of_ours_runs_again(layout: Make, stub: Stub) -> None:
    made = layout("plain")
    before = listing(made.root / ".git/hooks")
    install_rekal(made.repo, (), stub.path)
    (made.root / ".git/hooks/post-commit").unlink()
    assert repair_hooks(made.repo, stub.path)
    commit(made.root)
    assert made.logged()[0] == "post-commit"
    (made.root / ".git/hooks/post-commit").unlink()
    uninstall_rekal(made.repo)
    assert listing(made.root / ".git/hooks") == before
    stub.calls(1)


def test_husky_installed_again(layout: Make, stub: Stub) -> None:
    made = layout("husky")
    before = listing(made.root / ".husky")
    notes = install_rekal(made.repo, (), stub.path).notes
    assert any("add to .husky/post-commit: " in note for note in notes)
    support.husky_generate(made.root)
    assert statuses(made, stub) == {"displaced"}
    assert repair_hooks(made.repo, stub.path)
    commit(made.root)
    assert [line for line in made.logged() if line] == ["post-commit"]
    stub.calls(1)
    support.husky_generate(made.root)
    uninstall_rekal(made.repo)
    assert listing(made.root / ".husky") == before


def test_husky_without_a_user_hook_of_the_name_keeps_ours(layout: Make, stub: Stub) -> None:
    made = layout("husky-free")
    assert install_rekal(made.repo, (), stub.path).notes == ()
    support.husky_generate(made.root)
    assert statuses(made, stub) == {"installed"}
    assert git(made.root, "status", "--short") == ""
    commit(made.root)
    assert len(events(made.root)) == 1
    stub.calls(1)


@pytest.mark.parametrize("directory", [".githooks", ".husky"])
def test_a_tracked_hook_is_refused_until_the_user_calls_us(
    directory: str, layout: Make, stub: Stub, repo: Path
) -> None:
    made = layout("none")
    hook = repo / directory / "post-commit"
    script(hook, "#!/bin/sh\n" + made.foreign("post-commit"))
    git(repo, "add", directory)
    git(repo, "config", "core.hooksPath", directory)
    git(repo, "commit", "-q", "-m", "tracked hooks")
    made.logged()
    before = listing(repo)
    with pytest.raises(Refused) as refusal:
        install_rekal(made.repo, ("claude",), stub.path)
    assert refusal.value.exit_code == REFUSED
    assert listing(repo) == before and not (repo / ".rekal").exists()

    line = refusal.value.hint.split(": ", 1)[1]
    hook.write_text(hook.read_text("utf-8") + line + "\n", "utf-8")
    git(repo, "commit", "-q", "-a", "-m", "call rekal")
    made.logged()
    before = listing(repo)
    install_rekal(made.repo, (), stub.path)
    assert git(repo, "status", "--short") == ""
    commit(repo)
    assert [text for text in made.logged() if text] == ["post-commit"]
    assert len(events(repo)) == 1
    stub.calls(1)
    uninstall_rekal(made.repo)
    git(repo, "reset", "-q", "--hard", "HEAD~1")
    made.logged()
    assert listing(repo) == before


def test_a_tracked_hook_of_lesser_weight_is_a_note(layout: Make, stub: Stub, repo: Path) -> None:
    made = layout("none")
    script(repo / ".githooks/pre-push", "#!/bin/sh\n")
    git(repo, "add", ".githooks")
    git(repo, "config", "core.hooksPath", ".githooks")
    (note,) = install_rekal(made.repo, (), stub.path).notes
    assert note.startswith("pre-push is a tracked file")
    assert (repo / ".githooks/pre-push").read_text("utf-8") == "#!/bin/sh\n"
    assert git(repo, "status", "--short") == "A  .githooks/pre-push\n"


def test_a_hook_of_an_earlier_version_is_upgraded(layout: Make, stub: Stub, repo: Path) -> None:
    made = layout("none")
    script(repo / ".git/hooks/post-commit", "#!/bin/sh\n# managed by rekal\nrekal checkpoint\n")
    assert "outdated" in statuses(made, stub)
    install_rekal(made.repo, (), stub.path)
    assert not chained_path(repo / ".git/hooks/post-commit").exists()
    assert statuses(made, stub) == {"installed"}


def test_a_hook_that_git_would_not_run_is_kept_and_not_run(layout: Make, stub: Stub, repo: Path) -> None:
    made = layout("plain")
    (repo / ".git/hooks/post-commit").chmod(0o644)
    before = listing(repo / ".git/hooks")
    install_rekal(made.repo, (), stub.path)
    commit(repo)
    assert made.logged() == []
    stub.calls(1)
    uninstall_rekal(made.repo)
    assert listing(repo / ".git/hooks") == before


def test_a_hook_replaced_by_hand_is_left_with_a_word(layout: Make, stub: Stub, repo: Path) -> None:
    made = layout("plain")
    install_rekal(made.repo, (), stub.path)
    hook = repo / ".git/hooks/post-commit"
    script(hook, "#!/bin/sh\necho by hand\n")
    notes = uninstall_rekal(made.repo).notes
    assert any(str(chained_path(hook)) in note for note in notes)
    assert hook.read_text("utf-8") == "#!/bin/sh\necho by hand\n"
    assert chained_path(hook).exists()


def test_a_directory_in_a_hook_s_place_costs_that_hook(layout: Make, stub: Stub, repo: Path) -> None:
    made = layout("none")
    (repo / ".git/hooks/post-merge").mkdir()
    installed = install_rekal(made.repo, (), stub.path)
    assert [hook.status for hook in installed.hooks] == ["installed", "refused", "installed", "installed"]
    assert not repair_hooks(made.repo, stub.path)
    uninstall_rekal(made.repo)
    assert (repo / ".git/hooks/post-merge").is_dir()


def test_a_shared_directory_is_said(layout: Make, stub: Stub, repo: Path) -> None:
    (note,) = install_rekal(layout("global-path").repo, (), stub.path).notes
    assert str(repo.parent / "my hooks") in note


def test_an_earlier_hook_is_never_lost_to_a_later_one(layout: Make, stub: Stub, repo: Path) -> None:
    made = layout("plain")
    hook = repo / ".git/hooks/post-commit"
    original = hook.read_bytes()
    install_rekal(made.repo, (), stub.path)
    script(hook, "#!/bin/sh\n" + made.foreign("by-hand"))
    assert repair_hooks(made.repo, stub.path)
    commit(repo)
    assert [line for line in made.logged() if line] == ["by-hand"]
    stub.calls(1)
    kept = hook.with_name("post-commit.rekal-chained-before")
    assert kept.read_bytes() == original
    assert any(str(kept) in note for note in uninstall_rekal(made.repo).notes)
    assert kept.read_bytes() == original and b"by-hand" in hook.read_bytes()
