"""How fast past transcripts of all agents are imported: every recording of ../shared/fixtures under one home directory.

    python -m benchmarks.bench_backfill [--commits 200] [--profile]

Prints turns a second of the capture alone (read, scrub, store, link to the repository's commits) and of the whole
`rekal checkpoint --all` as a process of its own, the index included: of processor time, all processes together, which
other load changes little; and by the clock, where reading in several processes shows and an idle machine is needed.
`--profile` prints where the capture's time goes when one process does it all.
"""

from __future__ import annotations

import argparse
import cProfile
import os
import pstats
import subprocess
import sys
import tempfile
import time
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from benchmarks.fixture_home import lay_out
from rekal.app.context import App
from rekal.capture import parallel
from rekal.capture.capture import Captured, capture_commits
from rekal.git import find_repo
from rekal.store.ledger import open_ledger

FIXTURES = Path(__file__).resolve().parents[2] / "shared" / "fixtures"
TARGET = 2000


def git(directory: Path, *args: str) -> None:
    """Run git; its noise is dropped."""
    subprocess.run(["git", *args], cwd=directory, check=True, capture_output=True, timeout=600)


def make_repository(root: Path, commits: int) -> None:
    """A repository with ``commits`` commits of three files each."""
    root.mkdir()
    git(root, "init", "-q")
    for number in range(commits):
        for file in range(3):
            path = root / f"d{number % 10}" / f"f{file}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(f"line {number} of {file}\n" * 20, encoding="utf-8")
        git(root, "add", "-A")
        git(root, "commit", "-q", "-m", f"commit {number}")


def environment(home: Path) -> None:
    """Point this process and its children at ``home``."""
    os.environ.update(HOME=str(home), XDG_CONFIG_HOME=str(home / ".config"), GIT_CONFIG_NOSYSTEM="1")
    os.environ.pop("XDG_DATA_HOME", None)
    (home / ".gitconfig").write_text("[user]\n\tname = Bench\n\temail = bench@example.com\n", encoding="utf-8")


class Took(msgspec.Struct, frozen=True):
    """Seconds since an unknown moment: processor time of this process and its children, and the clock's."""

    processor: float
    clock: float

    def line(self, name: str, turns: int) -> str:
        """What it comes to for so many turns."""
        rates = turns / self.processor, turns / self.clock
        return f"{name}  {rates[0]:6.0f} turns/s of processor time, {rates[1]:6.0f} by the clock (wanted: {TARGET})"


def now() -> Took:
    """The present."""
    return Took(sum(os.times()[:4]), time.perf_counter())


def since(begun: Took) -> Took:
    """What passed."""
    ended = now()
    return Took(ended.processor - begun.processor, ended.clock - begun.clock)


def captured(root: Path, home: Path, *, profile: bool) -> tuple[Captured, Took]:
    """Capture all of ``home`` into a fresh store and say how long it took."""
    app = App(find_repo(root), home, dict(os.environ))
    app.layout.create()
    profiler = cProfile.Profile(time.process_time)
    begun = now()
    if profile:
        parallel.MOST = 1
        profiler.enable()
    done = capture_commits(app.layout, app.repo, app.job(), since=datetime(1980, 1, 1, tzinfo=UTC))
    profiler.disable()
    took = since(begun)
    if profile:
        pstats.Stats(profiler).sort_stats("tottime").print_stats(35)
        pstats.Stats(profiler).sort_stats("cumulative").print_stats(45)
    return done, took


def agents(root: Path) -> Counter[str]:
    """Turns stored by agent."""
    with open_ledger(root / ".rekal" / "data.db", read_only=True) as ledger:
        sql = "SELECT agent, count(*) FROM turns JOIN sessions ON id = session_id GROUP BY agent ORDER BY agent"
        return Counter({str(agent): int(count) for agent, count in ledger.con.execute(sql).fetchall()})


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--commits", type=int, default=200, help="commits of the repository")
    parser.add_argument("--profile", action="store_true", help="print where the time goes")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        base = Path(name).resolve()
        home = base / "home"
        home.mkdir()
        environment(home)
        make_repository(base / "app", options.commits)
        lay_out(FIXTURES, home, base / "app")
        done, took = captured(base / "app", home, profile=options.profile)
        print(f"{done.sources} sources, {done.sessions} sessions, {done.turns} turns, {done.calls} calls")
        print("turns by agent: " + ", ".join(f"{agent} {count}" for agent, count in agents(base / "app").items()))
        for warning in done.warnings:
            print(f"  {warning}")
        print(f"{done.checkpoints} commits linked")
        print(took.line("capture alone", done.turns))
        for left in (base / "app/.rekal").glob("data.db*"):
            left.unlink()
        begun = now()
        command = [sys.executable, "-m", "rekal", "checkpoint", "--all"]
        subprocess.run(command, cwd=base / "app", check=True, capture_output=True, timeout=600)
        print(since(begun).line("whole command", done.turns))


if __name__ == "__main__":
    main()
