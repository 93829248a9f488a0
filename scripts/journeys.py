"""Count the files, functions and classes of ours that one commit, recall, push and receipt meet.

    python scripts/journeys.py [--list JOURNEY]

Each journey is the real verb in a scratch repository with a home of its own, its calls recorded by ``sys.setprofile``.
A function is met when it is called, a file when a function of it is, a class when a function that is called names it or
belongs to it. Modules that are only imported do not count, nor what they call to set themselves up: nobody has to read
that to follow the journey. Vectors and the daemon are off. Exit code 1 when a journey meets more files than its bound.
"""

from __future__ import annotations

import argparse
import inspect
import json
import os
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from pathlib import Path
from types import CodeType, FrameType
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PACKAGE = ROOT / "rekal"
sys.path.insert(0, str(ROOT))

AIMS = {"commit": 70, "recall": 42, "push": 36, "receive": 44}
# A recall met 42 before its rows were whole sentences: three files say where one ends, and whether it says anything.
BOUNDS = {"commit": 70, "recall": 45, "push": 36, "receive": 39}
"""The most files that a journey may meet (``tests/e2e/test_journeys.py``); who raises a bound says why."""
START = "|| rekal_start"  # in the post-commit hook


def record(words: Sequence[str], out: Path) -> int:
    """Run ``rekal WORDS`` in this process and write what it called to ``out``."""
    called: set[CodeType] = set()

    def note(frame: FrameType, event: str, argument: Any) -> None:
        if event == "call" and frame.f_code not in called and not is_importing(frame):
            called.add(frame.f_code)

    from rekal.cli.main import run_command_line

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        return run_command_line(words)
    finally:
        sys.setprofile(None)
        out.write_text(json.dumps(summary(called)), encoding="utf-8")


def is_importing(frame: FrameType | None) -> bool:
    """True if ``frame`` runs because a module of ours is being imported."""
    while frame is not None:
        if frame.f_code.co_name == "<module>" and Path(frame.f_code.co_filename).is_relative_to(PACKAGE):
            return True
        frame = frame.f_back
    return False


def summary(called: set[CodeType]) -> dict[str, list[str]]:
    """The files, functions and classes of ours among the code that was called."""
    ours = {code for code in called if Path(code.co_filename).is_relative_to(PACKAGE) and code.co_name != "<module>"}
    ours = {code for code in ours if not code.co_name.startswith("<")}
    classes = {
        name: member.__module__
        for module in list(sys.modules.values())
        if getattr(module, "__name__", "").startswith("rekal")
        for name, member in vars(module).items()
        if inspect.isclass(member) and member.__module__.startswith("rekal")
    }
    # A class body runs as a call, too, when its module is imported: it is no function.
    functions = {code for code in ours if code.co_name not in classes}
    met = {
        name for code in functions for name in (*code.co_names, code.co_qualname.partition(".")[0]) if name in classes
    }
    return {
        "files": sorted({str(Path(code.co_filename).relative_to(ROOT)) for code in functions}),
        "functions": sorted({f"{Path(c.co_filename).relative_to(ROOT)}:{c.co_qualname}" for c in functions}),
        "classes": sorted(met),
    }


class Scratch:
    """A repository with memory in it, its remote, and a teammate's clone."""

    def __init__(self, base: Path) -> None:
        self.base, self.home, self.app, self.mate = base, base / "home", base / "app", base / "mate"
        self.home.mkdir()
        # The agents' folders of the person who runs this must not be read.
        kept = {"PATH": os.environ["PATH"], "HOME": str(self.home), "USERPROFILE": str(self.home)}
        self.env = kept | {"GIT_CONFIG_NOSYSTEM": "1", "RECALL_EMBED_ENGINE": "off", "RECALL_DAEMON": "off"}
        self.env |= {"PYTHONPATH": str(ROOT), "LANG": "C.UTF-8"}

    def git(self, where: Path, *args: str) -> None:
        """Run git without our hooks: each step of a journey is run by hand."""
        internal = self.env | {"REKAL_INTERNAL": "1"}
        subprocess.run(["git", *args], cwd=where, env=internal, check=True, timeout=60, capture_output=True)

    def rekal(self, where: Path, *args: str, stdin: str = "") -> None:
        """Run a verb that is no journey."""
        self._python(where, ["-m", "rekal", *args], stdin)

    def journey(self, where: Path, *args: str, stdin: str = "") -> dict[str, list[str]]:
        """Run a verb and return what it met."""
        out = self.base / "met.json"
        self._python(where, [__file__, "--record", str(out), *args], stdin)
        found: dict[str, list[str]] = json.loads(out.read_text("utf-8"))
        return found

    def _python(self, where: Path, words: Sequence[str], stdin: str) -> None:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=where,
            env=self.env,
            input=stdin,
            text=True,
            timeout=120,
            capture_output=True,
            check=False,
        )
        if done.returncode not in (0, 1):
            raise SystemExit(f"{' '.join(words)} ended with {done.returncode}: {done.stderr}")


def prepare(scratch: Scratch) -> None:
    """Two clones of one remote that share; hooks are there but each journey is run by hand."""
    remote = scratch.base / "remote.git"
    (scratch.home / ".gitconfig").write_text(
        "[user]\n\tname = Demo\n\temail = demo@example.com\n[init]\n\tdefaultBranch = main\n", encoding="utf-8"
    )
    scratch.app.mkdir()
    scratch.git(scratch.app, "init", "-q")
    (scratch.app / "README.md").write_text("# A service with background jobs\n", encoding="utf-8")
    scratch.git(scratch.app, "add", ".")
    scratch.git(scratch.app, "commit", "-q", "-m", "Start")
    scratch.git(scratch.base, "clone", "-q", "--bare", str(scratch.app), str(remote))
    scratch.git(scratch.app, "remote", "add", "origin", str(remote))
    scratch.git(scratch.app, "fetch", "-q")
    scratch.git(scratch.base, "clone", "-q", str(remote), str(scratch.mate))
    for clone in (scratch.app, scratch.mate):
        scratch.rekal(clone, "init", "--backfill", "0")
        scratch.rekal(clone, "share", "origin", "--mainline", "main")
        # `init` has started a worker: when this one has had its turn, none is left that works beside a journey.
        scratch.rekal(clone, "_worker")


def measure() -> dict[str, dict[str, list[str]]]:
    """All journeys in order, each on what the one before it left."""
    from tests.support.claude import ClaudeSession

    with tempfile.TemporaryDirectory(prefix="rekal-journeys-") as folder:
        scratch = Scratch(Path(folder).resolve())
        prepare(scratch)
        code = "def enqueue(connection, job):\n    connection.execute('INSERT INTO jobs VALUES (%s)', [job])\n"
        session = ClaudeSession(scratch.home, scratch.app, "queue")
        session.human("Jobs get lost when the worker restarts. Make the job queue durable.")
        session.writes(scratch.app / "queue.py", code, text="I put the job queue into Postgres and ruled Redis out.")
        (scratch.app / "queue.py").write_text(code, encoding="utf-8")
        scratch.git(scratch.app, "add", ".")
        commit_with_hook(scratch)
        met = {"commit": scratch.journey(scratch.app, "_worker")}
        met["recall"] = scratch.journey(scratch.app, "recall", "why is the job queue in Postgres and not in Redis")
        scratch.git(scratch.app, "push", "-q", "origin", "main")
        met["push"] = scratch.journey(scratch.app, "push", "origin")
        scratch.git(scratch.mate, "fetch", "-q")
        met["receive"] = scratch.journey(scratch.mate, "receive")
    return met


def commit_with_hook(scratch: Scratch) -> None:
    """Commit with the real hook, which leaves its event; only the start of its worker is left out."""
    hook = scratch.app / ".git" / "hooks" / "post-commit"
    text = hook.read_text("utf-8")
    if START not in text:
        raise SystemExit(f"{hook} does not start the worker by {START!r} any more: mend scripts/journeys.py")
    hook.write_text(text.replace(START, "|| :"), encoding="utf-8")
    subprocess.run(["git", "commit", "-q", "-m", "Keep jobs"], cwd=scratch.app, env=scratch.env, check=True, timeout=60)
    hook.write_text(text, encoding="utf-8")


def main() -> int:
    """Print the table, or the files of one journey."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--list", choices=sorted(AIMS), help="Print the files that this journey meets.")
    parser.add_argument("--record", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.record:
        return record(chosen.record[1:], Path(chosen.record[0]))
    met = measure()
    if chosen.list:
        print("\n".join(met[chosen.list]["files"]))
        return 0
    print("| journey | files | bound | aim | functions | classes |\n|---|---|---|---|---|---|")
    for name, bound in BOUNDS.items():
        files, functions, classes = (len(met[name][what]) for what in ("files", "functions", "classes"))
        print(f"| {name} | {files} | {bound} | {AIMS[name]} | {functions} | {classes} |")
    return int(any(len(met[name]["files"]) > bound for name, bound in BOUNDS.items()))


if __name__ == "__main__":
    raise SystemExit(main())
