"""`rekal why FILE:LINE` beside `git blame` itself, on a file of 20,000 lines in a repository of 50,000 commits.

    python benchmarks/bench_why.py --lines 20000 --commits 50000 --runs 7

The history is made by `git fast-import`: nine commits in ten change other files, one in ten changes lines of the big
one. A store is filled with sessions that wrote some of them. Whole processes are timed, alternating, so that a busy
machine is busy for both; the figure is the ratio of the medians. `git blame` is run once plain and once with the flags
that `why` uses.
"""

from __future__ import annotations

import argparse
import os
import random
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

from rekal import ids
from rekal.model import Checkpoint, Edit, FileChange, Session, SessionRange, ToolCall, Turn
from rekal.store.ledger import open_ledger
from rekal.why.blame import MOVES

BIG = "src/big.py"
REKAL = Path(sys.executable).parent / "rekal"
BEGIN = datetime(2024, 1, 1, tzinfo=UTC)


def stream(lines: int, commits: int) -> Iterator[bytes]:
    """Input for `git fast-import`; deterministic."""
    draw = random.Random(7)
    text = [f"value_{n} = compute_the_value({n})" for n in range(lines)]
    for number in range(commits):
        at = int((BEGIN + timedelta(minutes=10 * number)).timestamp())
        message = f"change {number}"
        yield f"commit refs/heads/main\nmark :{number + 1}\ncommitter Bench <bench@example.com> {at} +0000\n".encode()
        yield f"data {len(message)}\n{message}\n".encode()
        if number:
            yield f"from :{number}\n".encode()
        if number % 10 == 0:
            for place in draw.sample(range(lines), min(lines, 3)) if number else ():
                text[place] = f"value_{place} = compute_in_commit({number}, {place})"
            path, body = BIG, "\n".join(text) + "\n"
        else:
            path, body = f"other/{number % 500}.txt", f"{number}\n"
        data = body.encode()
        yield f"M 100644 inline {path}\ndata {len(data)}\n".encode() + data + b"\n"


def make_repository(root: Path, lines: int, commits: int) -> None:
    """The repository, checked out and packed."""
    root.mkdir()
    git(root, "init", "-q", "-b", "main")
    with subprocess.Popen(["git", "fast-import", "--quiet"], cwd=root, stdin=subprocess.PIPE) as child:
        assert child.stdin is not None
        for piece in stream(lines, commits):
            child.stdin.write(piece)
    assert child.returncode == 0
    git(root, "repack", "-q", "-a", "-d")
    git(root, "commit-graph", "write", "--reachable", "--changed-paths")
    git(root, "reset", "-q", "--hard")


def git(root: Path, *args: str) -> str:
    """Run git; its output."""
    return subprocess.run(["git", *args], cwd=root, check=True, capture_output=True, text=True, timeout=3600).stdout


def fill_store(root: Path, every: int) -> int:
    """One session of forty turns for each ``every``-th commit of the big file; how many."""
    rows = [r.split() for r in git(root, "log", "--format=%H %ct", "--", BIG).splitlines()][::every]
    with open_ledger(root / ".rekal" / "data.db", read_only=False, create=True) as ledger, ledger.transaction():
        for sha, stamp in rows:
            at = datetime.fromtimestamp(int(stamp), UTC)
            added = git(root, "show", "--format=", "-U0", sha, "--", BIG).splitlines()
            wrote = [line[1:] for line in added if line.startswith("+") and not line.startswith("+++")]
            session = made_session(sha, at, wrote)
            ledger.append(session)
            checkpoint = Checkpoint(
                ids.checkpoint_id(sha, "bench@example.com"), sha, "bench@example.com", committed_at=at
            )
            ranges = (SessionRange(session.id, 0, 39, "edited"),)
            ledger.add_checkpoint(replaced(checkpoint, ranges))
    return len(rows)


def replaced(checkpoint: Checkpoint, ranges: Sequence[SessionRange]) -> Checkpoint:
    """The checkpoint with its file and its sessions."""
    import msgspec

    return msgspec.structs.replace(checkpoint, files=(FileChange(BIG, "M"),), sessions=tuple(ranges))


def made_session(sha: str, at: datetime, wrote: Sequence[str]) -> Session:
    """Forty turns, the last of which wrote the lines."""
    session = ids.session_id("claude", sha, "bench@example.com")
    when = [at - timedelta(minutes=5, seconds=-n) for n in range(40)]
    turns = tuple(
        Turn(n, ids.derive("turn", sha, str(n)), "assistant" if n % 2 else "human", f"turn {n} of {sha}", when[n])
        for n in range(40)
    )
    call = ToolCall(0, ids.derive("call", sha), 39, "Edit", BIG, outcome="ok", occurred_at=when[39])
    hashes = tuple(h for line in wrote if (h := ids.line_hash(line)) is not None)
    edits = (Edit(0, 0, BIG, hashes),)
    head = Session(session, "claude", sha, "Bench", "bench@example.com", started_at=when[0])
    import msgspec

    return msgspec.structs.replace(head, turns=turns, tool_calls=(call,), edits=edits)


def timed(root: Path, command: Sequence[str]) -> float:
    """Milliseconds of one whole process; any exit code of 0 or 1 will do (1: no record)."""
    start = time.perf_counter()
    done = subprocess.run(command, cwd=root, capture_output=True, timeout=3600, check=False)
    assert done.returncode in (0, 1), done.stderr
    return (time.perf_counter() - start) * 1000


def compare(root: Path, first: int, last: int, runs: int) -> None:
    """Print the medians for one range and the ratios."""
    span = f"{first},{last}"
    commands = {
        "git blame": ["git", "blame", "-L", span, "--porcelain", "--", BIG],
        "git blame, our flags": ["git", "blame", "-w", *MOVES, "-L", span, "--porcelain", "--", BIG],
        "rekal why": [str(REKAL), "why", f"{BIG}:{first}-{last}"],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for number in range(runs + 1):
        for name, command in commands.items():
            took = timed(root, command)
            if number:  # the first round warms the caches
                times[name].append(took)
    medians = {name: statistics.median(values) for name, values in times.items()}
    ours = medians["rekal why"]
    plain, flagged = medians["git blame"], medians["git blame, our flags"]
    said = ", ".join(f"{name} {value:.0f} ms" for name, value in medians.items())
    print(f"  lines {first}-{last}: {said}; why ÷ blame {ours / plain:.2f}, ÷ with our flags {ours / flagged:.2f}")


def main() -> None:
    """Make the repository, then compare for one line, fifty lines and a thousand."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--lines", type=int, default=20_000, help="lines of the file")
    parser.add_argument("--commits", type=int, default=50_000, help="commits of the repository")
    parser.add_argument("--runs", type=int, default=7, help="timed runs of each")
    parser.add_argument("--keep", type=Path, help="make the repository here and keep it, or use the one that is here")
    options = parser.parse_args()
    os.environ["GIT_CONFIG_NOSYSTEM"] = "1"
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        root: Path = options.keep or Path(name) / "repository"
        os.environ["HOME"] = name
        if not root.exists():
            make_repository(root, options.lines, options.commits)
            (root / ".rekal").mkdir()
            fill_store(root, 10)
        print(f"{options.lines} lines, {options.commits} commits; medians of {options.runs} whole processes")
        middle = options.lines // 2
        for width in (1, 50, 1000):
            compare(root, middle, min(middle + width - 1, options.lines), options.runs)


if __name__ == "__main__":
    main()
