"""What rekal adds to the user's own `git push`, to a bare repository on this disk.

    python -m benchmarks.bench_push [--runs 15]

Two equal clones, one with rekal's hook, push alternately, so that a busy machine is busy for both. Three cases: the
push brings a commit with a session to the mainline, so a checkpoint leaves with it; nothing waits to be sent; a
checkpoint waits, but the push is of another branch. Prints the difference of the medians: of the clock, and of
processor time, which other load sways less.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from benchmarks.bench_backfill import environment, git
from benchmarks.bench_capture import project, rekal

BUDGET = {"checkpoint": 0.3, "nothing": 0.06, "waiting": 0.3}
"""Seconds."""


def git_says(directory: Path, *args: str) -> bytes:
    """What git prints."""
    return subprocess.run(["git", *args], cwd=directory, check=True, capture_output=True, timeout=60).stdout


class Clone:
    """A clone with a bare remote of its own."""

    def __init__(self, base: Path, name: str) -> None:
        self.root = base / name
        bare = base / f"{name}.git"
        subprocess.run(["git", "init", "-q", "--bare", "-b", "main", str(bare)], check=True, timeout=60)
        self.root.mkdir()
        git(self.root, "init", "-q", "-b", "main")
        git(self.root, "remote", "add", "origin", str(bare))
        self.commit(0)
        git(self.root, "push", "-q", "-u", "origin", "main")

    def commit(self, number: int) -> None:
        """One commit of one file, which the hook's worker does not notice."""
        (self.root / "queue.py").write_text(f"retries = {number}\n", encoding="utf-8")
        git(self.root, "add", "-A")
        git(self.root, "commit", "-q", "-m", f"Retry {number} times")

    def push(self, branch: str) -> tuple[float, float]:
        """Seconds of the clock and of processor time that a push takes."""
        start, before = time.perf_counter(), _processor()
        subprocess.run(
            ["git", "push", "-q", "origin", branch],
            cwd=self.root, env={**os.environ, "REKAL_INTERNAL": ""}, check=True, capture_output=True, timeout=60,
        )  # fmt: skip
        return time.perf_counter() - start, _processor() - before


def _processor() -> float:
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def say(home: Path, root: Path, number: int) -> None:
    """A session that leads to commit ``number``: what was asked, the edit, and what was said of it."""
    name, path = f"{number:08x}-0000-4000-8000-000000000000", str(root / "queue.py")
    shared = {"sessionId": name, "cwd": str(root), "gitBranch": "main", "version": "2.1.0", "isSidechain": False}
    written = {"file_path": path, "content": f"retries = {number}\n"}
    call = {"type": "tool_use", "id": f"toolu_{number}", "name": "Write", "input": written}
    done = {"type": "tool_result", "tool_use_id": f"toolu_{number}", "content": "File written"}
    talk: list[tuple[str, object]] = [
        ("user", f"The queue gives up too early, let it retry {number} times."),
        ("assistant", [{"type": "text", "text": "I raise the limit where it is read."}, call]),
        ("user", [done]),
        ("assistant", [{"type": "text", "text": f"The queue now retries {number} times."}]),
    ]
    lines, parent = [], None
    for place, (role, content) in enumerate(talk):
        own = f"{number:08x}-0000-4000-8000-{place + 1:012x}"
        when = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime())
        record = {**shared, "type": role, "uuid": own, "parentUuid": parent, "timestamp": when}
        lines.append(json.dumps({**record, "message": {"role": role, "content": content}}))
        parent = own
    (project(home, root) / f"{name}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")


@contextmanager
def workplace() -> Iterator[tuple[Path, Clone, Clone]]:
    """A home directory, a plain clone, and one that shares its memory."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        base = Path(name).resolve()
        (base / "home").mkdir()
        environment(base / "home")
        # What is timed is the push: our other hooks, and the workers they start, stay out of it.
        os.environ["REKAL_INTERNAL"] = "1"
        launcher = base / "rekal"
        launcher.write_text(f'#!/bin/sh\nexec {sys.executable} -m rekal "$@"\n', encoding="utf-8")
        launcher.chmod(0o755)
        os.environ["PYTHONPATH"] = str(Path(__file__).resolve().parents[1])
        os.environ["PATH"] = f"{base}:{os.environ['PATH']}"
        plain, ours = Clone(base, "plain"), Clone(base, "ours")
        rekal(ours.root, "init", "--backfill", "0", "--hooks-only")
        rekal(ours.root, "share", "origin")
        yield base / "home", plain, ours


def measured(name: str, runs: int, plain: Clone, ours: Clone, before: Callable[[int], str]) -> None:
    """Print one line: pushes of what ``before(number)`` names, with our hook and without."""
    times: dict[str, list[tuple[float, float]]] = {"plain": [], "ours": []}
    for number in range(runs):
        branch = before(number)
        times["plain"].append(plain.push(branch))
        times["ours"].append(ours.push(branch))
    wall, cpu = (
        statistics.median(took[at] for took in times["ours"]) - statistics.median(took[at] for took in times["plain"])
        for at in (0, 1)
    )
    ratio = f"ratio to the budget of {BUDGET[name]} s: {wall / BUDGET[name]:.2f} ({cpu / BUDGET[name]:.2f})"
    print(f"{name:10} {wall:6.3f} s  processor {cpu:6.3f} s  {ratio}", flush=True)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=int, default=15, help="pushes of each kind by each clone")
    options = parser.parse_args()
    with workplace() as (home, plain, ours):
        done = iter(range(1, 1_000_000))

        def both() -> int:
            number = next(done)
            for clone in (plain, ours):
                clone.commit(number)
            return number

        def checkpoint(_: int) -> str:
            say(home, ours.root, both())
            rekal(ours.root, "checkpoint")
            return "main"

        def nothing(_: int) -> str:
            both()
            return "main"

        def waiting(number: int) -> str:
            for clone in (plain, ours):
                git(clone.root, "switch", "-q", "-c", f"topic-{number}")
            checkpoint(number)
            return f"topic-{number}"

        for clone, branch in ((plain, checkpoint(0)), (ours, "main")):
            clone.push(branch)
        if not git_says(ours.root, "ls-remote", "origin", "refs/rekal/*"):
            raise SystemExit("the first push sent no memory, so there is nothing to time")
        measured("checkpoint", options.runs, plain, ours, checkpoint)
        measured("nothing", options.runs, plain, ours, nothing)
        measured("waiting", options.runs, plain, ours, waiting)


if __name__ == "__main__":
    main()
