"""However many commits come in a row, one worker works, one waits, and nothing is left behind."""

from __future__ import annotations

import os
import shutil
import signal
import threading
from pathlib import Path

import pytest

from rekal.store import spool
from rekal.store.locks import find_holder, hold_lock
from tests.support.installed_rekal import Live, until

pytestmark = pytest.mark.skipif(not Path("/proc/self/cmdline").is_file(), reason="processes are counted in /proc")


def list_workers(root: Path) -> list[int]:
    """Processes that are this repository's workers."""
    found = []
    for entry in Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue  # it ended meanwhile
        if b"_worker" in words and os.fsencode(root) in words:
            found.append(int(entry.name))
    return found


def measure_memory(pids: list[int]) -> int:
    """Bytes of memory that the processes hold, what they share counted for each."""
    total = 0
    for pid in pids:
        try:
            total += int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        except (OSError, IndexError):
            continue
    return total


def has_worker_for_parent(pid: int, workers: list[int]) -> bool:
    """True for what a worker has forked and not yet turned into a git: to /proc it looks as its parent."""
    try:
        return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1]) in workers
    except (OSError, IndexError):
        return True


def commit_many(live: Live, first: int, count: int) -> None:
    for number in range(first, first + count):
        (live.root / "n.txt").write_text(f"{number}\n")
        live.git("add", "-A")
        live.git("commit", "-qm", f"n{number}")


def test_one_worker_waits_and_the_others_end(live: Live) -> None:
    layout = live.layout
    with hold_lock(layout.working_lock, wait=60, purpose="test"):
        commit_many(live, 0, 1)
        until(lambda: find_holder(layout.waiting_lock) is not None, lambda: "no worker waits")
        commit_many(live, 1, 12)
        until(lambda: len(list_workers(live.root)) == 1, lambda: f"workers: {list_workers(live.root)}")
        assert spool.count_events(layout.spool)[0] == 13
        assert measure_memory(list_workers(live.root)) < 20 << 20  # it has not loaded what work takes
    live.settle()
    assert spool.count_events(layout.spool) == (0, 0)


@pytest.mark.soak
@pytest.mark.skipif(shutil.which("flock") is None, reason="without flock(1) further workers start, and end at the lock")
def test_sixty_commits_in_a_row_make_two_workers_of_less_than_300_mb(live: Live) -> None:
    seen: list[tuple[int, int]] = []
    done = threading.Event()

    def watch() -> None:
        while not done.wait(0.02):
            found = list_workers(live.root)
            workers = [pid for pid in found if not has_worker_for_parent(pid, found)]
            seen.append((len(workers), measure_memory(workers)))

    watching = threading.Thread(target=watch)
    watching.start()
    commit_many(live, 0, 60)
    live.settle()
    done.set()
    watching.join()
    assert max(count for count, _ in seen) <= 2
    assert max(size for _, size in seen) <= 300 << 20
    assert spool.count_events(live.layout.spool) == (0, 0)
    covered = {sha for (sha,) in live.rows("SELECT git_sha FROM uncovered_commits")}
    assert covered >= set(live.git("rev-list", "-60", "HEAD").split())


@pytest.mark.skipif(shutil.which("flock") is None, reason="needs flock(1)")
def test_a_waiting_lock_that_is_held_by_a_hook_goes_over_to_its_worker(live: Live) -> None:
    layout = live.layout
    with hold_lock(layout.working_lock, wait=60, purpose="test"):
        commit_many(live, 0, 1)
        until(lambda: find_holder(layout.waiting_lock) is not None, lambda: "no worker waits")
        waiting = list_workers(live.root)
        commit_many(live, 1, 1)
        os.kill(waiting[0], signal.SIGKILL)
        until(lambda: find_holder(layout.waiting_lock) is None, lambda: "it is not dead")
        commit_many(live, 2, 1)
        until(lambda: find_holder(layout.waiting_lock) is not None, lambda: "no other worker waits")
    live.settle()
    assert spool.count_events(layout.spool) == (0, 0)


def test_a_waiting_workers_death_keeps_nobody_from_starting(live: Live) -> None:
    layout = live.layout
    layout.waiting_lock.write_text("999999999 waiting\n")  # no such process
    commit_many(live, 0, 1)
    live.settle()
    assert spool.count_events(layout.spool) == (0, 0)


def test_what_clean_takes_away_stays_away_while_a_worker_waits(live: Live) -> None:
    layout = live.layout
    with hold_lock(layout.working_lock, wait=60, purpose="test"):
        commit_many(live, 0, 1)
        until(lambda: find_holder(layout.waiting_lock) is not None, lambda: "no worker waits")
    live("clean", "--yes")  # just as that worker gets its turn
    until(lambda: not list_workers(live.root), lambda: f"workers: {list_workers(live.root)}")
    assert not layout.directory.exists()
    assert not layout.run.exists()
    hooks = live.root / ".git" / "hooks"
    assert not [path.name for path in hooks.iterdir() if not path.name.endswith(".sample")]
