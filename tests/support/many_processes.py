"""Many processes at one store: some capture while transcripts grow, others recall. Nothing may fail or be lost."""

from __future__ import annotations

import functools
import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from tests.support.claude import ClaudeSession
from tests.support.installed_rekal import until

# A process that runs the command line COUNT times, or until the file STOP is there: starting Python costs more than
# recalling, and it is the databases that shall be busy.
_LOOP = """
import sys
from pathlib import Path
from rekal.cli.main import run_command_line
count, stop, allowed, words = int(sys.argv[1]), Path(sys.argv[2]), sys.argv[3], sys.argv[4:]
for _ in range(count):
    if stop.exists():
        break
    code = run_command_line(words)
    if str(code) not in allowed:
        sys.exit(f"exit {code} of {words}")
"""
_ENDLESS = 1_000_000
ALARMS = ("Traceback", "IO Error", "Error:", "unexpected", "damaged", "duckdb", "Conflict", "rekal:")


class Ended(msgspec.Struct, frozen=True):
    """How one process ended."""

    words: tuple[str, ...]
    code: int
    out: str
    err: str


def _start(root: Path, scratch: Path, count: int, allowed: str, words: tuple[str, ...]) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", _LOOP, str(count), str(scratch / "stop"), allowed, *words]
    name = scratch / f"{len(list(scratch.iterdir()))}"
    with name.with_suffix(".out").open("w") as out, name.with_suffix(".err").open("w") as err:
        return subprocess.Popen(command, cwd=root, stdout=out, stderr=err, text=True, env={**os.environ})


def crowd(
    root: Path, scratch: Path, recalls: int | None, question: str, rounds: Iterator[object], *, patience: float
) -> list[Ended]:
    """Two processes capture again and again and four recall, while ``rounds`` is exhausted.

    Each recalls ``recalls`` times (None: until ``rounds`` are over); the captures go on until all that is over.
    """
    capturing = [_start(root, scratch, _ENDLESS, "0", ("checkpoint",)) for _ in range(2)]
    recalling = [_start(root, scratch, recalls or _ENDLESS, "01", ("recall", question)) for _ in range(4)]
    end = time.monotonic() + patience
    try:
        for _ in rounds:
            assert time.monotonic() < end
        for process in recalling if recalls else ():
            process.wait(timeout=max(0.0, end - time.monotonic()))
        (scratch / "stop").touch()
        for process in (*capturing, *recalling):
            process.wait(timeout=60)
    finally:
        for process in (*capturing, *recalling):
            process.kill()
            process.wait()
    words = [("checkpoint",)] * 2 + [("recall", question)] * 4
    read: Callable[[int, str], str] = lambda at, end: (scratch / f"{2 * at}.{end}").read_text("utf-8")  # noqa: E731
    return [
        Ended(words[at], process.returncode, read(at, "out"), read(at, "err"))
        for at, process in enumerate((*capturing, *recalling))
    ]


def _more(measure: Callable[[], int], before: int) -> bool:
    return measure() > before


def growing(sessions: list[ClaudeSession], count: int, scratch: Path) -> Iterator[int]:
    """Let every session say something ``count`` times, each time after some process of the crowd has answered."""

    def answered() -> int:
        return sum(path.stat().st_size for path in scratch.glob("*.out"))

    for number in range(count):
        before = answered()
        for session in sessions:
            session.human(f"Question {number} about the durable queue in {session.session_id[:8]}")
            session.runs(f"make part{number}", "no rule to make it", error=True)
            session.says(f"Answer {number}: the broker forgets.")
        until(functools.partial(_more, answered, before), lambda: "nobody answers")
        yield number
