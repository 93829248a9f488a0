"""``rekal report`` for pull requests, and ``rekal log`` with rewrites and the graph."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.capture.test_link import commit, work
from tests.conftest import git
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession
from tests.why.test_why import START, queue_session


@pytest.fixture
def base(rekal: Rekal, home: Path) -> str:
    """The commit below two others: one of a session, one by hand."""
    below = git(rekal.root, "rev-parse", "HEAD").strip()
    queue_session(rekal, home)
    commit(rekal.root, START + timedelta(minutes=5), "Retry failed jobs")
    work(rekal.root, "notes.txt", "typed by hand\n")
    commit(rekal.root, START + timedelta(hours=9), "Notes")
    assert rekal("_worker").code == 0
    return below


def test_text_has_three_lines_a_commit(rekal: Rekal, base: str) -> None:
    done = rekal("report", f"{base}..HEAD")
    assert done.code == 0, done.err
    lines = done.out.splitlines()
    assert "Retry failed jobs" in lines[0]
    assert lines[1].startswith("  prompt ") and lines[1].endswith("Make failed jobs run again")
    assert lines[2].startswith("  because ") and "because the broker drops jobs" in lines[2]
    assert lines[4:] == ["  no record", "1 of 2 commits have a session"]


def test_markdown_keeps_recalled_words_words(rekal: Rekal, home: Path) -> None:
    s = ClaudeSession(home, rekal.root, "one", start=START).human("See ![this](http://x.example/a.png) @everybody")
    s.writes(work(rekal.root, "a.py", "alpha = 12345\n"), "alpha = 12345\n", text="Done.")
    commit(rekal.root, START + timedelta(minutes=5), "Add *alpha*")
    rekal("_worker")
    out = rekal("report", "HEAD~1..HEAD", "--format", "markdown").out
    assert r"**Add \*alpha\***" in out
    assert r"\!\[this\](" in out and r"\@everybody" in out


def test_without_a_range_the_report_is_on_what_the_branch_adds(rekal: Rekal, base: str) -> None:
    here = git(rekal.root, "branch", "--show-current").strip()
    git(rekal.root, "branch", "-m", here, "work")
    alone = rekal("report")
    assert alone.code == 2 and "write BASE..HEAD" in alone.err
    git(rekal.root, "branch", "main", base)
    assert rekal("report", "--json").json["range"] == "heads/main..HEAD"
    git(rekal.root, "update-ref", "refs/remotes/origin/trunk", "HEAD~1")
    git(rekal.root, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/trunk")
    answer = rekal("report", "--json").json  # what the remote has counts more than a branch of the same name here
    assert (answer["range"], len(answer["commits"])) == ("remotes/origin/HEAD..HEAD", 1)


def test_json_and_an_empty_range(rekal: Rekal, base: str) -> None:
    answer = rekal("report", f"{base}..HEAD", "--json").json
    assert (len(answer["commits"]), answer["covered"], answer["secrets"]) == (2, 1, {})
    assert rekal("report", "HEAD..HEAD").code == 1
    assert rekal("report", "HEAD").code == 2
    assert rekal("report", "no-such..HEAD").code == 2


def test_a_secret_in_a_linked_session_is_refused_and_not_shown(rekal: Rekal, base: str) -> None:
    import duckdb

    secret = "ghp_" + "A1b2C3d4E5f6G7h8I9j0" * 2
    with duckdb.connect(str(rekal.layout.data)) as con:  # as a store filled under older rules may have it
        con.execute("UPDATE turns SET content = content || ? WHERE seq = 0", [f" {secret[:40]}"])
    done = rekal("report", f"{base}..HEAD", "--json")
    assert done.code == 5
    assert sum(done.json["secrets"].values()) >= 1
    assert "secrets found: " in rekal("report", f"{base}..HEAD").out


def test_rewrites_are_listed(rekal: Rekal, base: str) -> None:
    old = git(rekal.root, "rev-parse", "HEAD~1").strip()
    git(rekal.root, "checkout", "-q", "-b", "other", base)
    (rekal.root / "elsewhere.txt").write_text("so that the copy gets another name\n", encoding="utf-8")
    commit(rekal.root, START + timedelta(hours=10), "Elsewhere")
    git(rekal.root, "cherry-pick", old)
    assert rekal("_worker").code == 0
    new = git(rekal.root, "rev-parse", "HEAD").strip()
    assert rekal("log", "--rewrites").out == f"{old[:10]} -> {new[:10]}  patch-id\n"
    (rewrite,) = rekal("log", "--rewrites", "--json").json["rewrites"]
    assert rewrite == {"old_sha": old, "new_sha": new, "how": "patch-id"}
    assert {old[:10], new[:10]} <= {row.split()[0] for row in rekal("log").out.splitlines()}
    assert "Make failed jobs run again" in rekal("why", "queue.py:3").out


def test_the_graph_shows_sessions_at_their_commits(rekal: Rekal, base: str) -> None:
    rows = rekal("log", "--graph").out.splitlines()
    assert rows[0].startswith("* ") and rows[0].endswith("Notes")
    assert rows[1].startswith("* ") and rows[1].endswith("Retry failed jobs")
    assert rows[2].startswith("|     ") and rows[2].endswith(":0-1  edited")
    assert rekal("log", "--graph", "--json").code == 2
    assert [row for row in rekal("log", "--graph", "--file", "notes.txt").out.splitlines() if row.startswith("* ")] == [
        rows[0]
    ]


def test_status_counts_commits_that_no_hook_saw(rekal: Rekal, base: str) -> None:
    def reasons() -> dict[str, int]:
        found: dict[str, int] = rekal("status", "--json").json["coverage"]["reasons"]
        return {reason: count for reason, count in found.items() if "did not see" in reason}

    assert reasons() == {}
    git(rekal.root, "-c", "core.hooksPath=/dev/null", "commit", "-q", "--allow-empty", "-m", "Unseen")
    assert list(reasons().values()) == [1]
    assert "1: the hooks did not see it" in rekal("status").out
