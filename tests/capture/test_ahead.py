"""A back-fill read by several processes: the same store, in the same order, whoever of them dies."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import duckdb
import pytest

from tests.support.app import Rekal
from tests.support.earlier_work import EarlierWork
from tests.support.store_contents import canonical

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "support" / "kill_at_file.py"
LINUX = pytest.mark.skipif(not Path("/proc/self/task").is_dir(), reason="processes are forked on Linux only")

# Processes are forked from one with one thread, which a process that runs tests need not be.
ALONE = """
import json, os
from rekal.capture import parallel
from rekal.capture.read_sources import SourceReading
parallel._processors = lambda: 4
parallel.LEAST, parallel.LARGEST = 1000, 500
parent, prepared = os.getpid(), []

def read(place):
    {read}
    return SourceReading(None, warning=f"{{place}} {{os.getpid() == parent}} {{len(prepared)}}")

sizes = {sizes}
print(json.dumps([one.warning.split() for one in parallel.read_in_order(read, sizes, lambda: prepared.append(1))]))
"""


def read_alone(sizes: list[int | None], read: str = "pass") -> Any:
    """For each place: its number, whether the parent read it, how often it was prepared by then."""
    script = ALONE.format(sizes=sizes, read=read)
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60)
    if done.returncode:
        return done.stderr
    assert done.stderr == ""
    return json.loads(done.stdout)


@LINUX
def test_children_read_and_the_order_stays() -> None:
    got = read_alone([500 - place for place in range(200)], read="sum(range(place % 7 * 10000))")
    assert got == [[str(place), "False", "1"] for place in range(200)]


@LINUX
def test_what_is_large_or_not_to_be_shared_is_read_here() -> None:
    sizes = [300, None, 501, 500, 300, None]
    assert [parent for _, parent, _ in read_alone(sizes)] == ["False", "True", "True", "False", "False", "True"]


@pytest.mark.parametrize("sizes", [[], [400], [400, 400], [999, 999], [None] * 9])
def test_little_is_read_here(sizes: list[int | None]) -> None:
    assert read_alone(sizes) == [[str(place), "True", "0"] for place in range(len(sizes))]


@LINUX
@pytest.mark.parametrize("death", ["os._exit(1)", "os.kill(os.getpid(), 9)", "raise ValueError(place)", "os.close(3)"])
def test_what_a_dead_child_had_is_read_here(death: str) -> None:
    got = read_alone([400] * 40, read=f"if place in (5, 17) and os.getpid() != parent: {death}")
    assert [place for place, _, _ in got] == [str(place) for place in range(40)]
    assert [parent for _, parent, _ in got].count("True") in range(1, 12)


@LINUX
def test_all_children_may_die() -> None:
    got = read_alone([400] * 40, read="if os.getpid() != parent: os._exit(1)")
    assert [(place, parent) for place, parent, _ in got] == [(str(place), "True") for place in range(40)]


@LINUX
def test_no_processes_to_be_had() -> None:
    refuse = "parallel.os.fork = lambda: (_ for _ in ()).throw(BlockingIOError())"
    script = ALONE.format(sizes=[400] * 9, read="pass").replace("sizes = ", f"{refuse}\nsizes = ")
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert [parent for _, parent, _ in json.loads(done.stdout)] == ["True"] * 9


@LINUX
def test_an_error_is_raised_here() -> None:
    assert "ValueError: 7" in read_alone([400] * 40, read="if place == 7: raise ValueError(place)")


def launch(rekal: Rekal, who: str, place: int) -> subprocess.CompletedProcess[str]:
    """Back-fill with four processes; returns when all of them have ended, for they hold its output open."""
    command = [sys.executable, str(PROGRAM), who, str(place), "checkpoint", "--all"]
    return subprocess.run(command, cwd=rekal.root, capture_output=True, text=True, timeout=100, check=False)


def in_place(path: Path) -> list[Any]:
    """Turns as they lie in the store, with the transaction that brought them."""
    with duckdb.connect(str(path), read_only=True) as con:
        return con.execute("SELECT session_id, seq, content, pos FROM turns ORDER BY rowid").fetchall()


@LINUX
def test_the_store_is_the_same_however_many_read(rekal: Rekal, past: EarlierWork) -> None:
    assert rekal("checkpoint", "--all").code == 0
    expected, places = canonical(rekal.layout.data), [row[:3] for row in in_place(rekal.layout.data)]
    past.restore()
    done = launch(rekal, "nobody", 0)
    assert (done.returncode, done.stderr) == (0, "4 0\n")
    assert canonical(rekal.layout.data) == expected
    assert [row[:3] for row in in_place(rekal.layout.data)] == places


@LINUX
def test_a_reader_that_is_killed_costs_nothing(rekal: Rekal, past: EarlierWork) -> None:
    assert rekal("checkpoint", "--all").code == 0
    expected = canonical(rekal.layout.data)
    past.restore()
    done = launch(rekal, "itself", 2)
    assert (done.returncode, done.stderr) == (0, "4 1\n")
    assert canonical(rekal.layout.data) == expected


@LINUX
@pytest.mark.parametrize("place", [0, 4])
def test_readers_end_with_the_writer_and_the_next_goes_on(rekal: Rekal, past: EarlierWork, place: int) -> None:
    assert rekal("checkpoint", "--all").code == 0
    expected = canonical(rekal.layout.data)
    past.restore()
    assert launch(rekal, "parent", place).returncode == -signal.SIGKILL
    done = rekal("checkpoint", "--all")
    assert (done.code, done.err) == (0, "")
    assert canonical(rekal.layout.data) == expected


def test_the_capture_of_a_commit_starts_no_process(rekal: Rekal, past: EarlierWork) -> None:
    command = [sys.executable, str(PROGRAM), "nobody", "0", "checkpoint"]
    done = subprocess.run(command, cwd=rekal.root, capture_output=True, text=True, timeout=100, check=True)
    assert done.stderr == "0 0\n"
