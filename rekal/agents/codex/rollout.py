"""Follow the records of one Codex roll-out, of whatever era, and collect its turns and tool calls."""

from __future__ import annotations

from collections import Counter
from typing import Literal

from msgspec.structs import replace

from rekal.agents.codex import noise, tools
from rekal.agents.codex import record_kinds as kinds
from rekal.agents.codex.draft import RewindableDraft
from rekal.agents.formats.json_fields import number_at, object_at, text_at, value_at
from rekal.agents.formats.jsonl import Record
from rekal.agents.formats.person_words import find_wrapper, name_wrapper
from rekal.agents.formats.timestamps import parse_time
from rekal.model import Outcome, RawCall, RawTurn, Role

UserText = Literal["events", "completed", "items"]
"""Which records say what was typed: ``user_message`` events, completed items, or the model's input."""


class Rollout:
    """Reads records in order; ``anchor`` is where the next reading must begin to see the open turn whole.

    Everything before the last human turn is settled: a call that has no answer by then was passed over.
    """

    def __init__(self, user_text: UserText) -> None:
        self.draft = RewindableDraft()
        self.meta: Record = {}
        self.cwds: dict[str, None] = {}
        self.branches: dict[str, None] = {}
        self.model: str | None = None
        self.title: str | None = None
        self.drift: Counter[str] = Counter()
        self.anchor = 0
        self._user_text = user_text
        self._cwd: str | None = None
        self._replaying = self._reviewing = False
        self._task: int | None = None  # where the open task began
        self._spoken = False  # whether the open task has its prompt
        self._held: tuple[int, RawTurn] | None = None
        self._copies: set[tuple[str, str | None]] = set()  # answers told once, of which a copy may follow
        self._outcomes: dict[str, Outcome] = {}
        self._scripts: dict[str, bool] = {}  # open programs, and whether their patches were reported
        self._answered: set[str] = set()
        self._at = (0, 0)

    def open(self, meta: Record) -> None:
        """Take the session's own first record."""
        self.meta = meta
        self._add_place(meta)
        source = value_at(meta, "source", "subagent", "thread_spawn")
        self._replaying = text_at(meta, "forked_from_id") is not None or isinstance(source, dict)

    def skip_replay(self) -> None:
        """Say that the reading begins behind a copied history."""
        self._replaying = False

    def read(self, offset: int, record: Record) -> None:
        """Take the next record, whose line begins at ``offset``."""
        self._at = (offset, self._at[1] + 1 if self._at[0] == offset and self._at[1] else 1)
        kind, payload = text_at(record, "type"), record.get("payload")
        when = record.get("timestamp")
        if not isinstance(payload, dict):
            self._read_bare(record)
        elif kind == "session_meta":
            self._read_meta(payload)
        elif self._is_inherited(record):
            return
        elif kind == "turn_context":
            self._read_context(payload)
        elif kind == "event_msg":
            self._read_event(payload, when)
        elif self._replaying or kind in kinds.QUIET_KINDS:
            return
        elif kind == "response_item":
            self._read_item(payload, when)
        elif kind == "compacted":
            self._say("summary", text_at(payload, "message"), when)
        else:
            self.drift[str(kind)[:60]] += 1

    def _read_bare(self, record: Record) -> None:
        # A snapshot of the program's state between the records of 2025.
        if "record_type" in record:
            return
        if record.get("type") is None and "role" not in record:
            if not self.meta and text_at(record, "id") is not None:
                self.open(record)
            return
        self._read_item(record, record.get("timestamp"))

    def _read_meta(self, payload: Record) -> None:
        if not self.meta:
            self.open(payload)
        elif value_at(payload, "id") == value_at(self.meta, "id"):
            self._add_place(payload)
        # Another session's description before anything was said: a copied history follows.
        elif not self.draft.turns:
            self._replaying = True

    def _add_place(self, payload: Record) -> None:
        if (cwd := text_at(payload, "cwd")) is not None:
            self.cwds[cwd] = None
            self._cwd = cwd
        if (branch := text_at(payload, "git", "branch")) is not None:
            self.branches[branch] = None

    def _is_own(self, payload: Record) -> bool:
        return noise.is_own(text_at(payload, "turn_id"), text_at(self.meta, "id"))

    def _is_inherited(self, record: Record) -> bool:
        """True if a record stands before the place where a sub-agent's description says that its own begin."""
        # A sub-agent's roll-out begins with its parent's history; counted records tell where its own starts.
        begin, ordinal = number_at(self.meta, "subagent_history_start_ordinal"), number_at(record, "ordinal")
        return begin is not None and ordinal is not None and ordinal < begin

    def _read_context(self, payload: Record) -> None:
        if self._replaying and not self._is_own(payload):
            return
        self._replaying = False
        self.model = text_at(payload, "model") or self.model
        self._add_place(payload)

    def _read_event(self, payload: Record, when: object) -> None:
        kind = text_at(payload, "type")
        if kind in kinds.STARTS and (not self._replaying or self._is_own(payload)):
            self._replaying = False
            self._task, self._spoken = self._at[0], False
        elif self._replaying:
            return
        elif kind in kinds.ENDS:
            self._task = None
        elif kind == "user_message" and self._user_text == "events":
            self._read_typed(payload, when)
        elif kind == "thread_rolled_back":
            self.draft.rewind(number_at(payload, "num_turns") or 0)
        elif kind == "thread_name_updated":
            self.title = text_at(payload, "thread_name") or self.title
        elif kind in ("entered_review_mode", "exited_review_mode"):
            self._reviewing = kind == "entered_review_mode"
        elif not self._read_report(str(kind), payload, when) and kind not in kinds.QUIET_EVENTS:
            self.drift[f"event_msg/{kind}"[:60]] += 1

    def _read_typed(self, payload: Record, when: object) -> None:
        kind, message = payload.get("kind"), text_at(payload, "message")
        if kind not in kinds.TYPED:
            self.drift[f"user_message/{kind}"[:60]] += kind not in kinds.UNTYPED
        elif message is None:
            self.drift["user_message without message"] += 1
        else:
            self._hear(message, when)

    def _read_report(self, kind: str, payload: Record, when: object) -> bool:
        """Take an event that reports on a tool call; False when it does not."""
        key = text_at(payload, "call_id") or ""
        if kind == "patch_apply_end":
            self._read_patch(key, payload, payload.get("success") is True, when)
        elif kind == "exec_command_end":
            if (code := number_at(payload, "exit_code")) is not None:
                self._outcomes[key] = "ok" if code == 0 else "error"
        elif kind == "mcp_tool_call_end":
            failed = value_at(payload, "result", "Err") is not None
            self._outcomes[key] = "error" if failed or value_at(payload, "result", "Ok", "isError") else "ok"
        elif kind == "item_completed":
            self._read_completed(object_at(payload, "item"), when)
        else:
            return False
        return True

    def _read_completed(self, item: Record, when: object) -> None:
        kind = text_at(item, "type")
        if kind == "UserMessage" and self._user_text == "completed":
            self._hear(noise.content_text(item), when)
        elif kind == "AgentMessage":
            self._say_once("completed", noise.content_text(item), when)
        elif kind == "FileChange" and (key := text_at(item, "id")) is not None:
            self._read_patch(key, item, item.get("status") == "completed", when)

    def _read_patch(self, key: str, payload: Record, applied: bool, when: object) -> None:
        files = tools.applied_files(payload.get("changes"))
        if key in self._answered or not files:
            return
        outcome: Outcome = "ok" if applied else "error"
        if self.draft.waits(key):
            first = replace(self.draft.waiting_for(key)[0], native_id=key, path=None, wrote=())
            self.draft.amend(key, tools.patch_calls(first, files, self._cwd))
            self._outcomes[key] = outcome
            return
        # A program's patch is reported under an id of its own, while the program runs or after.
        self._scripts = dict.fromkeys(self._scripts, True)
        call = RawCall(tool="apply_patch", native_id=key, occurred_at=parse_time(when))
        self.draft.ask(key, tools.patch_calls(call, files, self._cwd))
        self.draft.answer(key, outcome, text_at(payload, "stderr"))
        self._answered.add(key)

    def _read_item(self, payload: Record, when: object) -> None:
        kind = text_at(payload, "type") or ("message" if "role" in payload else None)
        if kind == "message":
            self._read_message(payload, when)
        elif kind in kinds.CALLS:
            self._read_call(kind, payload, when)
        elif kind in kinds.ANSWERS:
            self._read_answer(payload)
        elif kind in kinds.AT_ONCE:
            self._release()
            call = RawCall(tool=kinds.AT_ONCE[kind], native_id=self._id(), occurred_at=parse_time(when))
            self.draft.ask(self._id(), [call])
            self.draft.answer(self._id(), "error" if payload.get("status") == "failed" else "ok")
        elif kind == "agent_message":
            self._read_letter(payload, when)
        elif kind in kinds.QUIET_ITEMS:
            self._release()
        else:
            self.drift[f"response_item/{kind}"[:60]] += 1

    def _read_message(self, payload: Record, when: object) -> None:
        role, content = payload.get("role"), noise.content_text(payload)
        if role not in kinds.ROLES:
            self.drift[f"role {role}"[:60]] += 1
        elif content is None and not noise.is_wordless(payload):
            self.drift["message without text"] += 1
        elif role == "assistant":
            self._say_once("items", content, when)
        elif role == "user" and content is not None:
            if not self.cwds and (cwd := noise.context_cwd(content)) is not None:
                self._add_place({"cwd": cwd})
            if self._user_text == "items" and (typed := self._typed(content)) is not None:
                self._release()
                self._held = (self._at[0], self._turn(self._human_role(), typed, when))

    def _read_letter(self, payload: Record, when: object) -> None:
        """A message between agents: to a sub-agent it is the task; to anyone else it repeats that one's session."""
        path = text_at(self.meta, "agent_path") or text_at(
            self.meta, "source", "subagent", "thread_spawn", "agent_path"
        )
        if path is not None and payload.get("recipient") == path and payload.get("author") != path:
            words = (noise.content_text(payload) or "").partition("\nPayload:\n")
            self._hear(words[2] if words[1] else words[0], when)

    def _read_call(self, kind: str, payload: Record, when: object) -> None:
        self._release()
        name = text_at(payload, "name") or kind.removesuffix("_call")
        space = text_at(payload, "namespace")
        key = text_at(payload, "call_id") or text_at(payload, "id") or self._id()
        tool = f"{space}.{name}" if space else name
        call = RawCall(tool=tool, native_id=key, occurred_at=parse_time(when))
        if key in self._answered or self.draft.waits(key):
            return
        self.draft.ask(key, tools.read_call(call, payload, self._cwd))
        if tool == "exec":
            self._scripts[key] = False

    def _read_answer(self, payload: Record) -> None:
        key = text_at(payload, "call_id") or ""
        output = payload.get("output")
        outcome, said = tools.read_output(output)
        outcome = self._outcomes.pop(key, None) or outcome
        reported = self._scripts.pop(key, False)
        if not self.draft.waits(key):
            return
        if reported or outcome is None:
            kept = [call for call in self.draft.waiting_for(key) if call.tool != "apply_patch"]
            self.draft.amend(key, kept)
        self._answered.add(key)
        self.draft.answer(key, outcome, said or tools.output_text(output))

    def _hear(self, message: str | None, when: object) -> None:
        """Take what a person typed; a second prompt within a task steers it. Reviews write their own prompts."""
        typed = self._typed(message) if message is not None else None
        if typed is not None and not self._reviewing:
            self._place_human(self._at[0], self._turn(self._human_role(), typed, when))

    def _typed(self, message: str) -> str | None:
        """The words of a person in a message; one that is wholly inside an unknown element is counted."""
        typed = noise.typed_text(message)
        if typed is None or find_wrapper(typed) is None:
            return typed
        self.drift[name_wrapper(typed)] += 1
        return None

    def _human_role(self) -> Role:
        return "steering" if self._task is not None and self._spoken else "human"

    def _place_human(self, offset: int, turn: RawTurn) -> None:
        if turn.role == "human":
            self.anchor = offset if self._task is None else self._task
        self._spoken = True
        self.draft.say(turn)

    def _release(self) -> None:
        """Take the user item held back: the model went on, so no event will repeat it."""
        if self._held is not None:
            (offset, turn), self._held = self._held, None
            self._place_human(offset, turn)

    def _say_once(self, told_by: UserText, content: str | None, when: object) -> None:
        """Take an answer. Where completed items are kept, the model's own record of it may be there or not."""
        if self._user_text != "completed":
            if told_by == "items":
                self._say("assistant", content, when)
            return
        other = "items" if told_by == "completed" else "completed"
        if (other, content) in self._copies:
            self._copies.remove((other, content))
            return
        self._copies.add((told_by, content))
        self._say("assistant", content, when)

    def _say(self, role: Role, content: str | None, when: object) -> None:
        self._release()
        if content is not None and content.strip():
            self.draft.say(self._turn(role, content.strip(), when))

    def _turn(self, role: Role, content: str, when: object) -> RawTurn:
        model = self.model if role == "assistant" else None
        return RawTurn(role, content, native_id=self._id(), occurred_at=parse_time(when), model=model)

    def _id(self) -> str:
        """The id of the record at hand: its place in the file, numbered when a line holds several."""
        offset, nth = self._at
        return f"@{offset}" if nth == 1 else f"@{offset}.{nth}"
