"""Sharing: what left, what waits and why, what came from whom; and forgetting, with a preview of what goes."""

from __future__ import annotations

from rekal.app.context import parse_handle
from rekal.app.forget_everywhere import forget_everywhere, list_forgotten, preview_forgetting
from rekal.app.overview import exchange
from rekal.app.share import send_memory
from rekal.errors import Refused, UsageError
from rekal.forget.request import ForgetRequest
from rekal.web.pages.asked import Asked, PageView, Route

_MOST = 60  # rows of a list


def _sharing_page(asked: Asked) -> PageView:
    app = asked.place.app()
    fields = {
        "section": "sharing", "title": "Sharing", "x": exchange.read_exchange(app, _MOST), "what": asked.word("what"),
        "requests": list_forgotten(app).acts[:_MOST],
    }  # fmt: skip
    return PageView("sharing.html", fields)


def _waiting_part(asked: Asked) -> PageView:
    """Show what the next push would take along: all of it is scanned once more, so this comes after the page."""
    waiting, problem = None, ""
    try:
        waiting = send_memory(asked.place.app(), asked.word("remote") or None, None, dry_run=True)
    except (Refused, UsageError) as error:
        problem = str(error)
    fields = {"section": "sharing", "title": "Waits to leave", "w": waiting, "problem": problem, "most": _MOST}
    return PageView("waiting.html" if asked.fragment else "waiting_page.html", fields)


def _request_of(asked: Asked) -> ForgetRequest:
    """The request that a form makes: each field is one thing to forget."""
    name, turn = parse_handle(asked.word("what"))
    names = ((name if turn is None else f"{name}#{turn}"),) if name else ()
    texts, patterns, paths = (
        tuple(word for word in (asked.word(field),) if word) for field in ("text", "pattern", "path")
    )
    request = ForgetRequest(names, texts, patterns, paths)
    if request == ForgetRequest():
        raise UsageError("nothing was named", "name a session, a turn or a memory, a text, a pattern or a path")
    return request


def _preview_page(asked: Asked) -> PageView:
    request = _request_of(asked)
    answer = preview_forgetting(asked.place.app(), request)
    given = {field: asked.word(field) for field in ("what", "text", "pattern", "path")}
    fields = {"section": "sharing", "title": "Forget", "answer": answer, "given": given, "done": False}
    return PageView("forget.html", fields)


def _forget_page(asked: Asked) -> PageView:
    answer = forget_everywhere(asked.place.app(), _request_of(asked))
    fields = {"section": "sharing", "title": "Forgotten", "answer": answer, "given": {}, "done": True}
    return PageView("forget.html", fields)


ROUTES: tuple[Route, ...] = (
    ("GET", "/sharing", _sharing_page),
    ("GET", "/sharing/waiting", _waiting_part),
    ("POST", "/forget/preview", _preview_page),
    ("POST", "/forget", _forget_page),
)
