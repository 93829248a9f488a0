"""However many commits come in a row, one worker works, one waits, and nothing is left behind."""

from __future__ import annotations

import os
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
