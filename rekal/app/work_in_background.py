"""The work that hooks start in the background: capture, link, receive, index, embed."""

from __future__ import annotations

import time
from datetime import UTC, datetime

from rekal.app.context import App
from rekal.app.forget_everywhere import finish_forgetting
from rekal.app.import_memory import has_arrived, import_arrived
from rekal.app.memory_reflexes import propose_memories
from rekal.app.refresh import refresh_index
from rekal.app.semantic import embed_in_background
from rekal.app.setup import find_executable
from rekal.app.share import note_unsent
from rekal.capture.capture import capture_commits, wait_for_rebase
from rekal.errors import RekalError
from rekal.install import repair_hooks
from rekal.store.layout import backfill_asked_for, finish_backfill
from rekal.store.second_name import restore_first_name

_LOG_LIMIT = 256 << 10


def work_in_background(app: App) -> None:
    """Drain the spool and bring everything derived up to it; errors become lines of the worker's log."""
    if not app.layout.run.is_dir():
        return
    restore_first_name(app.layout)
    if not app.layout.directory.is_dir() or not app.config.enabled:
        return
    try:
        if not wait_for_rebase(app.repo, time.sleep):
            return
        _capture(app)
        _finish_forgetting(app)
        gone = _receive(app)
        refresh_index(app, lambda message: append_log(app, message), full=gone)
        embed_in_background(app, append_log)
    except RekalError as error:
        append_log(app, str(error))
    if app.layout.run.is_dir():  # after `rekal clean` no hook is put back
        _repair_hooks(app)


def _capture(app: App) -> None:
    since = backfill_asked_for(app.layout.run)
    captured = capture_commits(app.layout, app.repo, app.job(), since=since)
    for warning in captured.warnings:
        append_log(app, warning)
    for one in captured.linked:
        # A back-fill looks at commits that no agent had a part in: they are no news.
        if one.checkpoint is None and since is None:
            append_log(app, f"commit {one.sha[:10]} has no session: {one.reason}")
    note_unsent(app, captured)
    if since is None:
        _propose_memories(app, [one.sha for one in captured.linked])
    else:
        finish_backfill(app.layout.run)


def _propose_memories(app: App, shas: list[str]) -> None:
    """Propose what the new commits suggest to remember; trouble with it keeps the index from nothing."""
    try:
        propose_memories(app, shas)
    except RekalError as error:
        append_log(app, f"no memories were proposed: {error}")


def _repair_hooks(app: App) -> None:
    """Put ours back in front where a hook manager wrote its own files over them."""
    try:
        if repair_hooks(app.repo, find_executable()):
            append_log(app, "hooks that another program wrote over were put back")
    except RekalError as error:
        append_log(app, str(error))


def _finish_forgetting(app: App) -> None:
    """Finish a forgetting that was interrupted; trouble with it keeps the index from nothing."""
    try:
        finish_forgetting(app)
    except RekalError as error:
        append_log(app, str(error))


def _receive(app: App) -> bool:
    """Import what a fetch brought, if one did. True if something was taken out of the ledger by it."""
    if not has_arrived(app):
        return False
    received = import_arrived(app)
    for note in received.notes:
        append_log(app, note)
    return bool(received.imported.erased + received.imported.displaced)


def append_log(app: App, message: str) -> None:
    """Add one scrubbed line to the worker's log; a log grown large is started afresh, its predecessor kept."""
    path = app.layout.log
    if path.exists() and path.stat().st_size > _LOG_LIMIT:
        path.replace(path.with_suffix(".log.1"))
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {app.scrubber.text(message)}\n")
