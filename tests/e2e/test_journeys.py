"""Files that a reader meets on the way of a commit, a recall, a push and a receipt: they get no more."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.timeout(300)  # ten runs of the program, their calls recorded
def test_no_journey_meets_more_files() -> None:
    """A new step belongs into a file of the journey, or its bound in the script is raised by somebody who says why."""
    command = [sys.executable, str(ROOT / "scripts" / "journeys.py")]
    done = subprocess.run(command, capture_output=True, text=True, timeout=280, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    journeys = re.findall(r"^\| (\w+) \| \d+ \| \d+ \| \d+ \|", done.stdout, re.MULTILINE)
    assert journeys == ["commit", "recall", "push", "receive"]
