"""Conversations of Claude Code while they are being read."""

from __future__ import annotations

from collections import deque
from datetime import datetime
from typing import Any

import msgspec

from rekal.agents.claude.calls import Call
from rekal.agents.formats.jsonl import Record, clean_text
from rekal.model import Actor, RawTurn, Role, Transcript

AGENT = "claude"

MessageKey = tuple[str, str | None]


def text_field(value: Any) -> str | None:
    """``value`` cleaned when it is a string with something in it."""
    return clean_text(value) if isinstance(value, str) and value else None


class Spoken(msgspec.Struct):
    role: Role
    parts: list[str]
    native_id: str
    shared: bool
    occurred_at: datetime | None
    model: str | None = None
    message: MessageKey | None = None

    def finished(self) -> RawTurn:
        content = "\n".join(self.parts)
        return RawTurn(self.role, content, self.native_id, self.shared, self.occurred_at, self.model)


class Thread:
    """One conversation under construction: the file's own, or a sub-agent's inside it."""

    def __init__(self, native_id: str, actor: Actor, parent: str | None = None) -> None:
        self.native_id, self.actor, self.parent = native_id, actor, parent
        self.turns: list[Spoken] = []
        self.calls: list[Call] = []
        self.waiting: dict[str, deque[Call]] = {}
        self.cwds: dict[str, None] = {}
        self.branches: dict[str, None] = {}
        self.started_at: datetime | None = None
        self.last_human = -1
        self.agent_type: str | None = None
        self.description: str | None = None
        self.spawn_depth: int | None = None

    def note(self, record: Record, at: datetime | None) -> None:
        """Take down where and when a record was written, and by which kind of sub-agent."""
        cwd, branch = text_field(record.get("cwd")), text_field(record.get("gitBranch"))
        if cwd:
            self.cwds[cwd] = None
        if branch and branch != "HEAD":
            self.branches[branch] = None
        if self.actor == "agent":
            self.agent_type = self.agent_type or text_field(record.get("attributionAgent"))
        self.started_at = self.started_at or at

    def answer(self, block: Record, details: Any) -> None:
        """Give a ``tool_result`` block to the earliest call of its id that waits."""
        waiting = self.waiting.get(text_field(block.get("tool_use_id")) or "")
        if waiting:
            waiting.popleft().answer(block, details)

    def unanswered(self, last_human: int) -> list[Call]:
        """The calls whose result may still come: nobody has said anything since they were issued."""
        passed = max(last_human, self.last_human)
        return [call for call in self.calls if not call.answered and call.order >= passed]

    def transcript(self, last_human: int) -> Transcript:
        pending = set(map(id, self.unanswered(last_human)))
        return Transcript(
            agent=AGENT,
            native_id=self.native_id,
            turns=tuple(turn.finished() for turn in self.turns),
            calls=tuple(call.finished() for call in self.calls if id(call) not in pending),
            cwds=tuple(self.cwds),
            branches=tuple(self.branches),
            actor=self.actor,
            parent_native_id=self.parent,
            agent_type=self.agent_type,
            description=self.description,
            spawn_depth=self.spawn_depth,
            model=next((turn.model for turn in self.turns if turn.model), None),
            started_at=self.started_at,
        )


class Titles:
    """Candidates for the session's title; the last word of the best source wins."""

    def __init__(self) -> None:
        self.custom: str | None = None
        self.generated: str | None = None
        self._summaries: list[tuple[str, str]] = []

    def note(self, record: Record) -> None:
        self.custom = text_field(record.get("customTitle")) or self.custom
        self.generated = text_field(record.get("aiTitle")) or self.generated
        summary, leaf = text_field(record.get("summary")), text_field(record.get("leafUuid"))
        if summary and leaf:
            self._summaries.append((summary, leaf))

    def best(self, uuids: set[str], first_prompt: str | None) -> str | None:
        """The first line of the best title, uncut: the scrubber must see all of it. A summary counts only when the
        message it ends with is in this file: others name other sessions.
        """
        own = next((summary for summary, leaf in reversed(self._summaries) if leaf in uuids), None)
        title = (self.custom or self.generated or own or first_prompt or "").strip()
        return title.split("\n", 1)[0].strip() or None
