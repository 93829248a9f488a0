"""Writers and readers as separate processes: seen at once, all kept, whole events whatever is killed."""

from __future__ import annotations

import itertools
import json
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.app import Rekal
from tests.support.installed_rekal import REKAL

DIE = Path(__file__).parents[1] / "support" / "kill_at_step.py"

# Writes N memories through the function that every face calls; prints the id of each once it has been written.
WRITER = """
import sys
from rekal.app.desk import desk_here
from rekal.app.memories import NewMemory, remember
for number in range(int(sys.argv[2])):
    done = remember(desk_here("mcp"), NewMemory(f"note {number} of writer {sys.argv[1]}", "fact"), again=True)
    print(done.memory.id, flush=True)
"""


def _run(root: Path, *words: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([REKAL, *words], cwd=root, capture_output=True, text=True, timeout=90, check=False)


def _listed(root: Path) -> list[str]:
    done = _run(root, "memories", "--json", "-n", "100000")
    assert done.returncode in (0, 1), done.stderr
    return [one["id"] for one in json.loads(done.stdout)["memories"]]


def test_what_one_process_wrote_the_next_one_reads(rekal: Rekal) -> None:
    for number in range(5):
        _run(rekal.root, "decide", f"the archive lives in bucket number {number}", "--subject", f"archive {number}")
        recalled = json.loads(_run(rekal.root, "recall", "--json", f"which bucket is archive {number} in").stdout)
        assert f"number {number}" in {m["text"][-8:] for m in recalled["memories"]}
        assert len(_listed(rekal.root)) == number + 1


def _four_writers(root: Path, each: int) -> None:
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(n), str(each)],
            cwd=root,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for n in range(4)
    ]
    wrote: list[str] = []
    for writer in writers:
        out, err = writer.communicate(timeout=1000)
        assert (writer.returncode, err) == (0, "")
        wrote += out.split()
    assert len(set(wrote)) == 4 * each
    assert set(_listed(root)) == set(wrote)


def test_four_writers_at_once_lose_nothing(rekal: Rekal) -> None:
    _four_writers(rekal.root, 5)


@pytest.mark.soak
@pytest.mark.timeout(1200)
def test_four_writers_of_two_hundred_lose_nothing(rekal: Rekal) -> None:
    _four_writers(rekal.root, 200)


def _die(root: Path, step: int, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(DIE), str(step), *words]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=90, check=False)


@pytest.mark.soak
def test_killed_at_any_step_the_log_has_the_whole_event_or_none(rekal: Rekal) -> None:
    kept = 0
    for step in itertools.count(1):
        died = _die(
            rekal.root, step, "decide", f"killed at step {step}", "--because", f"reason {step}", "--tag", f"t{step}"
        )
        if died.returncode == 0:  # it had fewer steps
            break
        assert died.returncode == -signal.SIGKILL, died.stderr
        # The next process reads a whole log, and writes to it.
        entries = json.loads(_run(rekal.root, "audit", "--memories", "--json").stdout)["memories"]
        now = [entry["payload"] for entry in entries]
        assert len(now) in (kept, kept + 1)
        if len(now) > kept:
            assert (now[-1]["text"], now[-1]["because"]) == (f"killed at step {step}", f"reason {step}")
            assert died.stdout == "" or f"killed at step {step}" in died.stdout
        kept = len(now)
    assert step > 5
    assert len(_listed(rekal.root)) == kept + 1
