"""What rekal's hook adds to `git commit`: two equal repositories, one with an empty sh hook, one with ours.

    python benchmarks/bench_commit.py --files 3000 --commits 30 --rekal "$(command -v rekal)"

Commits alternate between the two, so that a busy machine is busy for both. Without `--rekal` the worker that the hook
starts is a script that does nothing, so the figure is the hook's own. Also timed: no hook at all, and `enabled: false`.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from rekal.git import find_repo
from rekal.install import install_rekal

VARIANTS = ("none", "empty", "disabled", "rekal")


def git(directory: Path, *args: str) -> None:
    """Run git with a throw-away identity; its noise is dropped."""
    subprocess.run(["git", *args], cwd=directory, check=True, capture_output=True, timeout=600)


def make_repository(root: Path, files: int) -> None:
    """A repository with ``files`` small files in folders of a hundred, committed."""
    root.mkdir()
    git(root, "init", "-q")
    git(root, "config", "user.name", "Bench")
    git(root, "config", "user.email", "bench@example.com")
    git(root, "config", "gc.auto", "0")
    for number in range(files):
        path = root / f"d{number // 100}" / f"f{number % 100}.txt"
        path.parent.mkdir(exist_ok=True)
        path.write_text(f"file {number}\n", encoding="utf-8")
    git(root, "add", "-A")
    git(root, "commit", "-q", "--allow-empty", "-m", "start")


def give_hook(root: Path, variant: str, rekal: Path) -> None:
    """Set up what the variant's name says."""
    if variant == "empty":
        hook = root / ".git" / "hooks" / "post-commit"
        hook.parent.mkdir(exist_ok=True)
        hook.write_text("#!/bin/sh\n", encoding="utf-8")
        hook.chmod(0o755)
    elif variant != "none":
        install_rekal(find_repo(root), (), rekal)
        if variant == "disabled":
            (root / ".git" / "rekal" / "disabled").touch()


def timed_commit(root: Path, number: int) -> float:
    """Milliseconds that one commit of one changed file takes."""
    (root / "changed.txt").write_text(f"{number}\n", encoding="utf-8")
    git(root, "add", "changed.txt")
    start = time.perf_counter()
    git(root, "commit", "-q", "-m", f"commit {number}")
    return (time.perf_counter() - start) * 1000


@contextmanager
def workplace(rekal: Path | None) -> Iterator[tuple[Path, Path]]:
    """A directory to work in, and the executable to bake into the hooks."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        base = Path(name)
        stub = base / "bin-rekal"
        stub.write_text("#!/bin/sh\n", encoding="utf-8")
        stub.chmod(0o755)
        # A real rekal would import this user's own transcripts.
        (base / "home").mkdir()
        os.environ["HOME"] = os.environ["XDG_CONFIG_HOME"] = str(base / "home")
        yield base, rekal or stub


def main() -> None:
    """Time the variants and print medians, 95th percentiles and the ratio to an empty hook."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--files", type=int, default=3000, help="files in the repository")
    parser.add_argument("--commits", type=int, default=30, help="timed commits of each kind")
    parser.add_argument("--rekal", type=Path, help="the real rekal; the worker then runs during the next commits")
    options = parser.parse_args()
    times: dict[str, list[float]] = {variant: [] for variant in VARIANTS}
    os.environ["GIT_CONFIG_NOSYSTEM"] = "1"
    with workplace(options.rekal) as (base, rekal):
        for variant in VARIANTS:
            make_repository(base / variant, options.files)
            give_hook(base / variant, variant, rekal)
        for number in range(options.commits + 2):
            for variant in VARIANTS:
                took = timed_commit(base / variant, number)
                if number >= 2:  # the first ones warm the caches
                    times[variant].append(took)
    base_line = statistics.median(times["empty"])
    print(f"{options.files} files, {options.commits} commits of each kind; ms")
    for variant in VARIANTS:
        median = statistics.median(times[variant])
        p95 = statistics.quantiles(times[variant], n=20)[-1]
        print(f"  {variant:9} median {median:6.1f}  p95 {p95:6.1f}  ratio to empty hook {median / base_line:5.2f}")


if __name__ == "__main__":
    main()
