"""The session to go on with: the last one of this clone on this branch whose agent can be told to."""

from __future__ import annotations

from collections.abc import Mapping

import msgspec

from rekal.app.context import App
from rekal.model import LOCAL
from rekal.store.ledger import open_ledger
from rekal.store.recent_sessions import read_recent_sessions

_COMMANDS: Mapping[str, tuple[str, ...]] = {
    "claude": ("claude", "--resume"),
    "codex": ("codex", "resume"),
    "copilot": ("copilot", "--resume"),
    "cursor": ("cursor-agent", "--resume"),
    "gemini": ("gemini", "--resume"),
    "opencode": ("opencode", "--session"),
}
"""How each agent is told to go on with the session whose id follows."""
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
        if one.origin == LOCAL and one.agent in _COMMANDS and agent in (None, one.agent):
            return Resumable(one.id, one.agent, [*_COMMANDS[one.agent], one.native_id])
    return None
