"""Starting the background worker and the daemon."""

from __future__ import annotations

import subprocess
import sys

from rekal.app.context import App
from rekal.git import clean_environment


def start_worker(app: App) -> None:
    """Start ``rekal _worker`` on its own: it outlives us and nobody waits for it."""
    _start(app, "_worker", "worker.err")


def start_daemon(app: App) -> None:
    """Start ``rekal daemon`` on its own. Where one runs already, or is starting, the new one ends by itself."""
    _start(app, "daemon", "daemon.err")


def _start(app: App, verb: str, log: str) -> None:
    with (app.layout.run / log).open("wb" if verb == "daemon" else "ab") as errors:
        subprocess.Popen(
            [sys.executable, "-m", "rekal", verb],
            cwd=app.repo.worktree,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=clean_environment(),
            start_new_session=True,
        )
