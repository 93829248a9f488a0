"""Sessions: the list, one as a conversation, one turn whole, the sessions of a commit."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Sequence
from datetime import datetime
from html import escape

import msgspec

from rekal.app.context import read_moment
from rekal.app.overview import session_view
from rekal.app.read_ledger import note_opened, show_sessions
from rekal.errors import UsageError
from rekal.model import ToolCall, Turn
from rekal.plain_text import clean_text
from rekal.store.session_list import SessionFilter
from rekal.web.pages.asked import Asked, PageView, Route
from rekal.web.render import session_link, shorten, with_query

_LISTED = 50  # sessions a page
_SHOWN = 40  # turns a page
_LONGEST_TURN = 3_000  # bytes of a turn shown at once, as they are sent
_MOST = 60_000  # bytes of all turns of a page
_PART = 60_000  # characters of a turn on its own page
_MOST_CALLS = 60  # tool calls shown of a turn


class ShownTurn(msgspec.Struct, frozen=True):
    """One turn: its text or the beginning of it, ``left`` characters not shown, and the calls made in it."""

    turn: Turn
    text: str
    left: int
    calls: Sequence[ToolCall]
    more_calls: int


def _sessions_page(asked: Asked) -> PageView:
    app = asked.place.app()
    chosen = {name: asked.word(name) for name in ("agent", "author", "branch", "path", "since", "until")}
    since, until = _read_time(asked, "since"), _read_time(asked, "until", end=True)
    wanted = SessionFilter(
        since=since, until=until, agent=chosen["agent"] or None, author=chosen["author"] or None,
        branch=chosen["branch"] or None, path=chosen["path"] or None, own=asked.word("own") == "1",
    )  # fmt: skip
    offset = asked.number("offset")
    found = session_view.list_session_page(app, wanted, _LISTED, offset)
    fields = {
        "section": "sessions", "title": "Sessions", "chosen": chosen, "sessions": found.sessions, "names": found.names,
        "older": with_query("/sessions", **chosen, offset=offset + _LISTED) if found.truncated else "",
        "newer": with_query("/sessions", **chosen, offset=max(0, offset - _LISTED)) if offset else "",
    }  # fmt: skip
    return PageView("sessions.html", fields)


def _read_time(asked: Asked, name: str, *, end: bool = False) -> datetime | None:
    return read_moment(asked.place.app(), asked.word(name) or None, end=end)


def _session_page(asked: Asked) -> PageView:
    name, marked = asked.path["name"], asked.number("turn", -1, -1)
    # A turn's own page begins a little before it, so that one sees what it answers.
    offset = max(0, marked - 3) if marked >= 0 else asked.number("from")
    found = session_view.view_session(asked.place.app(), name, offset, _SHOWN)
    if found is None or (marked >= found.shown.total_turns):
        raise UsageError(f"there is no session or turn {shorten(name, 40)}", "look at the list of sessions")
    shown = found.shown
    if not asked.fragment:
        with contextlib.suppress(OSError):  # a store that cannot be written is read, too
            note_opened(asked.place.app(), [shown])
    turns = _cut_turns(shown.session.turns, shown.session.tool_calls)
    after = turns[-1].turn.seq + 1 if turns else 0
    base = session_link(shown.session.id)
    fields = {
        "section": "sessions",
        "title": shorten(shown.session.title, 60) or shown.session.id[:10],
        "s": shown.session, "total": shown.total_turns, "turns": turns, "marked": marked,
        "commits": shown.checkpoints[:30], "more_commits": max(0, len(shown.checkpoints) - 30),
        "relatives": found.relatives[:40], "more_relatives": max(0, len(found.relatives) - 40),
        "earlier": with_query(base, **{"from": max(0, offset - _SHOWN)}) if offset else "",
        "first": base,
        "later": with_query(base, **{"from": after}) if after < shown.total_turns else "",
        "offset": offset,
        "after": after,
    }  # fmt: skip
    return PageView("session.html", fields)


def _cut_turns(turns: Sequence[Turn], calls: Iterable[ToolCall]) -> list[ShownTurn]:
    """Return as many turns as a page may hold, the long ones cut; at least one."""
    by_turn: dict[int, list[ToolCall]] = {}
    for call in calls:
        by_turn.setdefault(max(0, call.turn_seq), []).append(call)
    out: list[ShownTurn] = []
    spent = 0
    for turn in turns:
        text = cut_sent(turn.content, _LONGEST_TURN)
        mine = by_turn.get(turn.seq, [])[:_MOST_CALLS]
        # A call's line is cut by the template; its markup around is what it costs.
        spent += sent_size(text) + 500 + sum(250 + min(400, len(c.command or c.path or "")) for c in mine)
        if out and spent > _MOST:
            break
        left = len(turn.content) - len(text)
        out.append(ShownTurn(turn, text, left, mine, len(by_turn.get(turn.seq, ())) - len(mine)))
    return out


def sent_size(text: str) -> int:
    """Return the bytes that a text takes in a page: escaping makes one character six."""
    return len(escape(text).encode("utf-8", "replace"))


def cut_sent(text: str, most: int) -> str:
    """Return the beginning of a text that takes at most ``most`` bytes in a page, cut at a line where one is near."""
    if len(text) <= most // 6 or sent_size(clean_text(text)) <= most:
        return text
    low, high = 0, min(len(text), most)
    while low < high:
        middle = (low + high + 1) // 2
        low, high = (middle, high) if sent_size(text[:middle]) <= most else (low, middle - 1)
    line = text.rfind("\n", max(0, low - 400), low)
    return text[: line if line > 0 else low]


def _turn_page(asked: Asked) -> PageView:
    """One turn whole, in parts, with the output of its tool calls."""
    seq, part = asked.number("turn"), asked.number("part")
    found = show_sessions(asked.place.app(), asked.path["name"], seq, 1)
    if not found or not found[0].session.turns:
        raise UsageError("there is no such turn", "look at the list of sessions")
    session = found[0].session
    turn = session.turns[0]
    start = part * _PART
    text = cut_sent(turn.content[start : start + _PART], 100_000)
    base = f"{session_link(session.id)}/{seq}/whole"
    fields = {
        "section": "sessions", "title": f"{session.id[:10]}:{seq}", "s": session, "turn": turn, "text": text,
        "next": with_query(base, part=part + 1) if start + _PART < len(turn.content) else "",
        "part": part, "parts_of": -(-len(turn.content) // _PART) or 1,
        "calls": [(call, cut_sent(call.excerpt or "", 2_000)) for call in session.tool_calls[:10]] if not part else [],
    }  # fmt: skip
    return PageView("turn.html", fields)


def _quote_page(asked: Asked) -> PageView:
    """A turn in a few lines, for the side of a file."""
    found = show_sessions(asked.place.app(), asked.path["name"], asked.number("turn"), 1)
    if not found or not found[0].session.turns:
        raise UsageError("there is no such turn", "look at the list of sessions")
    turn = found[0].session.turns[0]
    return PageView("quote.html", {"s": found[0].session, "turn": turn, "text": cut_sent(turn.content, 1_500)})


ROUTES: tuple[Route, ...] = (
    ("GET", "/sessions", _sessions_page),
    ("GET", "/session/{name}", _session_page),
    ("GET", "/session/{name}/{turn:int}", _session_page),
    ("GET", "/session/{name}/{turn:int}/whole", _turn_page),
    ("GET", "/session/{name}/{turn:int}/quote", _quote_page),
)
