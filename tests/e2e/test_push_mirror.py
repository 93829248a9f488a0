"""A push of the user's own takes memory to no remote that sharing does not name."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from tests.conftest import git
from tests.support.installed_rekal import Live

REFS = ("refs/rekal/me/0123456789", "refs/rekal-remote/origin/mara/0123456789", "refs/heads/rekal/me/0123456789")


def push(root: Path, *args: str) -> subprocess.CompletedProcess[str]:
    """``git push`` with our hooks, whatever comes of it."""
    return subprocess.run(["git", "push", *args], cwd=root, capture_output=True, text=True, timeout=60, check=False)


def names(remote: Path) -> list[str]:
    """The refs of a remote."""
    return git(remote, "for-each-ref", "--format=%(refname)").split()


@pytest.fixture
def remote(live: Live, tmp_path: Path) -> Path:
    """An empty remote ``public``, and refs with memory here."""
    bare = tmp_path / "public.git"
    git(tmp_path, "init", "-q", "--bare", str(bare))
    git(live.root, "remote", "add", "public", str(bare))
    for name in REFS:
        git(live.root, "update-ref", name, "HEAD")
    return bare


@pytest.mark.parametrize("refs", [["--mirror"], ["refs/*:refs/*"], [f"{REFS[0]}:refs/heads/innocent"], [REFS[2]]])
def test_memory_goes_to_no_remote_that_is_not_named(live: Live, remote: Path, refs: list[str]) -> None:
    done = push(live.root, "public", *refs)

    assert done.returncode != 0
    assert "would take memory" in done.stderr
    assert "rekal share public" in done.stderr
    assert names(remote) == []


def test_other_refs_go_where_they_went(live: Live, remote: Path) -> None:
    git(live.root, "branch", "rekal/topic")

    done = push(live.root, "public", "main", "rekal/topic")

    assert (done.returncode, done.stderr.count("rekal:")) == (0, 0)
    assert names(remote) == ["refs/heads/main", "refs/heads/rekal/topic"]


def test_a_remote_that_is_named_takes_all_and_deleting_is_always_allowed(live: Live, remote: Path) -> None:
    live("share", "public")
    assert push(live.root, "public", *REFS).returncode == 0
    live("share", "--stop")

    done = push(live.root, "public", "--delete", REFS[0])

    assert done.returncode == 0
    assert REFS[0] not in names(remote)
