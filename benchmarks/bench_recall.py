"""How long a recall takes with vectors: whole processes, cold and by a warm daemon, and the search alone.

    python -m benchmarks.bench_recall [--turns 14000] [--search 200000] [--runs 15]

Vectors are random, of the default model's size; the question is embedded by the model itself. Prints one JSON object a
line: medians in milliseconds of wall clock, and of processor time where the name says so. A start of Python that does
nothing is timed beside them, for what this machine is doing otherwise.
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

import numpy as np

from benchmarks.corpus import write
from rekal.config import Embed
from rekal.embed.open import chosen_model_id
from rekal.index.bm25 import score_lexical
from rekal.index.build import update_index
from rekal.index.dense import Dense
from rekal.index.reader import open_index
from rekal.index.text import query_terms
from rekal.index.vectors import VectorFile, append_vectors, chunk_keys, path_for
from rekal.store.layout import Layout
from rekal.store.ledger import open_ledger

_DIM = 384
_MODEL = chosen_model_id(Embed())


def make_store(layout: Layout, turns: int) -> list[str]:
    """A store of ``turns`` turns, indexed, with a vector each; returns questions to ask of it."""
    layout.create()
    vocabulary = write(layout.data, turns)
    with open_ledger(layout.data, read_only=True) as ledger:
        update_index(ledger, layout.index)
    add_random_vectors(layout)
    return [f"{vocabulary.sample(6)} {vocabulary.files[number]}" for number in range(20)]


def add_random_vectors(layout: Layout) -> None:
    """Give every chunk of an index a random vector of the default model's size."""
    layout.vectors.mkdir(exist_ok=True)
    keys = chunk_keys(layout.index)
    random = np.random.default_rng(7).standard_normal((len(keys), _DIM), dtype=np.float32)
    append_vectors(layout.vectors, _MODEL, keys, random / np.linalg.norm(random, axis=1, keepdims=True))


def median(action: Callable[[int], object], runs: int) -> tuple[float, float]:
    """Median milliseconds of wall clock and of processor time (children's included) of ``action(number)``."""
    wall, cpu = [], []
    for number in range(runs):
        start, before = time.perf_counter(), _processor()
        action(number)
        wall.append((time.perf_counter() - start) * 1000)
        cpu.append((_processor() - before) * 1000)
    return round(statistics.median(wall), 1), round(statistics.median(cpu), 1)


def _processor() -> float:
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(one.ru_utime + one.ru_stime for one in spent)


def _run(root: Path, *args: str, **env: str) -> bytes:
    done = subprocess.run(
        [sys.executable, "-m", "rekal", *args],
        cwd=root, env={**os.environ, **env}, capture_output=True, timeout=60, check=False,
    )  # fmt: skip
    return done.stdout


@contextmanager
def daemon(root: Path) -> Iterator[int]:
    """A daemon that can be reached; its process id."""
    process = subprocess.Popen([sys.executable, "-m", "rekal", "daemon"], cwd=root)
    try:
        end = time.monotonic() + 60
        while not _run(root, "daemon", "--status").startswith(b"runs") and time.monotonic() < end:
            time.sleep(0.1)
        yield process.pid
    finally:
        process.terminate()
        process.wait(timeout=10)


def _resident(pid: int) -> float:
    lines = Path(f"/proc/{pid}/status").read_text("utf-8").splitlines()
    return round(next(int(line.split()[1]) for line in lines if line.startswith("VmRSS")) / 1024, 1)


def _daemon_seconds(pid: int) -> float:
    fields = Path(f"/proc/{pid}/stat").read_text("utf-8").rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def processes(turns: int, runs: int) -> dict[str, object]:
    """Whole processes, cold and warm, at ``turns`` turns."""
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        # Neither this user's settings nor a daemon that already runs.
        os.environ.update(HOME=name, XDG_RUNTIME_DIR=name, XDG_CONFIG_HOME=name)
        subprocess.run(["git", "init", "-q"], cwd=root, check=True, timeout=60)
        questions = make_store(Layout(root / ".rekal"), turns)
        bare, _ = median(lambda number: subprocess.run([sys.executable, "-c", "0"], check=True, timeout=60), runs)
        cold, cold_cpu = median(lambda n: _run(root, "recall", questions[n % 20], RECALL_DAEMON="off"), runs)
        with daemon(root) as pid:
            same = _run(root, "recall", questions[0]) == _run(root, "recall", questions[0], RECALL_DAEMON="off")
            before = _daemon_seconds(pid)
            warm, warm_cpu = median(lambda n: _run(root, "recall", questions[n % 20]), 2 * runs)
            daemon_cpu = round((_daemon_seconds(pid) - before) / (2 * runs) * 1000, 1)
            resident = _resident(pid)
    return {
        "turns": turns, "python_alone_ms": bare, "cold_ms": cold, "cold_cpu_ms": cold_cpu, "warm_ms": warm,
        "warm_client_cpu_ms": warm_cpu, "warm_daemon_cpu_ms": daemon_cpu, "same_bytes": same, "daemon_mb": resident,
    }  # fmt: skip


def search(turns: int, runs: int) -> dict[str, object]:
    """Keywords and vectors in this process at ``turns`` turns."""
    with tempfile.TemporaryDirectory() as name:
        layout = Layout(Path(name) / ".rekal")
        questions = make_store(layout, turns)
        query = np.random.default_rng(8).standard_normal(_DIM).astype(np.float32)
        query /= np.linalg.norm(query)
        with open_index(layout.index) as reader:
            dense = Dense(reader, VectorFile(path_for(layout.vectors, _MODEL)))

            def lexical(number: int) -> None:
                np.argsort(-score_lexical(reader, query_terms(questions[number % 20])).sessions, kind="stable")

            def near(number: int) -> None:
                dense.centroid(dense.cosine(query))

            def everything(number: int) -> None:
                lexical(number)
                near(number)

            first = median(near, 1)[0]
            words, vectors = median(lexical, runs), median(near, runs)
            both = median(everything, runs)
        size = path_for(layout.vectors, _MODEL).stat().st_size
    return {
        "turns": turns, "keywords_ms": words[0], "keywords_cpu_ms": words[1], "vectors_ms": vectors[0],
        "vectors_cpu_ms": vectors[1], "search_ms": both[0], "search_cpu_ms": both[1], "first_join_ms": first,
        "vectors_mb": round(size / 1e6, 1),
    }  # fmt: skip


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--turns", type=int, default=14_000, help="turns of the store that processes recall from")
    parser.add_argument("--search", type=int, default=200_000, help="turns of the store searched in this process")
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    print(json.dumps(processes(options.turns, options.runs)), flush=True)
    print(json.dumps(search(options.search, options.runs)), flush=True)


if __name__ == "__main__":
    main()
