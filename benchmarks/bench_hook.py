"""Processor time of a prompt's hook with a warm daemon: the client's whole process, and the daemon's share.

    python -m benchmarks.bench_hook [--turns 400] [--runs 40] [--words]

The store and its questions are made up, each chunk has a vector of the default model's size, and every other prompt is
one that the store has an answer to. ``--words``: without a model. Prints a JSON object: medians and the 95th of 100, in
milliseconds of processor time. Bytecode is compiled first, as it is where rekal is installed.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from benchmarks.bench_recall import make_store
from rekal.store.layout import Layout

_OTHER = "please make the tests of the invoice page run in the browser again, they hang since Tuesday"


def daemon_time(pid: int) -> float:
    """Processor time of all threads of a process so far, in milliseconds."""
    total = 0
    for task in Path(f"/proc/{pid}/task").iterdir():
        with suppress(OSError):  # a thread that has ended
            total += int((task / "schedstat").read_text().split()[0])
    return total / 1e6


def ask_hook(root: Path, env: Mapping[str, str], number: int, prompt: str) -> tuple[float, bool]:
    """Run the hook as a host does: its processor time in milliseconds, and whether it printed anything."""
    said = json.dumps({"session_id": f"s{number}", "cwd": str(root), "hook_event_name": "UserPromptSubmit",
                       "prompt": prompt})  # fmt: skip
    read, write = os.pipe()
    shown, out = os.pipe()
    pid = os.posix_spawn(
        sys.executable, [sys.executable, "-m", "rekal", "hook", "prompt", "--host", "claude"], dict(env),
        file_actions=[(os.POSIX_SPAWN_DUP2, read, 0), (os.POSIX_SPAWN_DUP2, out, 1), (os.POSIX_SPAWN_CLOSE, write)],
    )  # fmt: skip
    os.close(read)
    os.close(out)
    os.write(write, said.encode())
    os.close(write)
    with os.fdopen(shown, "rb") as file:
        printed = file.read()
    _, _, used = os.wait4(pid, 0)
    return 1000 * (used.ru_utime + used.ru_stime), bool(printed)


def summarise(values: Sequence[float]) -> dict[str, float]:
    """Median and 95th of 100."""
    return {"median": round(statistics.median(values), 1), "p95": round(statistics.quantiles(values, n=20)[-1], 1)}


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=400)
    parser.add_argument("--runs", type=int, default=40)
    parser.add_argument("--words", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="hook-") as place:
        root, home, run = (Path(place, name) for name in ("repo", "home", "run"))
        for folder in (root, home, run):
            folder.mkdir(mode=0o700)
        env = {"HOME": str(home), "XDG_RUNTIME_DIR": str(run), "PATH": os.environ["PATH"],
               "PYTHONPATH": str(Path(__file__).parents[1]), "PYTHONPYCACHEPREFIX": f"{place}/pyc"}  # fmt: skip
        env |= {"RECALL_EMBED_ENGINE": "off"} if options.words else {}
        subprocess.run(["git", "init", "-q"], cwd=root, env=env, check=True, timeout=60)
        questions = make_store(Layout(root / ".rekal", root / ".git" / "rekal"), options.turns)
        subprocess.run([sys.executable, "-m", "compileall", "-q", env["PYTHONPATH"] + "/rekal"], env=env, check=True,
                       timeout=300)  # fmt: skip
        with subprocess.Popen([sys.executable, "-m", "rekal", "daemon"], cwd=root, env=env, stdout=subprocess.PIPE,
                              text=True) as daemon:  # fmt: skip
            assert daemon.stdout is not None
            daemon.stdout.readline()  # it says when it is ready
            for number in range(5):  # what is read and compiled once belongs to no prompt
                ask_hook(root, env, -number - 1, questions[number])
            client, served, answers = [], [], 0
            for number in range(options.runs):
                before = daemon_time(daemon.pid)
                prompt = questions[number % len(questions)] if number % 2 else f"{_OTHER} {number}"
                used, answered = ask_hook(root, env, number, prompt)
                client.append(used)
                served.append(daemon_time(daemon.pid) - before)
                answers += answered
            daemon.terminate()
    both = [sum(pair) for pair in zip(client, served, strict=True)]
    figures = {"client_ms": summarise(client), "daemon_ms": summarise(served), "both_ms": summarise(both)}
    made = {"turns": options.turns, "runs": options.runs, "words_alone": options.words, "answered": answers}
    print(json.dumps(made | figures))


if __name__ == "__main__":
    main()
