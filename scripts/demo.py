"""Show the main job in a scratch repository: an agent's transcript, a commit, a recalled session.

Everything happens in a temporary directory with a home of its own; nothing of the user's is read or changed. The
transcripts are written in the shape Claude Code writes them.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import tempfile
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from tests.support.claude import ClaudeSession

QUEUE = """\
def enqueue(connection, job):
    connection.execute("INSERT INTO jobs (payload) VALUES (%s)", [job])


def take(connection):
    return connection.execute("SELECT id, payload FROM jobs ORDER BY id LIMIT 1 FOR UPDATE SKIP LOCKED").fetchone()
"""
RETRY = """\
DELAYS = (1, 5, 30, 120)


def delay_after(failures):
    return DELAYS[min(failures, len(DELAYS)) - 1]
"""


def main() -> int:
    """Run the demonstration; 0 when the recalled session is the right one."""
    with tempfile.TemporaryDirectory(prefix="rekal-demo-") as scratch:
        base = Path(scratch)
        home, app = base / "home", base / "app"
        home.mkdir()
        app.mkdir()
        run = Runner(app, home)
        prepare(run, app)
        run("rekal", "init", "--backfill", "0")
        work_on_queue(run, home, app)
        work_on_retries(run, home, app)
        wait_for_worker(app)
        answer = run("rekal", "recall", "why is the job queue in Postgres and not in Redis")
        run("rekal", "recall", "how do we rotate the TLS certificates of the ingress", ok=(1,))
        run("rekal", "log")
        run("rekal", "find", "SKIP LOCKED")
        run("rekal", "status")
        good = answer.startswith("INJECT") and "one more service to run" in answer and "hunter2" not in answer
        print("\nThe session that made the decision was recalled." if good else "\nThe decision was not recalled.")
        return 0 if good else 1


class Runner:
    """Runs commands in the scratch repository and shows them as a terminal would."""

    def __init__(self, directory: Path, home: Path) -> None:
        self.directory = directory
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "XDG_", "CLAUDE_", "REKAL_"))}
        self.env = kept | {"HOME": str(home), "USERPROFILE": str(home), "PATH": path, "GIT_CONFIG_NOSYSTEM": "1"}
        self.env["RECALL_DAEMON"] = "off"  # nothing outlives the demo

    def __call__(self, *command: str, ok: tuple[int, ...] = (0,), quiet: bool = False) -> str:
        done = subprocess.run(
            command, cwd=self.directory, env=self.env, capture_output=True, text=True, timeout=120, check=False
        )
        if not quiet:
            print(f"\n$ {shlex.join(command)}\n{done.stdout}{done.stderr}".rstrip())
        if done.returncode not in ok:
            raise SystemExit(f"{command[0]} {command[1]} ended with exit code {done.returncode}: {done.stderr}")
        return done.stdout


def prepare(run: Runner, app: Path) -> None:
    """A repository with one commit."""
    run("git", "init", "-q", "-b", "main", quiet=True)
    run("git", "config", "user.name", "Demo", quiet=True)
    run("git", "config", "user.email", "demo@example.com", quiet=True)
    (app / "README.md").write_text("# A service with background jobs\n", encoding="utf-8")
    run("git", "add", ".", quiet=True)
    run("git", "commit", "-q", "-m", "Start", quiet=True)


def work_on_queue(run: Runner, home: Path, app: Path) -> None:
    """A session with a decision in it, and its commit."""
    session = ClaudeSession(home, app, "queue", start=datetime.now(UTC) - timedelta(minutes=40))
    session.human("Jobs get lost when the worker restarts. Make the job queue durable.")
    session.says("They live in a Python list, so a restart forgets them. Redis or a Postgres table would both do.")
    session.human("Test against the local database, its URL is postgres://app:hunter2-Tr0ub4dor@localhost/jobs")
    session.writes(
        app / "queue.py",
        QUEUE,
        text="I put the job queue into a Postgres table with SKIP LOCKED and ruled Redis out: it would be one more "
        "service to run and to back up, and we already have Postgres.",
    )
    (app / "queue.py").write_text(QUEUE, encoding="utf-8")
    run("git", "add", ".", quiet=True)
    run("git", "commit", "-q", "-m", "Keep jobs in Postgres")


def work_on_retries(run: Runner, home: Path, app: Path) -> None:
    """Another session, so that there is something to choose from."""
    session = ClaudeSession(home, app, "retry", start=datetime.now(UTC) - timedelta(minutes=10))
    session.human("Failed jobs hammer the mail server. Space the retries out.")
    session.writes(app / "retry.py", RETRY, text="Four delays, 1 second to 2 minutes; the last one repeats.")
    (app / "retry.py").write_text(RETRY, encoding="utf-8")
    run("git", "add", ".", quiet=True)
    run("git", "commit", "-q", "-m", "Back off between retries")


def wait_for_worker(app: Path) -> None:
    """The commits did not wait for the capture; the demonstration does."""
    until = time.monotonic() + 60
    spool, index = app / ".git" / "rekal" / "spool", app / ".rekal" / "index.db"
    while time.monotonic() < until and (any(spool.glob("*.json")) or not index.exists()):
        time.sleep(0.1)


if __name__ == "__main__":
    sys.exit(main())
