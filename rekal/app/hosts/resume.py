"""The session to go on with: the last one of this clone on this branch whose agent can be told to."""

from __future__ import annotations

import msgspec

from rekal.agents.registry import describe_agent
from rekal.app.context import App, parse_handle
from rekal.errors import UsageError
from rekal.model import LOCAL
from rekal.store.ledger import open_ledger
from rekal.store.queries import read_session, session_ids
from rekal.store.session_list import read_recent_sessions

_LOOKED_AT = 20


class Resumable(msgspec.Struct, frozen=True):
    """A session and the words of the command that goes on with it."""

    session_id: str
    agent: str
    command: list[str]


def find_resumable(app: App, agent: str | None = None) -> Resumable | None:
    """The newest such session, of ``agent`` if one is named; None without one."""
    with open_ledger(app.layout.data, read_only=True) as ledger:
        recent = read_recent_sessions(ledger.con, app.repo.branch(), _LOOKED_AT)
    for one in recent:
        command = describe_agent(one.agent).resume_command
        if one.origin == LOCAL and command and agent in (None, one.agent):
            return Resumable(one.id, one.agent, [*command, one.native_id])
    return None


def find_named(app: App, name: str) -> Resumable:
    """Find the command for the session whose id begins with ``name``. UsageError where there is none to be had."""
    with open_ledger(app.layout.data, read_only=True) as ledger:
        ids = session_ids(ledger.con, parse_handle(name)[0].lower())
        if len(ids) != 1:
            few = f"{name} could be {len(ids)} sessions" if ids else f"there is no session {name}"
            raise UsageError(few, "give more characters" if ids else "`rekal sessions` lists them")
        session = read_session(ledger.con, ids[0], 0, 0)
    assert session is not None
    command = describe_agent(session.agent).resume_command
    if session.origin != LOCAL:
        raise UsageError(f"session {ids[0][:10]} is of another machine", f"`rekal show {ids[0][:10]}` reads it")
    if not command:
        raise UsageError(
            f"{session.agent} cannot be told to go on with a session", f"`rekal show {ids[0][:10]}` reads it"
        )
    return Resumable(session.id, session.agent, [*command, session.native_id])
