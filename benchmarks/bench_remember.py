"""What one `rekal remember` costs as a process, beside ten thousand memories and beside two hundred thousand turns.

    python -m benchmarks.bench_remember [--runs 9] [--turns 200000]

Prints processor time (user and system, git included) in milliseconds: the median, the least, and that of
`rekal version`, which does nothing and tells how fast the machine is at the moment. The memories are made up of few
words, so more of them than usual are compared with the new one.
"""

from __future__ import annotations

import argparse
import os
import random
import resource
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.corpus import Vocabulary, write
from rekal.memory.events import MEMORY_TYPES
from rekal.memory.write import Actor, NewMemory, make_memory
from rekal.store.ledger import open_ledger
from rekal.store.memory_log import append_events

BUDGETS = {"10,000 memories": 150.0, "200,000 turns": 300.0}
_MEMORIES = 10_000
_WORDS = 50  # that the memories are made of


def make_repository(root: Path, env: dict[str, str]) -> Path:
    """A repository with a commit and an empty store; returns the path of its data.db."""
    root.mkdir()
    identity = ("-c", "user.name=Bench", "-c", "user.email=bench@example.com")
    for words in (("init", "-q", "-b", "main"), ("commit", "-q", "--allow-empty", "-m", "start")):
        subprocess.run(["git", *identity, *words], cwd=root, env=env, check=True, capture_output=True, timeout=60)
    call_rekal(root, env, "init")
    return root / ".rekal" / "data.db"


def add_memories(data: Path, count: int) -> None:
    """Put ``count`` memories of all types into a store in one transaction."""
    words, draw, now = Vocabulary(3).words[:_WORDS], random.Random(3), datetime.now(UTC)
    by = Actor("Bench", "human", "import")
    events = [
        make_memory(
            NewMemory(
                f"{' '.join(draw.choices(words, k=12))} {number}",
                draw.choice(MEMORY_TYPES),
                because=" ".join(draw.choices(words, k=10)),
                subject=f"subject {number}" if number % 3 == 0 else None,
            ),
            by, now, lambda text: text,
        )
        for number in range(count)
    ]  # fmt: skip
    with open_ledger(data, read_only=False) as ledger, ledger.transaction(indexed=False):
        append_events(ledger, events)


def call_rekal(root: Path, env: dict[str, str], *words: str) -> float:
    """Run the command line as a process; returns its processor time in milliseconds, its children's included."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [sys.executable, "-P", "-m", "rekal", *words]
    subprocess.run(command, cwd=root, env=env, check=True, capture_output=True, timeout=600)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


def measure(root: Path, env: dict[str, str], runs: int) -> dict[str, list[float]]:
    """Costs of a decision, a note and `version` in turn, the first round of each left out."""
    words = Vocabulary(3).words[:_WORDS]
    costs: dict[str, list[float]] = {"decide": [], "remember": [], "version": []}
    for run in range(runs + 1):
        text = f"{' '.join(random.Random(run).choices(words, k=12))} once more {run}"
        for verb, found in costs.items():
            cost = call_rekal(root, env, verb, *(() if verb == "version" else (f"{text} {verb}",)))
            if run:
                found.append(cost)
    return costs


def _print_costs(name: str, costs: dict[str, list[float]]) -> None:
    for verb, found in costs.items():
        line = f"{name:<16} {verb:<9} median {statistics.median(found):5.0f} ms  least {min(found):5.0f} ms"
        budget = "" if verb == "version" else f"  {statistics.median(found) / BUDGETS[name]:.2f} of the budget"
        print(line + budget)


def main(args: Sequence[str] | None = None) -> None:
    """Fill both stores and print what a write costs beside each."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--runs", type=int, default=9)
    parser.add_argument("--turns", type=int, default=200_000, help="turns of the second store; 0: leave it out")
    options = parser.parse_args(args)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        env = {**os.environ, "HOME": name, "XDG_CONFIG_HOME": name, "GIT_CONFIG_NOSYSTEM": "1"}
        env.pop("PYTHONDONTWRITEBYTECODE", None)  # compiled modules are what a user has
        first = make_repository(Path(name) / "memories", env)
        add_memories(first, _MEMORIES)
        _print_costs("10,000 memories", measure(first.parents[1], env, options.runs))
        if options.turns:
            second = make_repository(Path(name) / "turns", env)
            write(second, options.turns)
            _print_costs("200,000 turns", measure(second.parents[1], env, options.runs))


if __name__ == "__main__":
    main()
