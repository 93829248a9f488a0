"""The work that hooks start in the background: capture, link, receive, index, embed."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

from rekal.app.context import App, find_executable
from rekal.app.resources import embed_in_background, file_identity
from rekal.capture.capture import capture_commits, wait_for_rebase
from rekal.errors import RekalError, StoreBusy
from rekal.files import read_or_empty, write_atomically
from rekal.ids import content_hash
from rekal.index.freshness import is_index_current
from rekal.install import repair_hooks
from rekal.store.guard import restore_first_name
from rekal.store.layout import CHECKED_REFLEXES, Layout, backfill_asked_for, finish_backfill
from rekal.store.ledger import open_ledger
from rekal.store.locks import find_holder, hold_lock
from rekal.store.worker_turn import LONGEST_TURN, is_turn_held
from rekal.transport.fetch_stamp import is_unread, read_stamp

_LOG_LIMIT = 256 << 10


def work_in_background(app: App) -> None:
    """Drain the spool and bring everything derived up to it; errors become lines of the worker's log.

    One worker works and one waits; any other ends at once, since the one that waits has not yet looked at the spool.
    """
    if not app.layout.run.is_dir():
        return
    with ExitStack() as turn:
        try:
            if _take_turn(app.layout, turn):
                _work(app)
        except RekalError as error:
            append_log(app, str(error))


def _take_turn(layout: Layout, turn: ExitStack) -> bool:
    """Wait until no other worker works, and hold its lock from then on. False where another one waits already."""
    if is_turn_held(layout.working_lock):  # by `__main__`, as for every worker that a hook starts
        return True
    try:
        with hold_lock(layout.waiting_lock, wait=0, purpose="waiting"):
            turn.enter_context(hold_lock(layout.working_lock, wait=LONGEST_TURN, purpose="working"))
            # Before the spool is read: a hook that finds nobody waiting from here on starts the next worker.
            layout.waiting_lock.write_bytes(b"")
    except StoreBusy:
        return False
    return True


def _work(app: App) -> None:
    restore_first_name(app.layout)
    added = gone = False

    def capture() -> None:
        nonlocal added
        added = _capture(app)

    def receive() -> None:
        nonlocal gone
        gone = _receive(app)

    steps: tuple[Callable[[], object], ...] = (
        capture,
        lambda: _finish_forgetting(app),
        receive,
        lambda: _refresh_index(app, added=added, full=gone),
        lambda: embed_in_background(app, append_log, lambda: _is_wanted(app) and not _is_awaited(app.layout)),
    )
    if not _is_wanted(app) or not wait_for_rebase(app.repo, time.sleep):
        return
    try:
        for step in steps:
            # `rekal clean`, `enabled: false` and an uninstallation are seen here: what they took away stays away.
            if not _is_wanted(app):
                return
            step()
    except RekalError as error:
        append_log(app, str(error))
    _repair_hooks(app)


def _is_wanted(app: App) -> bool:
    """True while this clone has a store that is switched on, and the program itself is still installed."""
    layout = app.layout
    if not layout.directory.is_dir() or not layout.run.is_dir() or layout.removal.exists():
        return False
    if not Path(__file__).exists():
        return False
    return App(app.repo, app.home, app.env).config.enabled  # a new one: the settings are read again


def _is_awaited(layout: Layout) -> bool:
    """True while another worker waits for this one."""
    return find_holder(layout.waiting_lock) is not None


def _capture(app: App) -> bool:
    """Capture what is new. True if the ledger surely has something that the index has not."""
    since = backfill_asked_for(app.layout.run)
    captured = capture_commits(app.layout, app.repo, app.job(), since=since)
    for warning in captured.warnings:
        append_log(app, warning)
    for one in captured.linked:
        # A back-fill looks at commits that no agent had a part in: they are no news.
        if one.checkpoint is None and since is None:
            append_log(app, f"commit {one.sha[:10]} has no session: {one.reason}")
    if captured.checkpoints and app.config.transport.may_send:
        app.layout.unsent.touch()
    if since is None:
        _propose_memories(app, [one.sha for one in captured.linked])
    else:
        finish_backfill(app.layout.run)
    return bool(captured.turns or captured.checkpoints)


def _refresh_index(app: App, *, added: bool, full: bool) -> None:
    """Bring the index up to the ledger, if it is not."""
    if not added and not full:
        with open_ledger(app.layout.data, read_only=True, wait=60.0) as ledger:
            if is_index_current(ledger, app.layout.index, app.repo):
                return
    from rekal.index.build import refresh_index  # numpy, which a turn that brings nothing new can do without

    refresh_index(app.layout, app.repo, app.scrub, lambda message: append_log(app, message), full=full)


def _propose_memories(app: App, shas: list[str]) -> None:
    """Propose what the new commits suggest to remember; trouble with it keeps the index from nothing."""
    if not app.config.memory.reflexes:
        return
    state, checked = _reflex_state(app), app.layout.run / CHECKED_REFLEXES
    noted = read_or_empty(checked).decode("ascii", "replace").split()
    if not shas and noted[:1] == [state]:
        return
    # The room of memories, one more opening of the ledger and several git processes: 60 ms that most turns do not need.
    from rekal.app.memory_reflexes import propose_memories

    try:
        examined = propose_memories(app, shas, noted[1:])
        if app.layout.run.is_dir():  # `rekal clean` may have been quicker
            write_atomically(checked, " ".join((state, *examined)).encode("ascii"))
    except (RekalError, OSError) as error:
        append_log(app, f"no memories were proposed: {error}")


def _reflex_state(app: App) -> str:
    """All that decides whether old commits or deleted branches suggest anything new: the ledger, and branches' names.

    Looked at without git and without opening the ledger. Taken before the reflexes run, so a change meanwhile shows.
    Only its hash is kept: names of branches may hold words that are forgotten later.
    """
    git = app.repo.common_dir
    files = (app.layout.data, git / "packed-refs", git / "reftable")
    parts: list[object] = [file_identity(path) if path.exists() else None for path in files]
    heads = git / "refs" / "heads"
    for place, folders, names in os.walk(heads):
        folders.sort()
        parts.append((os.path.relpath(place, heads), sorted(names)))
    return content_hash(repr(parts))


def _repair_hooks(app: App) -> None:
    """Put ours back in front where a hook manager wrote its own files over them."""
    try:
        # `rekal clean` holds this lock while it takes hooks away: looked at under it, they are wanted or they are not.
        with hold_lock(app.layout.lock, wait=30.0, purpose="looking at the hooks"):
            if _is_wanted(app) and repair_hooks(app.repo, find_executable()):
                append_log(app, "hooks that another program wrote over were put back")
    except RekalError as error:
        append_log(app, str(error))


def _finish_forgetting(app: App) -> None:
    """Finish a forgetting that was interrupted; trouble with it keeps the index from nothing."""
    if not any(layout.unfinished_forgetting.exists() for layout in (app.layout, app.layout.documents)):
        return
    from rekal.app.forget_everywhere import finish_forgetting  # the rooms of forgetting and of pushing: 10 ms

    try:
        finish_forgetting(app)
    except RekalError as error:
        append_log(app, str(error))


def _receive(app: App) -> bool:
    """Import what a fetch brought, if one did. True if something was taken out of the ledger by it."""
    if not app.config.transport.remotes or not is_unread(app.layout.run, read_stamp(app.repo.common_dir)):
        return False
    from rekal.app.import_memory import import_arrived  # what decodes segments: most turns bring none

    received = import_arrived(app)
    for note in received.notes:
        append_log(app, note)
    return bool(received.imported.erased + received.imported.displaced)


def append_log(app: App, message: str) -> None:
    """Add one scrubbed line to the worker's log; a log grown large is started afresh, its predecessor kept."""
    path = app.layout.log
    if not path.parent.is_dir():  # `rekal clean` was quicker
        return
    if path.exists() and path.stat().st_size > _LOG_LIMIT:
        path.replace(path.with_suffix(".log.1"))
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {app.scrub(message)}\n")
