"""The session to go on with: the last one of this clone on this branch whose agent can be told to."""

from __future__ import annotations

import msgspec

from rekal.agents.registry import describe_agent
from rekal.app.context import App
from rekal.model import LOCAL
from rekal.store.ledger import open_ledger
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
