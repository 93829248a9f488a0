"""What one capture costs, as a process of its own: a transcript of 4 MB, and 500 transcripts of which none changed.

    python -m benchmarks.bench_capture [--runs 5] [--many 200000]

Prints the median of the processor time (the clock's would vary with other load) and its ratio to the budget. Without
the shared recordings beside the checkout the large transcript is missing. ``--many`` measures that many unchanged
transcripts instead, with the most memory that the process held.
"""

from __future__ import annotations

import argparse
import json
import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path

from benchmarks.bench_backfill import FIXTURES, environment, make_repository

LARGE = FIXTURES / "claude" / "r23-skills-2.1.108-4MB.jsonl"
BUDGET = {"large": 1.0, "unchanged": 0.3, "many": 10.0}
"""Seconds."""
MEMORY_OF_MANY = 300
"""MB."""


def rekal(root: Path, *args: str) -> float:
    """Run `rekal`; the processor time it took, its children included."""
    return measure_process(root, *args)[0]


def measure_process(root: Path, *args: str) -> tuple[float, float]:
    """Run `rekal`; the processor time it took in seconds, its children included, and the most MB it held."""
    with subprocess.Popen(
        [sys.executable, "-m", "rekal", *args], cwd=root, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
    if process.returncode:
        raise SystemExit(f"rekal {' '.join(args)} failed with {process.returncode}")
    return used.ru_utime + used.ru_stime, used.ru_maxrss / 1024


def project(home: Path, root: Path) -> Path:
    """Where Claude Code keeps the transcripts of ``root``."""
    folder = home / ".claude/projects" / re.sub(r"[^A-Za-z0-9]", "-", str(root))
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def many(folder: Path, root: Path, count: int) -> None:
    """``count`` small transcripts."""
    for number in range(count):
        name = f"{number:08x}-0000-4000-8000-000000000000"
        record: dict[str, object] = {
            "type": "user",
            "uuid": name,
            "sessionId": name,
            "cwd": str(root),
            "parentUuid": None,
        }
        record |= {"timestamp": "2026-03-02T09:00:00Z", "message": {"role": "user", "content": f"Question {number}"}}
        (folder / f"{name}.jsonl").write_text(json.dumps(record) + "\n", encoding="utf-8")


def measured(name: str, runs: int, root: Path, before: Callable[[], object]) -> None:
    """Print one line: ``rekal checkpoint`` after ``before``."""
    took = []
    for _ in range(runs):
        before()
        took.append(rekal(root, "checkpoint"))
    median = statistics.median(took)
    print(f"{name:10} {median:6.3f} s  ratio to the budget of {BUDGET[name]} s: {median / BUDGET[name]:.2f}")


def measure_many(folder: Path, root: Path, count: int, runs: int) -> None:
    """Print one line: ``rekal checkpoint`` beside ``count`` transcripts of this repository that did not change."""
    many(folder, root, count)
    first, held = measure_process(root, "checkpoint")
    print(f"the first capture of {count}: {first:.1f} s, {held:.0f} MB")
    took = [measure_process(root, "checkpoint") for _ in range(runs)]
    median, most = statistics.median(time for time, _ in took), max(memory for _, memory in took)
    print(
        f"many       {median:6.3f} s, {most:.0f} MB"
        f"  ratio to the budgets of {BUDGET['many']} s and {MEMORY_OF_MANY} MB:"
        f" {median / BUDGET['many']:.2f}, {most / MEMORY_OF_MANY:.2f}"
    )


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=int, default=5, help="runs of each kind")
    parser.add_argument("--many", type=int, help="only this: so many transcripts that did not change")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        base = Path(name).resolve()
        home, root = base / "home", base / "app"
        home.mkdir()
        environment(home)
        make_repository(root, 1)
        rekal(root, "init", "--backfill", "0", "--hooks-only")
        folder = project(home, root)
        if options.many:
            measure_many(folder, root, options.many, options.runs)
            return
        many(folder, root, 500)
        rekal(root, "checkpoint")
        measured("unchanged", options.runs, root, lambda: None)
        shutil.copytree(root / ".rekal", base / "template")
        if LARGE.exists():
            data = re.sub(rb'"cwd":"[^"]*"', b'"cwd":"' + str(root).encode() + b'"', LARGE.read_bytes())
            (folder / "ffffffff-0000-4000-8000-000000000000.jsonl").write_bytes(data)

            def fresh() -> None:
                shutil.rmtree(root / ".rekal")
                shutil.copytree(base / "template", root / ".rekal")

            measured("large", options.runs, root, fresh)


if __name__ == "__main__":
    main()
