"""A back-fill of all agents that is killed goes on where it was: nothing is lost, nothing is there twice."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
from pathlib import Path

from rekal.store.layout import ask_for_backfill, backfill_asked_for
from tests.capture.test_link import links
from tests.support.app import Rekal
from tests.support.conversations import START, STORES
from tests.support.earlier_work import EarlierWork
from tests.support.store_contents import canonical

DIE = Path(__file__).resolve().parents[1] / "support" / "kill_at_step.py"


def _launch(rekal: Rekal, step: int, *verb: str) -> subprocess.CompletedProcess[str]:
    """Run a verb that kills itself at a step; with step 0 the number of steps is the last word of stderr."""
    command = [sys.executable, str(DIE), str(step), *verb]
    return subprocess.run(command, cwd=rekal.root, capture_output=True, text=True, timeout=100, check=False)


def test_a_killed_back_fill_goes_on(rekal: Rekal, past: EarlierWork) -> None:
    whole = _launch(rekal, 0, "checkpoint", "--all")
    assert whole.returncode == 0, whole.stderr
    steps, expected = int(whole.stderr.split()[-1]), canonical(rekal.layout.data)
    found = links(rekal)
    assert set(found) == set(STORES) and {row[3] for rows in found.values() for row in rows} == {"backfill"}
    assert all(len(rows) == 1 for rows in found.values())
    for step in random.Random(7).sample(range(1, steps + 1), 4):
        past.restore()
        assert _launch(rekal, step, "checkpoint", "--all").returncode == -signal.SIGKILL, step
        done = rekal("checkpoint", "--all")
        assert (done.code, done.err) == (0, ""), step
        assert canonical(rekal.layout.data) == expected, step


def test_the_back_fill_that_init_asked_for_is_finished_by_the_next_worker(rekal: Rekal, past: EarlierWork) -> None:
    ask_for_backfill(rekal.layout.run, START)
    killed = _launch(rekal, 12, "_worker")
    assert killed.returncode == -signal.SIGKILL
    assert backfill_asked_for(rekal.layout.run) == START
    assert rekal("_worker").code == 0
    assert backfill_asked_for(rekal.layout.run) is None
    assert set(links(rekal)) == set(STORES)
