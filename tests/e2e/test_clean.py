"""``init`` then ``clean`` leaves nothing behind, and settings that switch everything off do."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

from tests.support.installed_rekal import Live, listing, worked


def test_init_then_clean_is_byte_identical(repo: Path, home: Path) -> None:
    (repo / "CLAUDE.md").write_bytes(b"# House rules\r\n\r\nNo tabs.")
    (repo / "CLAUDE.md").chmod(0o600)
    (repo / "untracked.txt").write_text("mine\n", encoding="utf-8")
    hook = repo / ".git" / "hooks" / "post-commit"
    hook.write_text("#!/bin/sh\nexit 0\n", encoding="utf-8")
    hook.chmod(0o755)
    (repo / ".git" / "info" / "exclude").write_bytes(b"*.log")
    (home / ".claude").mkdir()
    (home / ".codex").mkdir()
    live = Live(repo)
    before, status = listing(repo), live.git("status", "--porcelain=v2", "--branch")
    live("init", "--backfill", "0")
    assert listing(repo) != before
    live.settle()
    live("init")
    live("recall", "why is the sky blue", code=1)
    live("clean", "--yes")
    assert listing(repo) == before
    assert live.git("status", "--porcelain=v2", "--branch") == status


def test_a_store_that_is_still_empty_is_no_problem(live: Live) -> None:
    live.layout.index.unlink(missing_ok=True)
    status = live("status").out
    assert "nothing to index yet" in status
    assert "!" not in status


def test_clean_after_work_leaves_only_the_work(live: Live, home: Path) -> None:
    worked(home, live.root, "one")
    live.commit("Add the queue")
    live.settle()
    live("clean", "--yes")
    assert live.git("status", "--porcelain", "--ignored") == ""
    hooks = live.root / ".git" / "hooks"
    assert not [path for path in hooks.iterdir() if path.suffix != ".sample"]


def test_switched_off_by_a_setting_the_hooks_do_nothing_until_it_is_switched_on(live: Live, home: Path) -> None:
    settings = live.layout.own_config
    settings.write_text("enabled: false\n", encoding="utf-8")
    assert "switched off" in live("checkpoint", code=5).err
    native = worked(home, live.root, "one")
    unseen = live.commit("Add the queue")
    assert not list(live.layout.spool.iterdir())
    settings.unlink()
    assert "disabled" not in live("status").out
    second = worked(home, live.root, "two", "other.py")
    sha = live.commit("Add the other")
    live.settle()
    assert live.links() == {sha: [second]}
    assert live.rows("SELECT native_id FROM sessions WHERE native_id <> ?".replace("?", f"'{second}'")) == [[native]]
    assert unseen != sha


def test_the_first_commit_after_switching_off_is_the_last_to_start_a_worker(live: Live, home: Path) -> None:
    (home / ".config" / "rekal").mkdir(parents=True)
    live.layout.own_config.write_text("enabled: false\n", encoding="utf-8")
    native = worked(home, live.root, "one")
    live.commit("Add the queue")
    live("_worker")
    assert (live.layout.run / "disabled").is_file()
    (live.root / "more.txt").write_text("more\n", encoding="utf-8")
    waiting = sorted(live.layout.spool.iterdir())
    live.commit("More")
    assert sorted(live.layout.spool.iterdir()) == waiting
    assert live.rows("SELECT native_id FROM sessions") == []
    assert native


def test_a_commit_says_once_that_the_store_is_gone(live: Live) -> None:
    def commit() -> str:
        call = ["git", "commit", "-q", "--allow-empty", "-m", "more"]
        return subprocess.run(call, cwd=live.root, capture_output=True, text=True, timeout=60, check=True).stderr

    assert commit() == ""
    live.settle()
    shutil.rmtree(live.layout.directory)
    live.layout.second.unlink()
    assert commit().startswith("rekal: the store of this repository is gone and nothing is captured")
    assert commit() == ""
    live("init", "--backfill", "0", "--hooks-only")
    assert commit() == ""
    live.settle()


def test_a_commit_says_once_that_all_beside_the_store_is_gone_and_init_keeps_the_store(live: Live, home: Path) -> None:
    def commit(cwd: Path) -> str:
        call = ["git", "commit", "-q", "--allow-empty", "-m", "more"]
        return subprocess.run(call, cwd=cwd, capture_output=True, text=True, timeout=60, check=True).stderr

    native = worked(home, live.root, "one")
    live.commit("Add the queue")
    live.settle()
    live.git("worktree", "add", "-q", "../linked")
    shutil.rmtree(live.layout.run)
    assert commit(live.root.parent / "linked").startswith("rekal: the store of this repository is gone")
    assert commit(live.root) == ""
    live("init", "--backfill", "0", "--hooks-only")
    assert commit(live.root) == ""
    live.settle()
    assert live.rows("SELECT native_id FROM sessions") == [[native]]


def test_hooks_of_other_repositories_say_nothing_where_there_is_no_store(live: Live, tmp_path: Path) -> None:
    other = tmp_path / "other"
    live.git("init", "-q", str(other))
    live.git("config", "core.hooksPath", str(live.layout.run.parent / "hooks"), cwd=other)
    call = ["git", "commit", "-q", "--allow-empty", "-m", "more"]
    assert subprocess.run(call, cwd=other, capture_output=True, text=True, timeout=60, check=True).stderr == ""


def test_a_work_tree_without_the_relative_directory_of_hooks_is_named(live: Live) -> None:
    live.git("config", "core.hooksPath", ".hooks")
    live("init", "--backfill", "0")
    live.git("worktree", "add", "-q", "../linked")

    said = live("status").out
    assert f"no hook runs in {live.root.parent / 'linked'}, because core.hooksPath is relative" in said
    live.git("config", "core.hooksPath", str(live.root / ".hooks"))
    assert "no hook runs in" not in live("status").out
