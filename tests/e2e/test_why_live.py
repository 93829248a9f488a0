"""``rekal why`` after real hooks and workers: as one types it, through git, from another work tree."""

from __future__ import annotations

import os
from pathlib import Path

from tests.support.installed_rekal import REKAL, Live, worked

ASKED = "Why should the retry queue live in postgres, one?"


def test_a_line_is_explained_after_amend_and_rebase(live: Live, home: Path) -> None:
    live.git("checkout", "-q", "-b", "work")
    worked(home, live.root, "one")
    live.commit("Add the queue")
    live.settle()
    live.commit("Add the retry queue", "--amend")
    live.settle()
    live.git("checkout", "-q", "main")
    (live.root / "other.txt").write_text("meanwhile\n", encoding="utf-8")
    live.commit("Meanwhile")
    live.git("rebase", "-q", "main", "work")
    live.settle()
    out = live("why", "queue.py:1").out
    assert out.startswith("queue.py:1  line  ")
    assert ASKED in out
    assert live("why", "other.txt:1", code=1).out.startswith("other.txt:1  no record")


def test_a_squash_merged_branch_is_explained(live: Live, home: Path) -> None:
    live.git("checkout", "-q", "-b", "work")
    worked(home, live.root, "one")
    live.commit("Add the queue")
    worked(home, live.root, "two", "log.py", "warnings are yellow in this log\n")
    live.commit("Colour the log")
    live.settle()
    olds = set(live.git("rev-list", "main..work").split())
    live.git("checkout", "-q", "main")
    live.git("merge", "-q", "--squash", "work")
    new = live.commit("Both (#7)")
    live.settle()
    rows = live.rows("SELECT old_sha, new_sha, how FROM rewrites")
    assert {(old, sha, how) for old, sha, how in rows} == {(old, new, "squash") for old in olds}
    assert ASKED in live("why", "queue.py:1").out
    assert "postgres, two?" in live("why", "log.py:1").out
    assert len(live.links()[new]) == 2


def test_git_rekal_why_from_another_work_tree(live: Live, home: Path, tmp_path: Path) -> None:
    worked(home, live.root, "one")
    live.commit("Add the queue")
    live.settle()
    tree = tmp_path / "second tree"
    live.git("worktree", "add", "-q", "-b", "second", str(tree))
    path = {"PATH": f"{REKAL.parent}{os.pathsep}{os.environ['PATH']}"}
    assert ASKED in live.git("rekal", "why", "queue.py:1", cwd=tree, env=path)
    assert ASKED in live.git("rekal", "why", "HEAD", cwd=tree, env=path)
