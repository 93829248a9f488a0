"""Starting the background worker."""

from __future__ import annotations

import subprocess
import sys

from rekal.cli.app import App
from rekal.git import clean_environment


def start_worker(app: App) -> None:
    """Start ``rekal _worker`` on its own: it outlives us and nobody waits for it."""
    command = [sys.executable, "-m", "rekal", "_worker"]
    with (app.layout.run / "worker.err").open("ab") as errors:
        subprocess.Popen(
            command,
            cwd=app.repo.worktree,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=clean_environment(),
            start_new_session=True,
        )
