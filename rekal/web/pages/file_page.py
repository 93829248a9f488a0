"""Files with sessions, a file beside the turns that wrote its lines, and a commit with its reasons."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from rekal.app.explain_lines import explain_target
from rekal.app.overview import file_view
from rekal.app.overview.file_view import FileView
from rekal.app.read_ledger import read_log, show_sessions
from rekal.errors import UsageError
from rekal.store.commit_rows import LogFilter
from rekal.web.pages import session_page
from rekal.web.pages.asked import Asked, PageView, Route
from rekal.web.render import shorten, with_query
from rekal.why.why import WhyReason

_LISTED = 100  # files a page
_LINES = 250  # lines a page
_LONGEST_LINE = 400  # characters shown of a line
_MOST_SENT = 55_000  # bytes of the lines of a page
_MOST_FILES = 200  # files shown of a commit


class Stretch(msgspec.Struct, frozen=True):
    """Lines in a row that have one reason; None where nobody knows one."""

    first: int
    lines: list[str]
    reason: WhyReason | None


def _files_page(asked: Asked) -> PageView:
    text, offset = asked.word("path"), asked.number("offset")
    found = file_view.list_touched_files(asked.place.app(), text, _LISTED, offset)
    fields = {
        "section": "files", "title": "Files", "text": text, "files": found.files,
        "older": with_query("/files", path=text, offset=offset + _LISTED) if found.more else "",
        "newer": with_query("/files", path=text, offset=max(0, offset - _LISTED)) if offset else "",
    }  # fmt: skip
    return PageView("files.html", fields)


def _file_page(asked: Asked) -> PageView:
    first = asked.number("from", 1, 1)
    # A line that is linked to stands a little below the top.
    found = file_view.view_file(asked.place.app(), asked.path["path"], max(1, first - 5) if first > 6 else 1, _LINES)
    stretches = _cut_stretches(found)
    last = stretches[-1].first + len(stretches[-1].lines) - 1 if stretches else 0
    here = f"/file/{asked.path['path']}"
    fields = {
        "section": "files", "title": shorten(found.path, 60), "f": found, "stretches": stretches, "last": last,
        "later": with_query(here, **{"from": last + 6}) if last < found.total else "",
        "earlier": with_query(here, **{"from": max(1, found.first - _LINES + 5)}) if found.first > 1 else "",
        "recorded": sum(len(one.lines) for one in stretches if one.reason and one.reason.session_id),
        "count": sum(len(one.lines) for one in stretches),
    }  # fmt: skip
    return PageView("file.html", fields)


def _cut_stretches(found: FileView) -> list[Stretch]:
    """Return the lines by reason, as many as a page may hold."""
    by_line = {number: one for one in found.reasons for number in range(one.first, one.last + 1)}
    out: list[Stretch] = []
    spent = 0
    for number, text in enumerate(found.lines, found.first):
        shown = text if len(text) <= _LONGEST_LINE else session_page.cut_sent(text, _LONGEST_LINE) + "…"
        spent += session_page.sent_size(shown) + 60
        if out and spent > _MOST_SENT:
            break
        reason = by_line.get(number)
        if out and _origin_of(out[-1].reason) == _origin_of(reason):
            out[-1].lines.append(shown)
        else:
            out.append(Stretch(number, [shown], reason))
            spent += 400
    return out


def _origin_of(reason: WhyReason | None) -> tuple[object, ...] | None:
    return (reason.session_id, reason.turn, reason.commit) if reason else None


def _commit_page(asked: Asked) -> PageView:
    app, name = asked.place.app(), asked.path["sha"]
    sha = app.repo.resolve_commit(name) if not name.startswith("-") else None
    found = read_log(app, 1, LogFilter(span=f"{sha}^!", rewritten=True)).checkpoints if sha else []
    sessions = show_sessions(app, sha or name, 0, 1)
    if sha is None and not sessions:
        raise UsageError(f"there is no commit {shorten(name, 40)} here", "look at the timeline")
    answer = explain_target(app, sha) if sha else None
    checkpoint = (
        found[0] if found else next((c for s in sessions for c in s.checkpoints if c.git_sha.startswith(name)), None)
    )
    files = list(checkpoint.files) if checkpoint else []
    fields = {
        "section": "timeline",
        "title": f"Commit {(sha or name)[:10]}",
        "sha": sha or name,
        "here": bool(sha),
        "checkpoint": checkpoint,
        "reasons": _without_repeats(answer.reasons) if answer else [],
        "memories": (answer.memories or []) if answer else [],
        "sessions": [one.session for one in sessions],
        "files": files[:_MOST_FILES],
        "more_files": max(0, len(files) - _MOST_FILES),
    }
    return PageView("commit.html", fields)


def _without_repeats(reasons: Iterable[WhyReason]) -> list[WhyReason]:
    return list({(one.session_id, one.turn): one for one in reasons}.values())


ROUTES: tuple[Route, ...] = (
    ("GET", "/files", _files_page),
    ("GET", "/file/{path:path}", _file_page),
    ("GET", "/commit/{sha}", _commit_page),
)
