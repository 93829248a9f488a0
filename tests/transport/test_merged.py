"""What may leave: only what the mainline has, under whatever name and shape."""

from __future__ import annotations

from pathlib import Path

import pytest

from rekal import ids
from rekal.git import Repo, find_repo
from rekal.git.patch_ids import compute_first_parent_patch_ids
from rekal.model import Checkpoint
from rekal.transport.mainline import Mainline, Why, find_mainline, judge_commits
from tests.conftest import git

EMAIL = "person@example.com"


def _commit(root: Path, name: str, content: str) -> str:
    (root / name).write_text(content, encoding="utf-8")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", f"write {name}")
    return git(root, "rev-parse", "HEAD").strip()


def _at(sha: str, patch_id: str | None = None) -> Checkpoint:
    return Checkpoint(id=ids.checkpoint_id(sha, EMAIL), git_sha=sha, author_email=EMAIL, patch_id=patch_id)


def _why(root: Path, *shas: str) -> list[Why]:
    tip = git(root, "rev-parse", "main").strip()
    return [
        one.why for one in judge_commits(find_repo(root), Mainline("refs/heads/main", tip), [_at(sha) for sha in shas])
    ]


def test_the_mainlines_own_commits_leave_and_a_branchs_do_not(repo: Path) -> None:
    merged = _commit(repo, "a.py", "a = 1\n")
    git(repo, "checkout", "-q", "-b", "topic")
    held = _commit(repo, "b.py", "b = 1\n")

    assert _why(repo, merged, held, merged) == [Why.REACHED, Why.UNMERGED, Why.REACHED]


def test_a_merged_branch_leaves(repo: Path) -> None:
    git(repo, "checkout", "-q", "-b", "topic")
    sha = _commit(repo, "b.py", "b = 1\n")
    git(repo, "checkout", "-q", "main")
    git(repo, "merge", "-q", "--no-ff", "-m", "merge", "topic")

    assert _why(repo, sha) == [Why.REACHED]


def test_a_cherry_picked_commit_leaves_and_its_neighbour_does_not(repo: Path) -> None:
    git(repo, "checkout", "-q", "-b", "topic")
    picked, held = _commit(repo, "b.py", "b = 1\n"), _commit(repo, "c.py", "c = 1\n")
    git(repo, "checkout", "-q", "main")
    _commit(repo, "other.py", "x = 1\n")
    git(repo, "cherry-pick", picked)
    _commit(repo, "later.py", "y = 1\n")

    assert _why(repo, picked, held) == [Why.SAME_CHANGE, Why.UNMERGED]


def test_a_squashed_branch_leaves_with_all_its_commits(repo: Path) -> None:
    git(repo, "checkout", "-q", "-b", "topic")
    first, second = _commit(repo, "b.py", "b = 1\n"), _commit(repo, "b.py", "b = 1\nc = 2\n")
    git(repo, "checkout", "-q", "main")
    _commit(repo, "other.py", "x = 1\n")
    git(repo, "merge", "-q", "--squash", "topic")
    git(repo, "commit", "-q", "-m", "topic (#1)")

    assert _why(repo, first, second) == [Why.BELOW_SQUASHED, Why.SQUASHED]
    assert _why(repo, first) == [Why.BELOW_SQUASHED]  # proven by the local branch's tip


def test_what_was_added_after_the_squash_is_held(repo: Path) -> None:
    git(repo, "checkout", "-q", "-b", "topic")
    first, second = _commit(repo, "b.py", "b = 1\n"), _commit(repo, "b.py", "b = 1\nc = 2\n")
    git(repo, "checkout", "-q", "main")
    git(repo, "merge", "-q", "--squash", "topic")
    git(repo, "commit", "-q", "-m", "topic (#1)")
    git(repo, "checkout", "-q", "topic")
    later = _commit(repo, "secret_plan.py", "d = 3\n")

    assert _why(repo, first, second, later) == [Why.BELOW_SQUASHED, Why.SQUASHED, Why.UNMERGED]


def test_a_branch_that_ends_where_it_began_proves_nothing(repo: Path) -> None:
    git(repo, "checkout", "-q", "-b", "topic")
    there = _commit(repo, "b.py", "b = 1\n")
    (repo / "b.py").unlink()
    git(repo, "add", "-A")
    git(repo, "commit", "-q", "-m", "take it back")
    back = git(repo, "rev-parse", "HEAD").strip()
    git(repo, "checkout", "-q", "main")
    git(repo, "commit", "-q", "--allow-empty", "-m", "nothing")
    _commit(repo, "c.py", "c = 1\n")

    assert _why(repo, there, back) == [Why.UNMERGED, Why.UNMERGED]


def test_a_commit_that_is_gone_leaves_by_its_recorded_change_only(repo: Path) -> None:
    git(repo, "checkout", "-q", "-b", "topic")
    sha = _commit(repo, "b.py", "b = 1\n")
    found = find_repo(repo)
    commit = found.commit(sha)
    assert commit is not None
    patch_id = compute_first_parent_patch_ids(found, [commit])[sha]
    git(repo, "checkout", "-q", "main")
    git(repo, "cherry-pick", "--no-commit", sha)
    git(repo, "commit", "-q", "-m", "again")
    mainline = Mainline("refs/heads/main", git(repo, "rev-parse", "main").strip())
    gone = "1234567890" * 4

    verdicts = judge_commits(found, mainline, [_at(gone, patch_id), _at(gone[::-1]), _at(gone[1:] + "f", "e" * 40)])

    assert [one.why for one in verdicts] == [Why.SAME_CHANGE, Why.GONE, Why.GONE]


@pytest.mark.parametrize("sha", ["", "HEAD", "main", "--all", "^main", "refs/heads/main"])
def test_a_name_that_is_no_commits_opens_nothing(repo: Path, sha: str) -> None:
    (verdict,) = judge_commits(
        find_repo(repo), Mainline("refs/heads/main", git(repo, "rev-parse", "main").strip()), [_at(sha)]
    )

    assert verdict.why is Why.GONE
    assert not verdict.shareable


def test_without_a_mainline_nothing_leaves(repo: Path) -> None:
    sha = _commit(repo, "a.py", "a = 1\n")

    (verdict,) = judge_commits(find_repo(repo), None, [_at(sha)])

    assert not verdict.shareable
    assert verdict.sentence() == f"{sha[:12]} has no mainline to be part of"


def test_known_verdicts_are_not_asked_again(repo: Path) -> None:
    sha = git(repo, "rev-parse", "main").strip()
    nowhere = Repo(repo / "gone", repo / "gone", repo, repo)

    (verdict,) = judge_commits(nowhere, Mainline("refs/heads/main", sha), [_at(sha)], {sha: Why.SQUASHED})

    assert verdict.shareable


@pytest.fixture
def clone(repo: Path, tmp_path: Path) -> Path:
    """A clone of the repository, whose ``origin/HEAD`` names main."""
    git(tmp_path, "clone", "-q", str(repo), "clone")
    return tmp_path / "clone"


def test_the_mainline_is_what_the_remotes_head_names(clone: Path) -> None:
    tip = git(clone, "rev-parse", "origin/main").strip()
    _commit(clone, "a.py", "a = 1\n")

    assert find_mainline(find_repo(clone), "origin") == Mainline("refs/heads/main", tip)


def test_a_branch_that_was_chosen_comes_before_the_remotes_head(clone: Path) -> None:
    git(clone, "checkout", "-q", "-b", "release")
    release = _commit(clone, "a.py", "a = 1\n")

    assert find_mainline(find_repo(clone), "origin", "release") is None
    git(clone, "update-ref", "refs/remotes/origin/release", release)
    assert find_mainline(find_repo(clone), "origin", "release") == Mainline("refs/heads/release", release)


def test_without_a_head_it_is_the_configured_branch(clone: Path) -> None:
    git(clone, "remote", "set-head", "origin", "--delete")
    tip = git(clone, "rev-parse", "origin/main").strip()

    assert find_mainline(find_repo(clone), "origin", "main") == Mainline("refs/heads/main", tip)
    assert find_mainline(find_repo(clone), "origin", "nowhere") is None
    assert find_mainline(find_repo(clone), "origin") is None


def test_a_push_of_the_mainline_counts_as_done_unless_it_goes_back(clone: Path) -> None:
    found = find_repo(clone)
    old = git(clone, "rev-parse", "origin/main").strip()
    new = _commit(clone, "a.py", "a = 1\n")
    git(clone, "checkout", "-q", "--orphan", "elsewhere")
    unrelated = _commit(clone, "z.py", "z = 1\n")

    def tip(pushed: dict[str, str]) -> str | None:
        mainline = find_mainline(found, "origin", pushed=pushed)
        return None if mainline is None else mainline.tip

    assert tip({"refs/heads/main": new}) == new
    assert tip({"refs/heads/topic": new}) == old
    assert tip({"refs/heads/main": unrelated}) == old
    assert tip({"refs/heads/main": "0" * 40}) == old


def test_the_first_push_of_all_makes_the_mainline(repo: Path) -> None:
    sha = git(repo, "rev-parse", "main").strip()

    assert find_mainline(find_repo(repo), "origin", "main", {"refs/heads/main": sha}) == Mainline(
        "refs/heads/main", sha
    )
