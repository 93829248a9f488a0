"""Follow the events of a Copilot session (command line, or the transcripts of the VS Code extension).

Sub-agents run inside their parent's file; each becomes a transcript of its own.
"""

from __future__ import annotations

from collections import Counter

from rekal.agents.formats.edit_arguments import read_tool
from rekal.agents.formats.json_fields import first_text, object_at, objects_at, text_at, value_at
from rekal.agents.formats.jsonl import Record
from rekal.agents.formats.person_words import find_wrapper, name_wrapper
from rekal.agents.formats.timestamps import parse_time
from rekal.agents.formats.transcript_builder import TranscriptBuilder
from rekal.model import Outcome, RawCall, RawTurn, Role, Transcript
from rekal.plain_text import lazy_pattern

PLACES = ("session.start", "session.resume", "session.context_changed")
"""Events that say where the session is."""

_EXIT = lazy_pattern(r"<[^<>]*exit(?:ed)?(?: with)?(?: exit)? code (-?\d+)>\s*$")
_MACHINE = lazy_pattern(r"(?:system|instruction-discovery)$|(?:agent|skill)-")
_QUIET = lazy_pattern(
    r"(?:hook|permission|usage|external_tool)\..*"
    r"|assistant\.(?:turn_start|turn_end|reasoning|usage|intent|streaming_delta)"
    r"|system\.(?:message|notification)|tool\.(?:execution_partial_result|execution_progress|user_requested)"
    r"|session\.(?:shutdown|info|warning|error|usage_checkpoint|mode_changed|permissions_changed|plan_changed"
    r"|compaction_start|workspace_file_changed|idle|truncation|snapshot_rewind|handoff|import_legacy"
    r"|title_changed|usage_info|remote_steerable_changed|custom_agents_updated|skills_loaded)"
    r"|abort|skill\.invoked|subagent\.(?:selected|deselected)"
)


class _Agent:
    """One agent of the file: the session's own, or a sub-agent."""

    def __init__(self) -> None:
        self.draft = TranscriptBuilder()
        self.parent: str | None = None
        self.kind: str | None = None
        self.description: str | None = None
        self.prompt: RawTurn | None = None
        self.model: str | None = None
        self.started: object = None
        self.depth = 0


class Events:
    """Takes events in order; ``anchor`` is where the next reading must begin.

    That is the last message a person typed, or, when a sub-agent called earlier still waits, that call.
    """

    def __init__(self) -> None:
        self.session_id: str | None = None
        self.cwds: dict[str, None] = {}
        self.branches: dict[str, None] = {}
        self.drift: Counter[str] = Counter()
        self._main = _Agent()
        self._agents: dict[str, _Agent] = {}
        self._asked: dict[str, tuple[int, str | None]] = {}  # open call -> where it was asked, by which agent
        self._tasks: dict[str, Record] = {}
        self._cwd: str | None = None
        self._begin = 0
        self._place = (0, 0)

    @property
    def anchor(self) -> int:
        return min([self._begin, *(at for at, _ in self._asked.values())])

    @anchor.setter
    def anchor(self, offset: int) -> None:
        self._begin = offset

    def settle(self, event: Record) -> None:
        """Take what an event before the reading says of the session and its place, and nothing else."""
        data = object_at(event, "data")
        if event.get("type") == "session.start":
            self.session_id = text_at(data, "sessionId")
            self._main.started = data.get("startTime")
        self._move(data)

    def read(self, offset: int, event: Record) -> None:
        """Take the next event, whose line begins at ``offset``."""
        self._place = (offset, self._place[1] + 1 if self._place[0] == offset and self._place[1] else 1)
        kind, data = event.get("type"), object_at(event, "data")
        name = text_at(event, "agentId") or text_at(data, "parentToolCallId")
        if kind in PLACES:
            self.settle(event)
        elif kind == "session.model_change":
            self._main.model = text_at(data, "newModel") or self._main.model
        elif kind == "user.message":
            self._read_user(name, event, data)
        elif kind == "assistant.message":
            self._read_assistant(name, event, data)
        elif kind == "tool.execution_start":
            self._ask(name, data, text_at(data, "toolName"), event)
        elif kind == "tool.execution_complete":
            self._answer(data)
        elif kind == "subagent.started":
            self._start(event, data)
        elif kind in ("subagent.completed", "subagent.failed"):
            self._close(text_at(data, "toolCallId") or name)
        elif kind == "session.compaction_complete":
            self._say(name, "summary", text_at(data, "summaryContent"), event)
        elif kind == "session.task_complete":
            self._say(name, "assistant", text_at(data, "summary"), event)
        elif not isinstance(kind, str) or not _QUIET.fullmatch(kind):
            self.drift[str(kind)[:60]] += 1

    def _move(self, data: Record) -> None:
        """Take a place: of ``session.context_changed`` the data itself is the context."""
        context = object_at(data, "context") or data
        if (cwd := first_text(context, "cwd", "gitRoot")) is not None:
            self._cwd = cwd
            self.cwds[cwd] = None
        if (branch := text_at(context, "branch")) is not None:
            self.branches[branch] = None
        self._main.model = text_at(data, "selectedModel") or self._main.model

    def _agent(self, name: str | None) -> _Agent:
        """The session's own agent, or the sub-agent ``name``, which may have begun before this reading."""
        if name is None:
            return self._main
        if name not in self._agents:
            self._agents[name] = _Agent()
            self._agents[name].depth = 1
        return self._agents[name]

    def _read_user(self, name: str | None, event: Record, data: Record) -> None:
        source = data.get("source")
        # A message with a source was made by the client, except the task that an agent gives to a sub-agent.
        if source is not None and not (name is not None and str(source).startswith("agent-")):
            if not _MACHINE.match(str(source)):
                self.drift[f"user.message from {source}"[:60]] += 1
            return
        self._expect("content", "user.message", data)
        words = text_at(data, "content") or ""
        names = [first_text(item, "displayName", "path") for item in objects_at(data, "attachments")]
        attached = ", ".join(found for found in names if found is not None)
        message = f"{words}\n[attached: {attached}]".strip() if attached else words
        if find_wrapper(message):
            self.drift[name_wrapper(message)] += 1
            return
        role: Role = "steering" if data.get("delivery") == "steering" else "human"
        # The next reading begins here: what follows a person's message may still grow.
        if name is None and role == "human" and message.strip():
            self._begin = self._place[0]
        self._say(name, role, message, event)

    def _read_assistant(self, name: str | None, event: Record, data: Record) -> None:
        agent = self._agent(name)
        agent.model = text_at(data, "model") or agent.model
        if not objects_at(data, "toolRequests"):
            self._expect("content", "assistant.message", data)
        self._say(name, "assistant", text_at(data, "content"), event)
        for request in objects_at(data, "toolRequests"):
            self._ask(name, request, text_at(request, "name"), event)

    def _expect(self, field: str, kind: str, data: Record) -> None:
        """Count a message that lacks the field with its words: nothing read is not nothing said."""
        if field not in data:
            self.drift[f"{kind} without {field}"] += 1

    def _say(self, name: str | None, role: Role, content: str | None, event: Record) -> None:
        agent = self._agent(name)
        if agent.prompt is not None:
            prompt, agent.prompt = agent.prompt, None
            # Where the sub-agent's first words are a prompt, the file has the task itself: ours would be a second one.
            if role != "human":
                agent.draft.say(prompt)
        if content is None or not content.strip():
            return
        turn = RawTurn(
            role,
            content.strip(),
            native_id=text_at(event, "id") or self._id(),
            occurred_at=parse_time(event.get("timestamp")),
            model=agent.model if role == "assistant" else None,
        )
        if role == "human":
            self._forget(name)
        agent.draft.say(turn)

    def _forget(self, name: str | None) -> None:
        """A human turn passes over what its agent still waited for."""
        self._asked = {key: (at, by) for key, (at, by) in self._asked.items() if by != name}

    def _ask(self, name: str | None, data: Record, tool: str | None, event: Record) -> None:
        key = text_at(data, "toolCallId")
        # A call is announced in the answer and again when it starts.
        if key is None or tool is None or key in self._asked:
            return
        self._asked[key] = (self._place[0], name)
        arguments = data.get("arguments")
        if tool == "task":
            self._tasks[key] = object_at(arguments)
        call = RawCall(tool=tool, native_id=key, occurred_at=parse_time(event.get("timestamp")))
        self._agent(name).draft.ask(key, read_tool(call, arguments, self._cwd))

    def _answer(self, data: Record) -> None:
        key = text_at(data, "toolCallId") or ""
        if key not in self._asked:
            return
        _, name = self._asked.pop(key)
        result = data.get("result")
        said = first_text(result, "content", "text_result_for_llm") or text_at(data, "error", "message")
        self._agent(name).draft.answer(key, _call_outcome(data, said), said)

    def _start(self, event: Record, data: Record) -> None:
        key = text_at(data, "toolCallId") or text_at(event, "agentId")
        if key is None:
            return
        agent = self._agent(key)
        _, by = self._asked.get(key, (0, text_at(data, "parentToolCallId")))
        agent.parent = by
        # A caller that is not here began before this reading: one level is the least it can be.
        agent.depth = self._agents[by].depth + 1 if by in self._agents else 1
        task = self._tasks.get(key, {})
        agent.kind = text_at(data, "agentName")
        agent.description = text_at(task, "description") or text_at(data, "agentDisplayName")
        agent.model = text_at(data, "model") or agent.model
        agent.started = event.get("timestamp")
        if (prompt := text_at(task, "prompt")) is not None:
            agent.prompt = RawTurn(
                "human", prompt.strip(), native_id=f"{key}:task", occurred_at=parse_time(agent.started)
            )

    def _close(self, key: str | None) -> None:
        if key in self._agents:
            self._agents[key].draft.pass_over()
            self._forget(key)

    def _id(self) -> str:
        offset, nth = self._place
        return f"@{offset}" if nth == 1 else f"@{offset}.{nth}"

    def transcripts(self, agent: str, native_id: str, title: str | None) -> tuple[Transcript, ...]:
        """The session and its sub-agents' sessions; ``native_id`` counts where the session names none."""
        own = self.session_id or native_id
        found = [self._transcript(agent, own, self._main, title, None)]
        for name, sub in self._agents.items():
            # A sub-agent that was started and never spoke is no session.
            if sub.draft.turns or sub.draft.calls:
                parent = f"{own}/{sub.parent}" if sub.parent is not None else own
                found.append(self._transcript(agent, f"{own}/{name}", sub, None, parent))
        return tuple(found)

    def _transcript(self, agent: str, native_id: str, one: _Agent, title: str | None, parent: str | None) -> Transcript:
        return Transcript(
            agent=agent,
            native_id=native_id,
            turns=tuple(one.draft.turns),
            calls=tuple(one.draft.calls),
            cwds=tuple(self.cwds),
            branches=tuple(self.branches),
            actor="human" if parent is None else "agent",
            parent_native_id=parent,
            agent_type=one.kind,
            description=one.description,
            spawn_depth=one.depth or None,
            model=one.model,
            title=title,
            started_at=parse_time(one.started),
        )

    @property
    def empty(self) -> bool:
        """True if nothing was recognised."""
        return self.session_id is None and not self._agents and not self._main.draft.turns


def _call_outcome(data: Record, said: str | None) -> Outcome:
    success = data.get("success")
    if not isinstance(success, bool):
        failed = data.get("error") is not None or value_at(data, "result", "result_type") == "failure"
        return "error" if failed else "ok"
    # A shell tool succeeds whatever the command does: its exit code stands in the last line of its output.
    exited = _EXIT.search(said or "")
    return "ok" if success and (exited is None or int(exited[1]) == 0) else "error"
