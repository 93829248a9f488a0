"""One page that stands by itself: a session or an answer for a colleague, without scripts, links or a server."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from markupsafe import Markup

from rekal.app.read_ledger import ShownSession
from rekal.model import ToolCall
from rekal.recall.answer import Answer
from rekal.web.pages.session_page import ShownTurn
from rekal.web.render import render_page, shorten

_STYLES = Path(__file__).parent / "static" / "page.css"


def render_session(shown: ShownSession) -> str:
    """Return a session, with all its turns, as one page of HTML."""
    calls: dict[int, list[ToolCall]] = {}
    for call in shown.session.tool_calls:
        calls.setdefault(max(0, call.turn_seq), []).append(call)
    turns = [ShownTurn(turn, turn.content, 0, calls.get(turn.seq, ()), 0) for turn in shown.session.turns]
    title = shorten(shown.session.title, 120) or f"Session {shown.session.id[:10]}"
    return _render_alone("hand_out_session.html", title=title, s=shown.session, commits=shown.checkpoints, turns=turns)


def render_answer(answer: Answer, reason: str) -> str:
    """Return an answer as one page of HTML; ``reason`` is the sentence of a silence."""
    return _render_alone("hand_out_answer.html", title=shorten(answer.question, 120), answer=answer, reason=reason)


def _render_alone(template: str, **fields: object) -> str:
    # The one markup that is not a template's: our own style sheet, into which no text of a store gets.
    styles = Markup(_STYLES.read_text(encoding="utf-8"))
    return render_page(template, {"styles": styles, "made_at": datetime.now(UTC), **fields})
