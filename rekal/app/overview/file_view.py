"""Files that sessions touched, and one file beside the turns that wrote it."""

from __future__ import annotations

import msgspec

from rekal.app.context import App
from rekal.app.explain_lines import explain_target
from rekal.errors import UsageError
from rekal.plain_text import replace_surrogates
from rekal.store.ledger import open_ledger
from rekal.store.overview import overview_rows
from rekal.store.overview.overview_rows import FileCount
from rekal.why.blame import read_file_lines
from rekal.why.why import WhyReason

_LARGEST = 4 << 20  # bytes of a file that is read


class FileList(msgspec.Struct, frozen=True):
    """Files with sessions, those touched last first; ``more``: others follow."""

    files: list[FileCount]
    more: bool


class FileView(msgspec.Struct, frozen=True):
    """Lines ``first`` to ``last`` of a tracked file of ``total`` lines, and the reasons for them, in order."""

    path: str
    first: int
    last: int
    total: int
    lines: list[str]
    reasons: list[WhyReason]


def list_touched_files(app: App, text: str, limit: int, offset: int) -> FileList:
    """List ``limit`` files whose path holds ``text``, after the first ``offset``."""
    with open_ledger(app.layout.data, read_only=True) as ledger:
        found = overview_rows.count_files(ledger.con, text, limit + 1, offset)
    return FileList(found[:limit], len(found) > limit)


def view_file(app: App, path: str, first: int, limit: int) -> FileView:
    """Read ``limit`` lines of a file from ``first`` on, with the reason for each.

    Only files that git tracks are shown: whatever else lies in the work tree is nobody's business but its owner's, and
    may be a secret. Raises UsageError for others, and for one that is too large.
    """
    shown = replace_surrogates(path)
    inside = app.path_in_repo(path)
    if not app.repo.ask("ls-files", "--error-unmatch", "-z", "--", f":(top,literal){inside}") and not app.repo.bare:
        raise UsageError(f"{shown} is no file that git tracks here", "look for it among the files with sessions")
    if not app.repo.bare and (place := app.repo.worktree / inside).is_file() and place.stat().st_size > _LARGEST:
        raise UsageError(f"{shown} is larger than {_LARGEST >> 20} MB", "`rekal why FILE:LINE` tells of a line of it")
    lines = read_file_lines(app.repo, inside)
    if lines is None:
        raise UsageError(f"{shown} is not there any more", "its commits are on the timeline")
    first = max(1, min(first, len(lines)))
    last = min(len(lines), first + limit - 1)
    reasons = explain_target(app, f"{inside}:{first}-{last}").reasons if lines else []
    return FileView(inside, first, last, len(lines), lines[first - 1 : last], reasons)
