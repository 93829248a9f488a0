"""A squash whose conflicts were resolved is told from one that left something out."""

from __future__ import annotations

from pathlib import Path

import pytest

from rekal.git import find_repo
from rekal.git.patch_ids import is_absorbed, read_change
from rekal.transport.mainline import Mainline, Why, judge_commits
from tests.conftest import git
from tests.transport.test_merged import _at, _commit

OURS = "limit = 10\nretries = 3\nbackoff = 2.5\n"
THEIRS = "limit = 20\ntimeout = 30\n"
BOTH = "limit = 10\nretries = 3\nbackoff = 2.5\ntimeout = 30\n"


@pytest.fixture
def topic(repo: Path) -> list[str]:
    """Two commits of a branch; the mainline meanwhile changed the same lines of the first one's file."""
    _commit(repo, "settings.py", "limit = 5\n")
    git(repo, "checkout", "-q", "-b", "topic")
    shas = [_commit(repo, "settings.py", OURS), _commit(repo, "queue.py", "class RetryQueue:\n    pass\n")]
    git(repo, "checkout", "-q", "main")
    _commit(repo, "settings.py", THEIRS)
    return shas


def squash(root: Path, **resolved: str) -> None:
    """Squash the branch with these contents of files, by stem; an empty one leaves the file out."""
    for stem, content in {"queue": "class RetryQueue:\n    pass\n", **resolved}.items():
        if content:
            (root / f"{stem}.py").write_text(content, encoding="utf-8")
    git(root, "add", "-A")
    git(root, "commit", "-q", "-m", "topic (#7)")


def whys(root: Path, *shas: str, said: tuple[str, ...] = ()) -> list[Why]:
    """The verdicts."""
    mainline = Mainline("refs/heads/main", git(root, "rev-parse", "main").strip())
    return [one.why for one in judge_commits(find_repo(root), mainline, [_at(sha) for sha in shas], None, said)]


def test_a_squash_that_holds_every_line_of_the_branch_opens(repo: Path, topic: list[str]) -> None:
    squash(repo, settings=BOTH)

    assert whys(repo, *topic) == [Why.RESOLVED, Why.RESOLVED]


@pytest.mark.parametrize(
    ("resolved", "first"),
    [
        ({"settings": BOTH.replace("backoff = 2.5\n", "")}, Why.UNMERGED),
        ({"settings": BOTH, "queue": ""}, Why.RESOLVED),
        ({"settings": THEIRS}, Why.UNMERGED),
    ],
    ids=["without a line", "without a file", "theirs"],
)
def test_a_squash_that_left_something_out_holds_what_is_not_in_it(
    repo: Path, topic: list[str], resolved: dict[str, str], first: Why
) -> None:
    squash(repo, other="something = 'else'\n", **resolved)

    assert whys(repo, *topic) == [first, Why.UNMERGED]


def test_what_came_after_the_squash_is_held(repo: Path, topic: list[str]) -> None:
    squash(repo, settings=BOTH)
    git(repo, "checkout", "-q", "topic")
    later = _commit(repo, "queue.py", "class RetryQueue:\n    pass\n\n\nsecret_plan = True\n")

    assert whys(repo, *topic, later) == [Why.RESOLVED, Why.RESOLVED, Why.UNMERGED]


def test_lines_spread_over_several_commits_of_the_mainline_are_no_squash(repo: Path, topic: list[str]) -> None:
    _commit(repo, "settings.py", BOTH)
    _commit(repo, "queue.py", "class RetryQueue:\n    pass\n# and a word more\n")

    assert whys(repo, topic[1]) == [Why.UNMERGED]


@pytest.mark.parametrize("content", ["", "}\n", "pass\n"], ids=["nothing", "a brace", "a word"])
def test_a_branch_with_nothing_to_tell_it_by_is_held(repo: Path, content: str) -> None:
    _commit(repo, "a.py", "alpha = 1\nbeta = 2\n")
    git(repo, "checkout", "-q", "-b", "topic")
    sha = _commit(repo, "a.py", content)
    git(repo, "checkout", "-q", "main")
    _commit(repo, "a.py", f"{content}gamma = 3\n")

    assert whys(repo, sha) == [Why.UNMERGED]


def test_the_users_word_opens_for_a_branch_and_nothing_beyond_it(repo: Path, topic: list[str]) -> None:
    squash(repo, settings=THEIRS, other="something = 'else'\n")
    git(repo, "checkout", "-q", "topic")
    later = _commit(repo, "later.py", "later = 'than that'\n")

    assert whys(repo, *topic, later, said=(topic[1],)) == [Why.SAID, Why.SAID, Why.UNMERGED]
    assert whys(repo, later) == [Why.UNMERGED]


@pytest.mark.parametrize(
    "patch",
    [
        b"",
        b"diff --git a/x b/x\nnew file mode 100644\nindex 0..e\n",
        b"diff --git a/x b/x\nindex 1..2 100644\nBinary files a/x and b/x differ\n",
        b"diff --git a/x b/x\nold mode 100644\nnew mode 100755\n",
        b'diff --git "a/\\303" "b/\\303"\n--- "a/\\303"\n+++ "b/\\303"\n@@ -1 +1 @@\n-a\n+b\n',
    ],
    ids=["nothing", "empty file", "binary", "mode", "quoted"],
)
def test_what_is_not_all_lines_is_not_compared(patch: bytes) -> None:
    assert read_change(patch) is None


def test_a_line_that_was_added_twice_is_wanted_twice() -> None:
    def change(*rows: str) -> bytes:
        return "\n".join(["diff --git a/x b/x", "--- a/x", "+++ b/x", "@@ -1 +1,2 @@", *rows, ""]).encode()

    twice, once = read_change(change("+value = 1", "+value = 1")), read_change(change("+value = 1", "-old"))
    assert twice and once
    assert is_absorbed(once, twice)
    assert not is_absorbed(twice, once)
