"""A forgetting killed anywhere, and the next worker: forgotten altogether, or not at all."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.conftest import git
from tests.support.app import Rekal
from tests.transport.test_forget import SECRET, handle, push, saved, where

DIE = Path(__file__).parents[1] / "support" / "kill_at_step.py"


def _launch(rekal: Rekal, step: int) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(DIE), str(step), "forget", "--yes", "--text", SECRET]
    return subprocess.run(command, cwd=rekal.root, capture_output=True, text=True, timeout=100, check=False)


def _check(rekal: Rekal, remote: Path, step: int) -> None:
    assert rekal("_worker").code == 0, step
    if rekal("forget", "--list").code == 1:  # killed before anything was decided
        assert SECRET in rekal("show", handle(rekal, "plan")).out, step
        assert rekal("forget", "--yes", "--text", SECRET).code == 0, step
    assert where(rekal, SECRET) == [], step
    assert "Something else" in rekal("show", handle(rekal, "other")).out
    assert git(rekal.root, "fsck", "--no-dangling").strip() == "", step
    assert rekal("push").code == 0, step
    left = {path.name for path in rekal.layout.run.iterdir()}
    assert left.isdisjoint({"rewrite-data", "forgetting", "replaced-tips"}), step


def _scene(rekal: Rekal, remote: Path, tmp_path: Path) -> Path:
    saved(rekal, "plan", f"Note that {SECRET}.")
    saved(rekal, "other", "Something else", minutes=30)
    push(rekal)
    git(rekal.root, "fetch", "-q")
    template = tmp_path / "template"
    template.mkdir()
    shutil.copytree(rekal.root, template / "app")
    shutil.copytree(remote, template / "remote")
    return template


def _restore(rekal: Rekal, remote: Path, template: Path) -> None:
    for name, path in (("app", rekal.root), ("remote", remote)):
        shutil.rmtree(path)
        shutil.copytree(template / name, path)


def _run(rekal: Rekal, remote: Path, tmp_path: Path, most: int) -> None:
    template = _scene(rekal, remote, tmp_path)
    steps = int(_launch(rekal, 0).stderr.splitlines()[-1])
    assert steps > 20
    chosen = random.Random(7).sample(range(1, steps + 1), min(most, steps))
    for step in sorted(chosen):
        _restore(rekal, remote, template)
        assert _launch(rekal, step).returncode == -signal.SIGKILL, step
        _check(rekal, remote, step)


def test_a_forgetting_killed_somewhere_is_finished(rekal: Rekal, remote: Path, tmp_path: Path) -> None:
    _run(rekal, remote, tmp_path, 3)


@pytest.mark.soak
@pytest.mark.timeout(3600)
def test_a_forgetting_killed_anywhere_is_finished(rekal: Rekal, remote: Path, tmp_path: Path) -> None:
    _run(rekal, remote, tmp_path, 10_000)
