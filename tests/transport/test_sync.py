"""Teammates' work reaches a question: by hand, and by itself after a plain fetch."""

from __future__ import annotations

import subprocess
import time
from pathlib import Path

import pytest

from rekal.model import Tombstone
from rekal.transport import fetch_stamp
from tests.conftest import git
from tests.support.app import Rekal
from tests.transport.team import Clone, at, commit_of, talk
from tests.transport.test_push import on, session

SAID = ("Why does the retry queue live in postgres?", "The retry queue in postgres survives a restart of the broker.")


@pytest.fixture
def remote(rekal: Rekal, tmp_path: Path) -> Path:
    path = tmp_path / "remote.git"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", str(path))
    git(rekal.root, "remote", "add", "origin", str(path))
    git(rekal.root, "push", "-q", "-u", "origin", "main")
    assert rekal("share", "origin").code == 0
    return path


@pytest.fixture
def mara(tmp_path: Path, remote: Path) -> Clone:
    clone = Clone(tmp_path / "mara", remote, "mara")
    session = talk("mara", "queue", *SAID)
    clone.publish(session, commit_of(session, "queue"))
    return clone


@pytest.fixture
def started(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Grows with every start of the worker by a recall."""
    starts: list[str] = []
    monkeypatch.setattr("rekal.daemon.spawn.start_worker", lambda app: starts.append("worker"))
    return starts


def git_fails(directory: Path, *args: str) -> bool:
    return subprocess.run(["git", *args], cwd=directory, capture_output=True, check=False).returncode != 0


def shown(rekal: Rekal) -> list[str]:
    """Origins of what the question brings up."""
    return [hit["origin"] for hit in rekal("recall", "--json", SAID[0]).json["sessions"]]


def test_sync_fetches_imports_and_indexes(rekal: Rekal, mara: Clone, started: list[str]) -> None:
    answer = rekal("sync", "--json").json
    assert (answer["fetched"], answer["refs"], answer["sessions"], answer["turns"]) == (["origin"], 1, 1, 2)
    assert answer["notes"] == []
    assert shown(rekal) == [mara.origin]
    assert f"from {mara.origin}" in rekal("log").out
    again = rekal("sync")
    assert (again.code, again.out) == (1, "nothing new\n")


def test_receive_imports_what_a_plain_fetch_brought(rekal: Rekal, mara: Clone, started: list[str]) -> None:
    assert rekal("receive").code == 1
    git(rekal.root, "fetch", "-q")
    ran = rekal("receive")
    assert (ran.code, ran.out) == (0, "1 session with 2 turns and 1 commit from 1 ref\n")
    assert shown(rekal) == [mara.origin]


def test_the_worker_imports_after_a_fetch_and_only_then(
    rekal: Rekal, mara: Clone, started: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    git(rekal.root, "fetch", "-q")
    assert rekal("_worker").code == 0
    assert shown(rekal) == [mara.origin]
    monkeypatch.setattr("rekal.app.import_memory.import_arrived", lambda app: pytest.fail("nothing was fetched"))
    assert rekal("_worker").code == 0


def test_a_question_has_the_worker_started_once_for_each_fetch(rekal: Rekal, mara: Clone, started: list[str]) -> None:
    rekal("_worker")
    rekal("recall", SAID[0])
    assert started == []
    git(rekal.root, "fetch", "-q")
    for _ in range(3):
        rekal("recall", SAID[0])
    assert started == ["worker"]
    rekal("_worker")
    rekal("recall", SAID[0])
    mara.publish(talk("mara", "more"))
    git(rekal.root, "fetch", "-q")
    rekal("recall", SAID[0])
    assert started == ["worker", "worker"]


def test_without_sharing_a_question_starts_nothing(rekal: Rekal, started: list[str]) -> None:
    rekal("recall", SAID[0])
    assert started == []


def test_the_stamp_follows_every_way_a_ref_changes_and_costs_little(rekal: Rekal, mara: Clone) -> None:
    common = rekal.root / ".git"
    seen = [fetch_stamp.read_stamp(common)]
    git(rekal.root, "fetch", "-q")
    seen.append(fetch_stamp.read_stamp(common))
    mara.publish(talk("mara", "more"))
    git(rekal.root, "fetch", "-q")
    seen.append(fetch_stamp.read_stamp(common))
    git(rekal.root, "pack-refs", "--all")
    seen.append(fetch_stamp.read_stamp(common))
    assert len(set(seen)) == 4
    assert fetch_stamp.read_stamp(common) == seen[-1]
    for number in range(100):
        (common / "refs" / "rekal-remote" / "origin" / f"teammate-{number}").mkdir(parents=True)
    best = min(_timed(common) for _ in range(20))
    assert best < 0.005


def _timed(common: Path) -> float:
    before = time.process_time()
    fetch_stamp.read_stamp(common)
    return time.process_time() - before


def test_without_an_allowed_remote_sync_refuses(rekal: Rekal) -> None:
    ran = rekal("sync")
    assert (ran.code, ran.err.count("\n")) == (5, 1)


def test_sync_does_not_fetch_from_where_nobody_allowed(rekal: Rekal, mara: Clone, tmp_path: Path) -> None:
    assert rekal("sync", "--remote", "fork").code == 5
    git(rekal.root, "remote", "set-url", "origin", str(tmp_path / "elsewhere.git"))
    ran = rekal("sync")
    assert (ran.code, "not where it was" in ran.err) == (4, True)


def test_a_remote_that_is_away_is_said_and_what_is_here_is_imported(rekal: Rekal, mara: Clone, remote: Path) -> None:
    git(rekal.root, "fetch", "-q")
    remote.rename(remote.with_name("away.git"))
    answer = rekal("sync", "--json")
    assert answer.code == 4
    assert answer.json["sessions"] == 1
    assert answer.json["notes"][0].startswith("origin was not fetched")


def test_what_its_owner_forgot_leaves_the_answers(rekal: Rekal, mara: Clone, started: list[str]) -> None:
    rekal("sync")
    assert shown(rekal) == [mara.origin]
    mara.publish(Tombstone(talk("mara", "queue", *SAID).id, "id", "Mara", at(60)))
    assert rekal("sync", "--json").json["forgotten"] >= 1
    assert shown(rekal) == []
    for name in ("data.db", "index.db"):
        assert b"survives a restart of the broker" not in (rekal.layout.directory / name).read_bytes()


def test_receive_only_takes_memory_and_sends_none(rekal: Rekal, mara: Clone, remote: Path) -> None:
    ran = rekal("share", "origin", "--receive-only")
    assert (ran.code, "this clone sends memory to origin" in ran.err) == (2, True)  # the fixture shares with it
    assert rekal("share", "--stop").code == 0
    assert "none is sent" in rekal("share", "origin", "--receive-only").out
    assert rekal("sync", "--json").json["sessions"] == 1
    ran = rekal("push")
    assert (ran.code, "sharing is off" in ran.err) == (5, True)
    assert rekal("share", "--receive-only").code == 2
    assert rekal("share", "origin").code == 0  # sending can be turned on from here
    assert "goes to origin" in rekal("share").out


def test_a_ref_of_which_the_remote_lacks_an_object_costs_itself(rekal: Rekal, mara: Clone, remote: Path) -> None:
    tip = git(remote, "rev-parse", "refs/heads/main").strip()
    tree = subprocess.run(
        ["git", "mktree", "--missing"],
        cwd=remote,
        input=f"100644 blob {'1' * 40}\t3333333333333333.rkl\n",
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    lacking = "refs/rekal/mallory-example-com/0123456789"
    torn = git(remote, "-c", "user.name=M", "-c", "user.email=m@example.com", "commit-tree", tree, "-m", "x").strip()
    git(remote, "update-ref", lacking, torn)
    git(remote, "-c", "user.name=M", "-c", "user.email=m@example.com", "tag", "-a", "-m", "t", "t", tip)
    git(remote, "update-ref", "refs/rekal/nat-example-com/0123456789", git(remote, "rev-parse", "t").strip())

    done = rekal("sync", "--json").json

    assert (done["fetched"], done["sessions"]) == (["origin"], 1)
    assert f"origin cannot send {lacking}" in done["notes"][0]
    assert f"`git push origin :{lacking}`" in done["notes"][0]
    assert shown(rekal) == [mara.origin]


def test_a_ref_that_was_removed_because_it_was_torn_is_sent_whole_again(rekal: Rekal, remote: Path) -> None:
    session(rekal, "queue")
    git(rekal.root, "push", "-q", "origin", "main")
    assert rekal("push").code == 0
    (ours,) = on(remote)
    for blob in git(remote, "ls-tree", "-r", "--format=%(objectname)", ours).split():
        (remote / "objects" / blob[:2] / blob[2:]).unlink()
    assert git_fails(remote, "fsck", "--connectivity-only", ours)

    git(rekal.root, "push", "-q", "origin", f":{ours}")
    assert rekal("push").code == 0

    assert not git_fails(remote, "fsck", "--connectivity-only", ours)
