"""Capturing in the foreground, with the index brought up to it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import msgspec

from rekal.app.context import App, parse_age
from rekal.capture.capture import Captured, capture_commits
from rekal.errors import Refused
from rekal.index.freshness import is_index_current
from rekal.store.ledger import open_ledger

_EVERYTHING = timedelta(days=36500)


class CaptureResult(msgspec.Struct, frozen=True):
    """The result of a capture: ``checkpoint --json``."""

    sessions: int
    turns: int
    checkpoints: int
    unlinked_commits: list[str]
    warnings: list[str]


def capture_now(
    app: App, since: str | None, *, everything: bool, progress: Callable[[int, int], None]
) -> CaptureResult:
    """Capture what is new and index it; with ``since``, an age, or ``everything`` also link past commits.

    ``progress`` is called with sources read and their number. Raises Refused when capturing is switched off.
    """
    if not app.config.enabled:
        files = " or ".join(map(str, app.settings.files))
        raise Refused("capturing is switched off by the settings", f"set `enabled: true` in {files}")
    age = parse_age(since) if since else (_EVERYTHING if everything else None)
    # Git knows no commit from before 1970, and some systems no earlier time.
    first = max(datetime.now(UTC) - age, datetime(1980, 1, 1, tzinfo=UTC)) if age else None
    captured = capture_commits(app.layout, app.repo, app.job(), since=first, link_head=True, progress=progress)
    warnings = list(captured.warnings)
    _follow_up(app, captured, warnings)
    unlinked = [one.sha for one in captured.linked if one.checkpoint is None]
    return CaptureResult(captured.sessions, captured.turns, captured.checkpoints, unlinked, warnings)


def _follow_up(app: App, captured: Captured, warnings: list[str]) -> None:
    if captured.checkpoints and app.config.transport.may_send:
        app.layout.unsent.touch()
    with open_ledger(app.layout.data, read_only=True, wait=60.0) as ledger:
        if is_index_current(ledger, app.layout.index, app.repo):
            return
    from rekal.index.build import refresh_index  # numpy, which a capture of nothing new can do without

    refresh_index(app.layout, app.repo, app.scrub, warnings.append)
