"""A worker killed anywhere, and the next one: together they make the store that one undisturbed worker makes."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from rekal.store import spool
from tests.conftest import git
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession
from tests.support.store_contents import Dump, canonical, indexed

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
DIE = Path(__file__).parents[1] / "support" / "kill_at_step.py"


class Scene(msgspec.Struct, frozen=True):
    """A store with work waiting for it, and what comes of the work when nobody interferes."""

    rekal: Rekal
    template: Path
    steps: int
    data: Dump
    index: Dump

    def restore(self) -> None:
        """As before the work."""
        layout = self.rekal.layout
        for name, place in (("store", layout.directory), ("run", layout.run)):
            shutil.rmtree(place)
            shutil.copytree(self.template / name, place)

    def check(self, why: object) -> None:
        """After a kill: readers are served, the next worker finishes, nothing is lost or doubled."""
        assert self.rekal("status").code == 0, why
        done = self.rekal("_worker")
        assert (done.code, done.err) == (0, ""), why
        layout = self.rekal.layout
        assert canonical(layout.data) == self.data, why
        assert indexed(layout.index) == self.index, why
        assert not layout.log.exists() or "unexpected" not in layout.log.read_text("utf-8")
        left = {path.name for path in layout.directory.iterdir()} - {"data.db", "index.db", "README"}
        assert (left, list(layout.spool.iterdir())) == (set(), []), why


def _work(home: Path, root: Path) -> None:
    """Six sessions, three commits of theirs; one session is active at every commit without an edit of its own."""
    bystander = ClaudeSession(home, root, "bystander", start=START).human("Read the code and tell me about it")
    for number in range(5):
        at = START + timedelta(minutes=10 * number)
        session = ClaudeSession(home, root, f"s{number}", start=at).human(f"Make part {number} of the queue durable")
        session.runs(f"ls part{number}", "no such directory", error=True).steer(f"Mind the lock of part {number}")
        path = root / f"part{number}.py"
        path.write_text(f"durable line of part {number}\n", encoding="utf-8")
        session.writes(path, path.read_text("utf-8"), text=f"Part {number} now keeps a journal.")
        bystander.says(f"I have read part {number}.")
        if number % 2 == 0:
            when = (at + timedelta(minutes=5)).isoformat()
            git(root, "add", "-A")
            git(root, "commit", "-q", "-m", f"Parts up to {number}", f"--date={when}")


def _launch(rekal: Rekal, step: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(DIE), str(step), "_worker"]
    return subprocess.run(command, cwd=rekal.root, capture_output=True, text=True, timeout=100, check=False)


@pytest.fixture
def scene(rekal: Rekal, home: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Scene]:
    with monkeypatch.context() as clock:
        clock.setenv("GIT_COMMITTER_DATE", (START + timedelta(minutes=50)).isoformat())
        _work(home, rekal.root)
    for edge in ("surfaced", "opened"):
        event = msgspec.convert(
            {"kind": "recall", "edge": edge, "session_ids": ["one"], "at": START}, spool.RecallEvent
        )
        spool.put_event(rekal.layout.spool, event)
    template = tmp_path / "template"
    shutil.copytree(rekal.layout.directory, template / "store")
    shutil.copytree(rekal.layout.run, template / "run")
    whole = _launch(rekal, 0)
    assert whole.returncode == 0, whole.stderr
    layout = rekal.layout
    yield Scene(rekal, template, int(whole.stderr.split()[-1]), canonical(layout.data), indexed(layout.index))


def test_the_undisturbed_store_holds_all_of_it(scene: Scene) -> None:
    counts = {table: len(rows) for table, rows in scene.data.items()}
    assert (counts["sessions"], counts["checkpoints"], counts["recall_edges"]) == (6, 3, 2)
    assert counts["checkpoint_sessions"] == 5
    scene.check("a second worker with nothing to do")


def test_events_that_come_twice_change_nothing(scene: Scene) -> None:
    """A worker may die between its transaction and the removal of the events."""
    shutil.copytree(scene.template / "run" / "spool", scene.rekal.layout.spool, dirs_exist_ok=True)
    scene.check("the same events again")


def _killed_at(scene: Scene, step: int) -> None:
    scene.restore()
    assert _launch(scene.rekal, step).returncode == -signal.SIGKILL, step
    scene.check(f"killed at step {step} of {scene.steps}")


def test_killed_at_eight_points(scene: Scene) -> None:
    draw = random.Random(20260302)
    width = scene.steps // 8
    for part in range(8):
        _killed_at(scene, part * width + draw.randint(1, width))


@pytest.mark.soak
def test_killed_at_fifty_points(scene: Scene) -> None:
    for step in random.Random(50).sample(range(1, scene.steps + 1), min(50, scene.steps)):
        _killed_at(scene, step)


@pytest.mark.soak
def test_killed_after_any_number_of_milliseconds(scene: Scene) -> None:
    draw = random.Random(51)
    finished = 0
    for attempt in range(50):
        scene.restore()
        worker = subprocess.Popen(
            [sys.executable, str(DIE), "-1", "_worker"], cwd=scene.rekal.root, stderr=subprocess.DEVNULL
        )
        after = draw.uniform(0.2, 2.0)
        try:
            worker.wait(timeout=after)
            finished += 1
        except subprocess.TimeoutExpired:
            worker.kill()
            worker.wait()
        scene.check(f"attempt {attempt}: killed after {after:.3f} s")
    assert finished < 50
