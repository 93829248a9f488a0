"""Starting the background worker and the daemon."""

from __future__ import annotations

import subprocess
import sys

from rekal.app.context import App
from rekal.app.resources import is_kept
from rekal.daemon.client import is_reachable, is_supported
from rekal.git import clean_environment
from rekal.store.layout import DAEMON_ERRORS, WORKER_ERRORS
from rekal.transport import fetch_stamp


def start_worker(app: App) -> None:
    """Start ``rekal _worker`` on its own: it outlives us and nobody waits for it."""
    _start_rekal(app, "_worker", WORKER_ERRORS)


def start_daemon(app: App) -> None:
    """Start ``rekal daemon`` on its own. Where one runs already, or is starting, the new one ends by itself."""
    _start_rekal(app, "daemon", DAEMON_ERRORS)


def wake_worker(app: App) -> None:
    """Have what a fetch brought imported for the next question: a few stats, and a start once for each fetch."""
    if app.config.transport.remotes and fetch_stamp.ask_once(
        app.layout.run, fetch_stamp.read_stamp(app.repo.common_dir)
    ):
        start_worker(app)


def wake_daemon(app: App) -> None:
    """Have the next recall answered by a daemon, once there is something that it pays to keep open."""
    wanted = app.config.recall.daemon == "auto" and app.config.embed.engine != "off" and not is_kept()
    if wanted and is_supported() and any(app.layout.vectors.glob("*.vec")) and not is_reachable():
        try:
            start_daemon(app)
        except OSError:
            return  # a store that cannot be written is recalled from, too


def _start_rekal(app: App, verb: str, log: str) -> None:
    with (app.layout.run / log).open("wb" if verb == "daemon" else "ab") as errors:
        subprocess.Popen(
            [sys.executable, "-P", "-m", "rekal", "-C", str(app.repo.worktree), verb],
            cwd=app.layout.run,  # not the work tree: what lies there is never code of ours
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=errors,
            env=clean_environment(),
            start_new_session=True,
        )
