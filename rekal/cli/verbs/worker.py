"""``rekal _worker``: what the hooks start in the background."""

from __future__ import annotations

import time
from datetime import UTC, datetime

import click

from rekal.app.context import App, here
from rekal.app.forget_everywhere import finish_forgetting
from rekal.app.receive import has_news, import_arrived
from rekal.app.refresh import refresh_index
from rekal.app.share import note_unsent
from rekal.app.vectors import fill_in_background
from rekal.capture.capture import capture_commits, wait_for_rebase
from rekal.cli.verbs.init import executable
from rekal.errors import RekalError
from rekal.install import repair_hooks
from rekal.store.layout import backfill_asked_for, finish_backfill

_LOG_LIMIT = 256 << 10


@click.command("_worker")
def command() -> None:
    """Drain the spool: capture, link, index. Runs detached; what it has to say goes to .rekal/run/worker.log."""
    app = here()
    if not app.layout.directory.is_dir() or not app.config.enabled:
        return
    try:
        if not wait_for_rebase(app.repo, time.sleep):
            return
        since = backfill_asked_for(app.layout.run)
        captured = capture_commits(app.layout, app.repo, app.job(), since=since)
        for warning in captured.warnings:
            log(app, warning)
        for one in captured.linked:
            if one.checkpoint is None and since is None:
                log(app, f"commit {one.sha[:10]} has no session: {one.reason}")
        note_unsent(app, captured)
        if since is not None:
            finish_backfill(app.layout.run)
        _finish_forgetting(app)
        gone = _receive(app)
        refresh_index(app, full=gone)
        fill_in_background(app, log)
    except RekalError as error:
        log(app, str(error))
    _repair_hooks(app)


def _repair_hooks(app: App) -> None:
    """Put ours back in front where a hook manager wrote its own files over them."""
    try:
        if repair_hooks(app.repo, executable()):
            log(app, "hooks that another program wrote over were put back")
    except RekalError as error:
        log(app, str(error))


def _finish_forgetting(app: App) -> None:
    """What an interrupted forgetting left; trouble with it keeps the index from nothing."""
    try:
        finish_forgetting(app)
    except RekalError as error:
        log(app, str(error))


def _receive(app: App) -> bool:
    """Import what a fetch brought, if one did. Whether something was taken out of the ledger by it."""
    if not has_news(app):
        return False
    received = import_arrived(app)
    for note in received.notes:
        log(app, note)
    return bool(received.imported.erased + received.imported.displaced)


def log(app: App, message: str) -> None:
    """Add one scrubbed line to the worker's log; a log grown large is started afresh, its predecessor kept."""
    path = app.layout.log
    if path.exists() and path.stat().st_size > _LOG_LIMIT:
        path.replace(path.with_suffix(".log.1"))
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {app.scrubber.text(message)}\n")
