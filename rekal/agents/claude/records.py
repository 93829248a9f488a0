"""From Claude Code's records to conversations: one pass, each record seen once, in file order.

A turn is known by the uuid of the record that begins it, which every copy of the history repeats. The lines of one
message are merged into its turn, but never across the point up to which an earlier reading had come: all that was said
before it is stored, and what arrived since is a turn of its own. So no text is lost and none is stored twice, wherever
the readings part the file; records before that point are read again only for the calls that waited in them.
"""

from __future__ import annotations

from collections import Counter, deque
from datetime import datetime
from typing import Any

import msgspec

from rekal.agents.claude.content import (
    PLAN_OPENING,
    SUMMARY_OPENING,
    Call,
    agent_words,
    is_readable_content,
    spoken_content,
    text_blocks,
    without_injected,
)
from rekal.agents.formats.jsonl import Record, clean_text
from rekal.agents.formats.timestamps import parse_time
from rekal.ids import content_hash
from rekal.model import Actor, RawTurn, Role, Transcript

# Conversations of Claude Code while they are being read.

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
        # The client writes HEAD when no branch is checked out, which names none.
        if branch and branch != "HEAD":
            self.branches[branch] = None
        if self.actor == "agent":
            self.agent_type = self.agent_type or text_field(record.get("attributionAgent"))
        self.started_at = self.started_at or at

    def answer(self, block: Record, details: Any) -> None:
        """Give a ``tool_result`` block to the earliest call of its id that waits."""
        waiting = self.waiting.get(text_field(block.get("tool_use_id")) or "")
        if waiting:
            # Ids repeat in files that were glued together; results come in the order of the calls.
            waiting.popleft().answer(block, details)

    def unanswered(self, last_human: int) -> list[Call]:
        """The calls whose result may still come: nobody has said anything since they were issued."""
        # Once a person has spoken again, a call without result was cancelled and will get none.
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
        # Newest first: each compaction writes a summary of all that went before.
        own = next((summary for summary, leaf in reversed(self._summaries) if leaf in uuids), None)
        title = (self.custom or self.generated or own or first_prompt or "").strip()
        return title.split("\n", 1)[0].strip() or None


_CHAIN = ("user", "assistant", "attachment", "system", "progress")
_SIDE = frozenset({
    "file-history-snapshot", "file-history-delta", "permission-mode", "mode", "last-prompt", "pr-link",
    "bridge-session", "agent-name", "agent-setting", "frame-link", "started", "result", "atis-latch",
    "model_refusal_fallback", "worktree-state", "relocated", "summary", "ai-title", "custom-title",
})  # fmt: skip

# Only what is listed as a person's is a person's. Machines' are listed so that they are not taken for news of a format.
_PERSONS = frozenset({"human", "channel"})
_MACHINES = frozenset({"task-notification", "hook", "automation", "system", "agent", "tool"})
_TYPED = frozenset({"typed", "queued", "sdk", "suggestion_accepted"})
_MADE_UP = frozenset({"system"})


class _Entry(msgspec.Struct, frozen=True):
    """One record with what everything said in it shares."""

    thread: Thread
    record: Record
    offset: int
    uuid: str | None
    at: datetime | None


class Conversation:
    """Takes a file's records one by one; afterwards :meth:`threads` hold what was said.

    ``seen`` is the byte up to which an earlier reading had come. ``orphaned`` says that a sub-agent's record was met
    whose beginning lies before this reading.
    """

    def __init__(self, main: Thread, seen: int) -> None:
        self.main = main
        self.titles = Titles()
        self.drift: Counter[str] = Counter()
        self.uuids: set[str] = set()
        self.first_session_id: str | None = None
        self.taken = 0
        self.orphaned = False
        self._seen = seen
        self._inline: dict[str, Thread] = {}
        self._thread_of: dict[str, Thread] = {}
        self._queued: Counter[str] = Counter()
        self._spare_ids: Counter[str] = Counter()
        self._dispatched: dict[str, tuple[str | None, str | None]] = {}

    def threads(self) -> list[Thread]:
        return [self.main, *self._inline.values()]

    def take(self, offset: int, record: Record) -> None:
        """Take one record whose line starts at byte ``offset`` of the file."""
        exported = record.get("loglines")
        if isinstance(exported, list):
            for line in exported:
                if isinstance(line, dict):
                    self.take(offset, line)
            return
        uuid = text_field(record.get("uuid"))
        # A resumed session's file may repeat records of its own history.
        if uuid in self.uuids:
            return
        if uuid:
            self.uuids.add(uuid)
        self.taken += 1
        self.first_session_id = self.first_session_id or text_field(record.get("sessionId"))
        kind = record.get("type")
        if kind in _CHAIN:
            self._chain_record(offset, record, uuid)
        elif kind == "queue-operation":
            entry = _Entry(self.main, record, offset, None, parse_time(record.get("timestamp")))
            if record.get("operation") == "enqueue":
                self._steer(entry, record.get("content"), queue=True)
        elif isinstance(kind, str) and kind in _SIDE:
            self.titles.note(record)
        else:
            self.drift[clean_text(kind)[:64] if isinstance(kind, str) else ""] += 1

    def _chain_record(self, offset: int, record: Record, uuid: str | None) -> None:
        thread = self._thread(record, uuid)
        entry = _Entry(thread, record, offset, uuid, parse_time(record.get("timestamp")))
        thread.note(record, entry.at)
        message = record.get("message")
        attachment = record.get("attachment")
        if record["type"] == "attachment" and isinstance(attachment, dict):
            self._attachment(entry, attachment)
        elif record["type"] == "assistant" and isinstance(message, dict):
            self._assistant(entry, message)
        elif record["type"] == "user" and isinstance(message, dict):
            self._user(entry, message.get("content"))
        elif record["type"] in ("user", "assistant"):
            self.drift[f"{record['type']} without message"] += 1
        if isinstance(message, dict) and not is_readable_content(message.get("content")):
            self.drift["message without content"] += 1

    def _thread(self, record: Record, uuid: str | None) -> Thread:
        """The conversation a record belongs to: the oldest clients wrote sub-agents into the parent's own file."""
        if self.main.actor == "agent" or record.get("isSidechain") is not True:
            return self.main
        parent, agent_id = text_field(record.get("parentUuid")), text_field(record.get("agentId"))
        thread = self._inline.get(agent_id) if agent_id else self._thread_of.get(parent or "")
        if thread is None:
            self.orphaned = self.orphaned or (parent is not None and parent not in self.uuids)
            key = agent_id or uuid or f"sidechain-{len(self._inline)}"
            thread = self._inline.setdefault(key, Thread(f"{self.main.native_id}/{key}", "agent", self.main.native_id))
            message = record.get("message")
            prompt = "\n".join(text_blocks(message.get("content"))) if isinstance(message, dict) else ""
            dispatched = self._dispatched.get(prompt.strip(), (None, None))
            thread.agent_type, thread.description = dispatched
        if uuid:
            self._thread_of[uuid] = thread
        return thread

    def _say(
        self, entry: _Entry, role: Role, text: str, model: str | None = None, message: MessageKey | None = None
    ) -> None:
        turns = entry.thread.turns
        if entry.offset < self._seen:
            return
        # The client writes one answer as a record for each of its blocks.
        if turns and message is not None and turns[-1].message == message:
            turns[-1].parts.append(text)
            return
        native_id = entry.uuid or self._spare_id(entry.offset, text)
        shared = entry.uuid is not None
        turns.append(Spoken(role, [text], native_id, shared, entry.at, model, message))

    def _spare_id(self, offset: int, text: str) -> str:
        """An id for what has none: its place in this file and its content, counted for records glued together."""
        spare = f"@{offset}:{content_hash(text)[:16]}"
        self._spare_ids[spare] += 1
        nth = self._spare_ids[spare]
        return spare if nth == 1 else f"{spare}.{nth}"

    def _assistant(self, entry: _Entry, message: Record) -> None:
        model = text_field(message.get("model"))
        # The client's own words (a limit reached, a request refused): nobody's, so nobody said them.
        if model == "<synthetic>" or entry.record.get("isApiErrorMessage") is True:
            return
        message_id = text_field(message.get("id"))
        key = (message_id, text_field(entry.record.get("requestId"))) if message_id else None
        content = message.get("content")
        if text := agent_words(content):
            self._say(entry, "assistant", text, model, key)
        for index, block in enumerate(content if isinstance(content, list) else ()):
            if isinstance(block, dict) and block.get("type") == "tool_use":
                self._call(entry, block, index)

    def _call(self, entry: _Entry, block: Record, index: int) -> None:
        given, tool_id = block.get("input"), text_field(block.get("id"))
        call = Call(
            tool=text_field(block.get("name")) or "unknown",
            input=given if isinstance(given, dict) else {},
            offset=entry.offset,
            # Order of reading and not time: clocks jump, and some records have no time.
            order=self.taken,
            turn=len(entry.thread.turns) - 1,
            native_id=tool_id or f"{entry.uuid or f'@{entry.offset}'}:{index}",
            shared=bool(tool_id or entry.uuid),
            cwd=text_field(entry.record.get("cwd")),
            occurred_at=entry.at,
            # A call that waits for ever would hold back the point from which the next reading starts.
            answered=tool_id is None,  # nothing can ever name it
        )
        entry.thread.calls.append(call)
        if tool_id:
            entry.thread.waiting.setdefault(tool_id, deque()).append(call)
        if dispatched := call.dispatched():
            self._dispatched[dispatched[0].strip()] = dispatched[1:]

    def _user(self, entry: _Entry, content: Any) -> None:
        record = entry.record
        blocks = content if isinstance(content, list) else []
        results = [block for block in blocks if isinstance(block, dict) and block.get("type") == "tool_result"]
        for block in results:
            entry.thread.answer(block, record.get("toolUseResult") if len(results) == 1 else None)
        # The result of a tool may come without its block, as bare text beside the result.
        if results or record.get("toolUseResult") is not None or record.get("sourceToolUseID"):
            return
        # Meta records are the client's own text; a channel's message is a person's all the same.
        if not self._is_by_person(record) or (record.get("isMeta") is True and _origin_of(record) != "channel"):
            return
        whole = without_injected("\n".join(text_blocks(content))).strip()
        if record.get("isCompactSummary") is True or whole.startswith(SUMMARY_OPENING):
            if whole:
                self._say(entry, "summary", whole)
        elif whole.startswith(PLAN_OPENING):
            # Accepting a plan makes the client type it: the words are the agent's.
            self._say(entry, "assistant", whole)
        # A prompt typed while the agent worked is written twice: when queued and when it is taken up.
        elif (text := spoken_content(content)) and not self._was_queued(text):
            self._say(entry, "human", text)
            entry.thread.last_human = self.taken

    def _is_by_person(self, record: Record) -> bool:
        """True where the record names a source that is a person, or none; one that is not known here is counted."""
        for field, value, persons, machines in (
            ("origin", _origin_of(record), _PERSONS, _MACHINES),
            ("promptSource", record.get("promptSource"), _TYPED, _MADE_UP),
        ):
            if value is not None and value not in persons:
                if value not in machines:
                    self.drift[f"{field} {clean_text(str(value))[:50]}"] += 1
                return False
        return True

    def _was_queued(self, text: str) -> bool:
        """True if this prompt was already heard as steering, when it was typed into the queue."""
        if self._queued[text] <= 0:
            return False
        self._queued[text] -= 1
        return True

    def _attachment(self, entry: _Entry, attachment: Record) -> None:
        prompted = attachment.get("commandMode") in (None, "prompt") and attachment.get("isMeta") is not True
        if attachment.get("type") == "queued_command" and prompted and self._is_by_person(attachment):
            self._steer(entry, attachment.get("prompt"), queue=False)

    def _steer(self, entry: _Entry, content: Any, *, queue: bool) -> None:
        """Add a prompt that was typed while the agent worked.

        It is recorded when queued and again when handed over, so it is known by its words.
        """
        text = spoken_content(content)
        if not text:
            return
        # A reading may begin between the two records: then the second is the first one that is heard.
        heard = text in self._queued
        self._queued[text] += queue or not heard
        if not heard and entry.offset >= self._seen:
            native_id = f"steering:{content_hash(text)}"
            entry.thread.turns.append(Spoken("steering", [text], native_id, False, entry.at))


def _origin_of(record: Record) -> object:
    origin = record.get("origin")
    return origin.get("kind") if isinstance(origin, dict) else None
