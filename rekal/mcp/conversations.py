"""Conversations of the memory profile, and how its answers are written."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

from rekal.app.memory_graph import read_graph, start_conversation
from rekal.mcp.tools import AgentCall, ToolAnswer, pretty, say
from rekal.memory.events import StartConversation
from rekal.memory.graph import ConversationNode
from rekal.memory.state import Memory

MOST_ROWS = 200  # of any list
Fields = dict[str, Any]


def stamp(when: datetime | None) -> str | None:
    """A time as that server writes it: UTC, to the second."""
    return when.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S") if when else None


def answer_text(text: str) -> ToolAnswer:
    """One text, as that server sends it: twice."""
    return say(text, {"result": text})


def answer_rows(items: Sequence[Fields]) -> ToolAnswer:
    """A list, as that server sends it: a block an element."""
    return ToolAnswer(tuple(pretty(one) for one in items), {"result": list(items)})


def call_project(call: AgentCall) -> str | None:
    """The project that a call means: its own, else the connection's, else that of what belongs to none."""
    return call.text("project") or call.settings.get("project") or None


def begin_conversation(call: AgentCall) -> ToolAnswer:
    """Start a conversation; its earlier ones must be there."""
    said = StartConversation(
        title=call.text("title") or None,
        project=call_project(call),
        follows=call.text("follows_up_on") or None,
        branches=call.text("branches_from") or None,
    )
    return answer_text(f"Started conversation {start_conversation(call.desk, said)}")


def list_conversation_links(call: AgentCall) -> ToolAnswer:
    """The links of the group that a conversation belongs to."""
    links = [
        (one.id, earlier, relation, stamp(one.started_at))
        for one in read_graph(call.desk).conversations
        for earlier, relation in ((one.follows, "follows_up_on"), (one.branches, "branches_from"))
        if earlier
    ]
    group, size = {call.text("conversation_id")}, 0
    while len(group) > size:
        size = len(group)
        group |= {end for one, other, _, _ in links if {one, other} & group for end in (one, other)}
    names = ("from_id", "to_id", "relation", "created_at")
    return answer_rows([dict(zip(names, link, strict=True)) for link in links if link[0] in group])


def _talk_conversations(call: AgentCall) -> list[tuple[ConversationNode, list[Memory]]]:
    held: dict[str, list[Memory]] = {}
    for one in call.desk.memories().current():
        held.setdefault(one.conversation or "", []).append(one)
    found = [(one, held.get(one.id, [])) for one in read_graph(call.desk).conversations]
    return sorted(found, key=lambda pair: (pair[0].started_at, pair[0].id), reverse=True)


def list_threads(call: AgentCall) -> ToolAnswer:
    """Conversations, newest first."""
    project = call_project(call)
    found = [
        {"id": one.id, "title": one.title, "project": one.project, "started_at": stamp(one.started_at),
         "memory_count": len(held)}
        for one, held in _talk_conversations(call)
        if project is None or one.project == project
    ]  # fmt: skip
    return answer_rows(found[: call.number("limit", 20, MOST_ROWS)])


def list_stale(call: AgentCall) -> ToolAnswer:
    """Conversations that nothing was added to for some days."""
    now, days = datetime.now(UTC), call.number("days", 30, 36500)
    out = []
    for one, held in _talk_conversations(call):
        last = max((memory.occurred_at for memory in held), default=None)
        idle = now - (last or one.started_at)
        # One that was begun just now and is empty has not gone stale.
        if idle >= timedelta(days=days) and (last is not None or idle > timedelta(days=1)):
            out.append(
                {"id": one.id, "title": one.title, "project": one.project, "started_at": stamp(one.started_at),
                 "last_memory_at": stamp(last), "days_inactive": idle.days}
            )  # fmt: skip
    return answer_rows(out[:MOST_ROWS])
