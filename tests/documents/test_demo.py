"""``make demo-documents``: the example answers as it shows."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_the_example_answers_its_questions() -> None:
    script = [sys.executable, str(ROOT / "scripts" / "demo_documents.py")]
    done = subprocess.run(script, capture_output=True, text=True, timeout=110, check=True)
    parts = done.stdout.split("$ rekal ")[1:]
    assert "files 4 added" in parts[0]
    for part, shown in zip(parts[1:], ("east quay", "too loud", "rowing club", "23:00"), strict=False):
        assert part.splitlines()[1].startswith("INJECT"), part
        assert shown in part
    assert parts[-1].splitlines()[1].startswith("SILENCE")
