"""A session as a page shows it: some of its turns, its relatives by name, the commits that it led to."""

from __future__ import annotations

import msgspec

from rekal.app.context import App
from rekal.app.read_ledger import ShownSession, show_sessions
from rekal.store import session_list
from rekal.store.ledger import open_ledger
from rekal.store.overview import overview_rows
from rekal.store.session_list import SessionFilter, SessionRow


class Relative(msgspec.Struct, frozen=True):
    """A session that belongs to another one. ``how``: ``parent``, ``sub-agent`` or ``fork``."""

    id: str
    title: str
    how: str


class SessionView(msgspec.Struct, frozen=True):
    """A session with those of its turns that were asked for, and its relatives."""

    shown: ShownSession
    relatives: list[Relative]


class SessionPage(msgspec.Struct, frozen=True):
    """A part of the list of sessions, newest first, and a name for each by id. ``truncated``: older ones follow."""

    sessions: list[SessionRow]
    names: dict[str, str]
    truncated: bool


def list_session_page(app: App, wanted: SessionFilter, limit: int, offset: int) -> SessionPage:
    """List ``limit`` sessions after the first ``offset``."""
    with open_ledger(app.layout.data, read_only=True) as ledger:
        found = session_list.list_sessions(ledger.con, wanted, limit + 1, offset)
        names = overview_rows.read_titles(ledger.con, [one.id for one in found])
    return SessionPage(found[:limit], names, len(found) > limit)


def view_session(app: App, name: str, offset: int, limit: int) -> SessionView | None:
    """Read ``limit`` turns from ``offset`` on of the one session called ``name``; None where there is none."""
    found = show_sessions(app, name, offset, limit)
    if not found:
        return None
    session = found[0].session
    with open_ledger(app.layout.data, read_only=True) as ledger:
        parent, below = overview_rows.read_relatives(ledger.con, session.id)
        above = [one for one in (parent, session.forked_from) if one]
        titles = overview_rows.read_titles(ledger.con, above)
    relatives = [Relative(one, titles.get(one, ""), "parent" if one == parent else "fork of") for one in above]
    return SessionView(found[0], relatives + [Relative(one, title, how) for one, title, how in below])
