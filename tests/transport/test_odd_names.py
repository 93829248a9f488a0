"""Names of branches and refs with characters that break lines elsewhere than in git's output."""

from __future__ import annotations

from pathlib import Path

from rekal.git import split_output
from tests.capture.test_link import commit, work
from tests.conftest import git
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession

ODD = "odd\u2028name\x85"


def test_only_a_line_feed_ends_a_line_of_git() -> None:
    assert split_output("a\u2028b\nc\x85\n") == ["a\u2028b", "c\x85"]
    assert split_output("") == split_output(None) == []
    assert split_output("a\n\nb") == ["a", "", "b"]


def test_commits_of_an_oddly_named_branch_keep_their_own_branches(rekal: Rekal) -> None:
    session = ClaudeSession(rekal.home, rekal.root, "one").human("Write the queue and the broker")
    git(rekal.root, "checkout", "-q", "-b", ODD)
    for name in ("queue", "broker"):
        session.writes(work(rekal.root, f"{name}.py", f"{name} line one\n"), f"{name} line one")
        commit(rekal.root, session.now, f"Add the {name}")
    assert rekal("_worker").code == 0
    listed = rekal("query", "--json", "SELECT DISTINCT branch FROM checkpoints").json["rows"]
    assert listed == [[ODD]]


def test_an_oddly_named_ref_of_a_remote_stops_nothing(rekal: Rekal, remote: Path) -> None:
    session = ClaudeSession(rekal.home, rekal.root, "one").human("Write the queue")
    session.writes(work(rekal.root, "queue.py", "queue line one\n"), "queue line one")
    commit(rekal.root, session.now, "Add the queue")
    git(rekal.root, "push", "-q")
    assert rekal("_worker").code == 0
    assert rekal("push").code == 0
    git(remote, "update-ref", f"refs/rekal/more/{ODD}", "HEAD")
    git(rekal.root, "update-ref", f"refs/rekal-remote/origin/{ODD}", "HEAD")
    git(rekal.root, "update-ref", f"refs/rekal-pushed/origin/{ODD}", "HEAD")
    [(handle,)] = rekal("query", "--json", "SELECT id FROM sessions").json["rows"]
    for words in (("status",), ("sync",), ("receive",), ("push",), ("forget", "--yes", handle), ("audit",)):
        done = rekal(*words)
        assert done.code in (0, 1), (words, done.err)
        assert "Traceback" not in done.err and "unexpected" not in done.err
