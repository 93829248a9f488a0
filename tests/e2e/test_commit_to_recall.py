"""From a commit by the real git, through hook and detached worker, to what recall answers."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import pytest

from rekal.store.locks import hold_lock
from tests.support.installed_rekal import ASKED, REKAL, Live, until, worked


def test_a_commit_is_captured_and_recalled(live: Live, home: Path) -> None:
    native = worked(home, live.root, "one")
    sha = live.commit("Add the queue")
    live.settle()
    assert live.links() == {sha: [native]}
    assert live.recalled(ASKED) == [native]
    assert live.recalled("giraffes graze savannah") == []


@pytest.mark.parametrize("how", [("-a",), ("queue.py",)], ids=["commit -a", "commit <path>"])
def test_every_way_to_commit_is_noticed(live: Live, home: Path, how: tuple[str, ...]) -> None:
    (live.root / "queue.py").write_text("old line of the queue\n", encoding="utf-8")
    first = live.commit("Begin the queue")
    live.settle()
    native = worked(home, live.root, "one")
    live.git("commit", "-q", "-m", "Change the queue", *how)
    live.settle()
    second = live.git("rev-parse", "HEAD").strip()
    assert live.links().get(second) == [native]
    assert first not in live.links()


def test_an_amended_commit_keeps_its_session_under_its_new_name(live: Live, home: Path) -> None:
    native = worked(home, live.root, "one")
    old = live.commit("Add the queue")
    live.settle()
    new = live.commit("Add the retry queue", "--amend")
    live.settle()
    assert live.links() == {old: [native], new: [native]}
    assert [c["git_sha"] for c in json.loads(live("log", "--json").out)["checkpoints"]] == [new]


def test_a_commit_on_a_detached_head_is_captured(live: Live, home: Path) -> None:
    live.git("checkout", "-q", "--detach")
    native = worked(home, live.root, "one")
    sha = live.commit("Add the queue")
    live.settle()
    assert live.links() == {sha: [native]}
    assert live.rows("SELECT branch FROM checkpoints") == [[None]]


def test_a_rebase_of_three_commits_is_captured_once_after_its_end(live: Live, home: Path) -> None:
    natives, old = [], []
    live.git("checkout", "-q", "-b", "work")
    for number in range(3):
        name = f"part{number}"
        natives.append(worked(home, live.root, name, f"{name}.py", f"queue {name} lives in this file\n"))
        old.append(live.commit(f"Add {name}"))
    live.settle()
    live.git("checkout", "-q", "main")
    (live.root / "other.txt").write_text("meanwhile\n", encoding="utf-8")
    live.commit("Meanwhile")
    live.git("rebase", "-q", "main", "work")
    live.settle()
    new = live.git("rev-list", "--reverse", "main..work").split()
    links = live.links()
    assert len(new) == 3
    assert [links[sha] for sha in old] == [links[sha] for sha in new] == [[native] for native in natives]
    assert len(links) == 6
    pairs = live.rows("SELECT old_sha, new_sha FROM rewrites")
    assert sorted(map(tuple, pairs)) == sorted(zip(old, new, strict=True))
    shown = json.loads(live("log", "--json").out)["checkpoints"]
    assert {c["git_sha"] for c in shown} == set(new)
    assert live.rows("SELECT count(*) FROM sessions") == [[3]]


def test_a_rebase_that_stops_blocks_nobody_and_is_captured_when_it_ends(live: Live, home: Path) -> None:
    live.git("checkout", "-q", "-b", "work")
    native = worked(home, live.root, "one", "clash.txt", "queue as the branch wants it\n")
    old = live.commit("Add clash on the branch")
    live.settle()
    live.git("checkout", "-q", "main")
    (live.root / "clash.txt").write_text("as main wants it\n", encoding="utf-8")
    live.commit("Add clash on main")
    with pytest.raises(AssertionError, match="CONFLICT"):
        live.git("rebase", "-q", "main", "work")
    assert (live.root / ".git" / "rebase-merge").is_dir()
    assert live.recalled(ASKED) == [native]
    assert json.loads(live("checkpoint", "--json").out)["sessions"] == 0
    (live.root / "clash.txt").write_text("queue as both want it\n", encoding="utf-8")
    live.git("add", "clash.txt")
    live.git("-c", "core.editor=true", "rebase", "--continue")
    live.settle()
    new = live.git("rev-parse", "work").strip()
    assert live.links()[new] == live.links()[old] == [native]


def test_the_first_commit_of_all_is_captured(home: Path, tmp_path: Path) -> None:
    root = tmp_path / "new"
    live = Live(root)
    live.git("init", "-q", str(root), cwd=tmp_path)
    live("init", "--backfill", "0", "--hooks-only")
    native = worked(home, root, "one")
    live("checkpoint")
    sha = live.commit("Begin")
    live.settle()
    assert live.links() == {sha: [native]}
    assert live.rows("SELECT path, change FROM files_touched") == [["queue.py", "A"]]


def _waits_for(pid: int, lock: Path) -> bool:
    """Whether a process has the lock's file open."""
    open_files = Path(f"/proc/{pid}/fd")
    return any(os.path.realpath(file) == str(lock) for file in open_files.iterdir())


def _interruptible() -> None:
    signal.signal(signal.SIGINT, signal.SIG_DFL)


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="needs /proc to see what a process waits for")
def test_an_interruption_is_said_to_be_one(live: Live, home: Path) -> None:
    """Interrupted while it waits for the store: exit 130, one line, and the next capture does the work."""
    native = worked(home, live.root, "one")
    with hold_lock(live.layout.lock, wait=5, purpose="a test"):
        command = subprocess.Popen(
            [REKAL, "checkpoint"],
            cwd=live.root,
            stderr=subprocess.PIPE,
            text=True,
            # Tests started in the background of a shell inherit an ignored SIGINT, and so would this.
            preexec_fn=_interruptible,
        )
        until(lambda: _waits_for(command.pid, live.layout.lock), lambda: "never came to the lock")
        command.send_signal(signal.SIGINT)
        _, said = command.communicate(timeout=60)
    kept = "what was stored before is kept, and running the command again goes on from there"
    assert (command.returncode, said.splitlines()[-1]) == (130, f"rekal: interrupted; {kept}")
    live("checkpoint")
    assert live.rows("SELECT native_id FROM sessions") == [[native]]
