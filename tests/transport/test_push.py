"""Pushing for real: what leaves, when, and to where."""

from __future__ import annotations

import io
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rekal.wire.segment import decode_segments
from tests.capture.test_link import commit, work
from tests.conftest import git
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession
from tests.transport.team import segments_on

START = datetime(2026, 3, 2, 9, tzinfo=UTC)


def session(rekal: Rekal, name: str, minutes: int = 0) -> None:
    """A session that writes one file, and its commit, captured."""
    start = START + timedelta(minutes=minutes)
    s = ClaudeSession(rekal.home, rekal.root, name, start=start)
    s.human(f"Please write {name}").writes(
        work(rekal.root, f"{name}.py", f"{name} line of code\n"), f"{name} line of code"
    )
    commit(rekal.root, start + timedelta(minutes=2), f"add {name}")
    assert rekal("_worker").code == 0


def on(remote: Path) -> list[str]:
    """Refs with memory on a remote."""
    return git(remote, "for-each-ref", "--format=%(refname)", "refs/rekal").split()


def contents(remote: Path) -> str:
    """Everything readable in every segment on a remote."""
    return "\n".join(repr(decode_segments(segments_on(remote, ref))[0]) for ref in on(remote))


def test_merged_work_leaves_and_only_that(rekal: Rekal, remote: Path) -> None:
    session(rekal, "queue")
    git(rekal.root, "push", "-q")
    git(rekal.root, "checkout", "-q", "-b", "feature")
    session(rekal, "draft", 10)
    done = rekal("push", "--json").json
    assert (done["checkpoints"], done["sessions"], done["sent"]) == (1, 1, True)
    assert [h["why"] for h in done["held"]] == ["is not part of the mainline"]
    assert "Please write queue" in contents(remote)
    assert "draft" not in contents(remote)
    git(rekal.root, "checkout", "-q", "main")
    git(rekal.root, "merge", "-q", "--squash", "feature")
    git(rekal.root, "commit", "-q", "-m", "a message of the host's own")
    git(rekal.root, "push", "-q")
    assert rekal("push", "--json").json["checkpoints"] >= 1
    assert "Please write draft" in contents(remote)


def test_the_users_word_lets_a_branch_leave_that_git_does_not_find_merged(rekal: Rekal, remote: Path) -> None:
    git(rekal.root, "checkout", "-q", "-b", "feature")
    session(rekal, "draft")
    git(rekal.root, "checkout", "-q", "main")
    (rekal.root / "draft.py").write_text("rewritten while merging\n", encoding="utf-8")
    commit(rekal.root, START + timedelta(minutes=9), "feature (#1)")
    git(rekal.root, "push", "-q")
    assert rekal("push", "--json").json["held"][0]["why"] == "is not part of the mainline"
    assert "`rekal push --merged BRANCH`" in rekal("push", "--dry-run").out
    assert rekal("push", "--merged", "nothing").code == 2
    assert len(rekal("push", "--merged", "feature", "--dry-run", "--json").json["leaving"]) == 1
    assert "draft" not in contents(remote)
    assert rekal("push", "--merged", "feature", "--json").json["checkpoints"] == 1
    assert "Please write draft" in contents(remote)


def test_a_dry_run_lists_what_would_leave_and_sends_nothing(rekal: Rekal, remote: Path) -> None:
    session(rekal, "queue")
    git(rekal.root, "push", "-q")
    answer = rekal("push", "--dry-run", "--json").json
    assert [one["subject"] for one in answer["leaving"]] == ["add queue"]
    assert on(remote) == []


def test_the_hook_sends_with_the_push_that_merges(rekal: Rekal, remote: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    session(rekal, "queue")
    head = git(rekal.root, "rev-parse", "HEAD").strip()
    old = git(rekal.root, "rev-parse", "origin/main").strip()
    monkeypatch.setattr("sys.stdin", io.StringIO(f"refs/heads/main {head} refs/heads/main {old}\n"))
    done = rekal("push", "--hook", "origin", str(remote))
    assert (done.code, done.err) == (0, "")
    assert "Please write queue" in contents(remote)
    assert not (rekal.layout.run / "share-on").exists()
    assert rekal("audit", "--json").json["pushes"][0]["remote"] == "origin"


@pytest.mark.parametrize("case", ["other remote", "raw url", "moved"])
def test_memory_goes_only_where_it_was_allowed(
    rekal: Rekal, remote: Path, case: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    session(rekal, "queue")
    other = rekal.root.parent / "other.git"
    git(rekal.root.parent, "init", "-q", "--bare", str(other))
    name = {"other remote": "fork", "raw url": str(other), "moved": "origin"}[case]
    if case == "other remote":
        git(rekal.root, "remote", "add", "fork", str(other))
    if case == "moved":
        git(rekal.root, "remote", "set-url", "origin", str(other))
    monkeypatch.setattr("sys.stdin", io.StringIO(""))
    done = rekal("push", "--hook", name, str(other))
    assert done.code == 0
    assert done.err.count("\n") == 1
    assert on(other) == []


def hook(rekal: Rekal, monkeypatch: pytest.MonkeyPatch, remote: str) -> str:
    """The user's `git push REMOTE main` with the hook before it; what the hook said."""
    head = git(rekal.root, "rev-parse", "main").strip()
    monkeypatch.setattr("sys.stdin", io.StringIO(f"refs/heads/main {head} refs/heads/main {'0' * 40}\n"))
    done = rekal("push", "--hook", remote, git(rekal.root, "remote", "get-url", remote).strip())
    assert done.code == 0
    git(rekal.root, "push", "-q", "--no-verify", remote, "main")
    return done.err


def test_the_index_is_current_after_a_push(rekal: Rekal, remote: Path) -> None:
    session(rekal, "queue")
    rekal("index")
    git(rekal.root, "push", "-q", "origin", "main")

    assert rekal("push", "--json").json["checkpoints"] == 1

    assert rekal("status", "--json").json["index_behind"] == 0


def test_work_leaves_when_the_branch_that_was_chosen_has_it(rekal: Rekal, remote: Path) -> None:
    git(rekal.root, "remote", "set-head", "origin", "main")
    assert rekal("share", "origin", "--mainline", "release").code == 0
    session(rekal, "queue")
    git(rekal.root, "push", "-q", "origin", "main")
    assert rekal("push", "--json").json["checkpoints"] == 0

    git(rekal.root, "push", "-q", "origin", "main:release")

    assert rekal("push", "--json").json["checkpoints"] == 1


@pytest.fixture
def second(rekal: Rekal, remote: Path) -> Path:
    """Another remote, named second, that memory may go to."""
    path = rekal.root.parent / "second.git"
    git(rekal.root.parent, "init", "-q", "--bare", "-b", "main", str(path))
    git(rekal.root, "remote", "add", "second", str(path))
    assert rekal("share", "second", "--mainline", "main").code == 0
    return path


def test_each_of_two_remotes_gets_memory_with_the_push_that_goes_there(
    rekal: Rekal, remote: Path, second: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    session(rekal, "queue")
    assert hook(rekal, monkeypatch, "origin") == ""
    assert "Please write queue" in contents(remote)
    assert (on(second), (rekal.layout.run / "share-on").exists()) == ([], True)
    assert hook(rekal, monkeypatch, "second") == ""
    assert contents(second) == contents(remote)
    assert not (rekal.layout.run / "share-on").exists()


def test_what_one_remote_has_merged_stays_from_another_until_it_has(
    rekal: Rekal, remote: Path, second: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    git(rekal.root, "push", "-q", "--no-verify", "second", "main")
    session(rekal, "queue")
    assert hook(rekal, monkeypatch, "origin") == ""
    said = rekal("push", "second", "--json").json
    assert (said["sent"], on(second)) == (False, [])
    assert said["notes"] == ["1 commits shared elsewhere are not part of second's mainline; its memory waits for them"]
    assert hook(rekal, monkeypatch, "second") == ""
    assert "Please write queue" in contents(second)


def test_a_branch_of_ours_is_never_the_first_of_a_remote(rekal: Rekal, monkeypatch: pytest.MonkeyPatch) -> None:
    path = rekal.root.parent / "empty.git"
    git(rekal.root.parent, "init", "-q", "--bare", "-b", "main", str(path))
    git(rekal.root, "remote", "add", "origin", str(path))
    (rekal.home / "rekal").mkdir()
    (rekal.home / "rekal" / "config.yml").write_text("transport: {namespace: heads}\n", encoding="utf-8")
    assert rekal("share", "origin").code == 0
    session(rekal, "queue")
    assert (
        hook(rekal, monkeypatch, "origin") == "rekal: origin has no branch yet; memory goes there with the next push\n"
    )
    assert git(path, "for-each-ref", "--format=%(refname)").split() == ["refs/heads/main"]
    session(rekal, "more", 10)
    assert hook(rekal, monkeypatch, "origin") == ""
    assert len(git(path, "for-each-ref", "refs/heads/rekal").splitlines()) == 1


def test_a_committed_file_cannot_turn_sharing_on(rekal: Rekal) -> None:
    rekal.layout.config.write_text("transport:\n  share: full\n  remotes: {origin: x}\n", encoding="utf-8")
    assert rekal("share").out.strip() == "nothing is shared"
    assert rekal("push", "origin").code == 5


def test_a_secret_that_got_past_the_first_scan_holds_its_checkpoint(rekal: Rekal, remote: Path) -> None:
    session(rekal, "queue")
    git(rekal.root, "push", "-q")
    from rekal.store.ledger import open_ledger

    key = "ghp_" + "A1b2C3d4E5" * 4
    with open_ledger(rekal.layout.data, read_only=False) as ledger:
        ledger.con.execute("UPDATE turns SET content = content || ? WHERE seq = 0", [f" {key}"])
    done = rekal("push", "--json").json
    assert done["checkpoints"] == 0
    assert any("github" in held["why"] for held in done["held"])
    assert key not in contents(remote)


def test_the_second_push_sends_nothing_again(rekal: Rekal, remote: Path) -> None:
    session(rekal, "queue")
    git(rekal.root, "push", "-q")
    rekal("push")
    before = on(remote), contents(remote)
    done = rekal("push", "--json").json
    assert (done["checkpoints"], done["bytes"]) == (0, 0)
    assert (on(remote), contents(remote)) == before


def test_sharing_stops_without_a_trace_in_the_configuration(rekal: Rekal) -> None:
    path = rekal.root.parent / "remote.git"
    git(rekal.root.parent, "init", "-q", "--bare", str(path))
    git(rekal.root, "remote", "add", "origin", str(path))
    before = (rekal.root / ".git" / "config").read_bytes()
    rekal("share", "origin")
    assert "refs/rekal-remote/origin" in (rekal.root / ".git" / "config").read_text("utf-8")
    rekal("share", "origin", "--stop")
    assert (rekal.root / ".git" / "config").read_bytes() == before


def test_the_work_tree_and_the_users_index_are_untouched(rekal: Rekal, remote: Path) -> None:
    session(rekal, "queue")
    git(rekal.root, "push", "-q")
    (rekal.root / "staged.py").write_text("x\n", encoding="utf-8")
    git(rekal.root, "add", "staged.py")
    index = (rekal.root / ".git" / "index").read_bytes()
    status = git(rekal.root, "status", "--porcelain")
    rekal("push")
    assert git(rekal.root, "status", "--porcelain") == status
    assert (rekal.root / ".git" / "index").read_bytes() == index
    assert "rekal" not in git(rekal.root, "branch", "-a")
