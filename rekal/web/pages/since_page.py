"""Since you looked: the first page."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Literal

from rekal.app.overview import since_visit
from rekal.web.pages.asked import Asked, PageView, Route

_MOST_JUDGED = 20  # sessions of one answer


def _since_page(asked: Asked) -> PageView:
    found = since_visit.read_since_visit(asked.place.app())
    return PageView(
        "since.html", {"section": "since", "title": "Since you looked", "news": found, "now": datetime.now(UTC)}
    )


def _grounds_page(asked: Asked) -> PageView:
    """The decisions whose grounds moved: git is asked about each, so the first page does not wait for it."""
    lost = since_visit.find_lost_grounds(asked.place.app())
    fields = {"section": "since", "title": "Decisions that lost their ground", "lost": lost}
    return PageView("grounds.html" if asked.fragment else "grounds_page.html", fields)


def _note_seen(asked: Asked) -> PageView:
    """Move the visit to the time that the page was read at: what came in since is still new."""
    try:
        when = datetime.fromisoformat(asked.word("at"))
    except ValueError:
        when = datetime.now(UTC)
    since_visit.note_visit(asked.place.app(), min(when if when.tzinfo else when.replace(tzinfo=UTC), datetime.now(UTC)))
    return PageView(see="/")


def _judge_recall(asked: Asked) -> PageView:
    verdict: Literal["right", "wrong"] = "right" if asked.word("verdict") == "right" else "wrong"
    sessions = asked.word("sessions").split()[:_MOST_JUDGED]
    since_visit.judge_recall(asked.place.app(), asked.word("query"), sessions, verdict)
    return PageView(see="/#recalls")


ROUTES: tuple[Route, ...] = (
    ("GET", "/", _since_page),
    ("GET", "/grounds", _grounds_page),
    ("POST", "/seen", _note_seen),
    ("POST", "/judge", _judge_recall),
)
