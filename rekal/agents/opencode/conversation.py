"""What an OpenCode conversation says: its records as turns and tool calls.

A fork copies messages under new ids but keeps their times and texts, so those name a turn: that way the copies share
it. Every text part of an assistant's message is a turn of its own, which keeps the order of words and tools.
"""

from __future__ import annotations

from collections.abc import Iterator

from rekal.agents.formats.json_fields import (
    first_text,
    number_at,
    object_at,
    objects_at,
    text_at,
    value_at,
)
from rekal.agents.formats.jsonl import Record, clean_text
from rekal.agents.formats.patches import FilePatch, added_lines, parse_patch, text_lines
from rekal.agents.formats.person_words import find_wrapper, name_wrapper
from rekal.agents.formats.timestamps import parse_time
from rekal.agents.formats.transcript_builder import TranscriptBuilder, fan_out, new_lines
from rekal.agents.opencode.storage import Message, StoredSession
from rekal.ids import derive
from rekal.model import Outcome, RawCall, RawTurn, Role, Transcript
from rekal.plain_text import lazy_pattern

# The title until the model has made one.
_NO_TITLE = lazy_pattern(r"(New|Child) session - \d{4}-\d\d-\d\dT")
# Older versions wrote these without the flag ``synthetic``.
_INJECTED = ("Called the Read tool with the following input", "Summarize the task tool output above and continue")
_QUIET = {
    "reasoning",
    "step-start",
    "step-finish",
    "file",
    "patch",
    "snapshot",
    "compaction",
    "subtask",
    "agent",
    "retry",
}
# Version 1 calls it completed, version 2 success.
_DONE: dict[str, Outcome] = {"completed": "ok", "success": "ok", "error": "error"}


class Narration:
    """A transcript being told; ``drift`` counts the part types and states this version does not know.

    ``over`` says that nobody is writing to the conversation any more, so that a text without an end is its end.
    """

    def __init__(self, conversation: StoredSession, *, over: bool) -> None:
        self.conversation = conversation
        self.over = over
        self.drift: dict[str, int] = {}
        self._draft = TranscriptBuilder()

    def transcript(self) -> Transcript:
        """The whole conversation but for what was undone and what is not finished."""
        said = self.conversation
        messages = list(_messages_kept(said))
        rest = _at_rest(messages)
        for place, message in enumerate(messages):
            self._message(message, settled=place < rest or _finished(message))
        title = said.title if said.title and not _NO_TITLE.match(said.title) else None
        return Transcript(
            agent="opencode",
            native_id=said.id,
            turns=tuple(self._draft.turns),
            calls=tuple(self._draft.calls),
            cwds=_cwds(said.directory, messages),
            actor="agent" if said.parent else "human",
            parent_native_id=said.parent,
            agent_type=_agent_type(messages) if said.parent else None,
            description=title if said.parent else None,
            spawn_depth=said.depth if said.parent else None,
            model=next((model for message in messages if (model := _message_model(message))), None),
            title=title,
            started_at=parse_time(said.created),
        )

    def _message(self, message: Message, *, settled: bool) -> None:
        role = text_at(message.info, "role")
        if role == "user":
            self._user(message)
        elif role == "assistant":
            self._assistant(message, settled=settled)
        else:
            self._odd(f"role {role}")

    def _odd(self, what: str) -> None:
        self.drift[what] = self.drift.get(what, 0) + 1

    def _user(self, message: Message) -> None:
        words = [said for part in message.parts if (said := self._words(part)) is not None]
        typed = "\n\n".join(said for said in words if not said.startswith(_INJECTED))
        if find_wrapper(typed):
            self._odd(name_wrapper(typed))
        elif typed:
            self._say("human", message, 0, typed)

    def _words(self, part: Record) -> str | None:
        """Words of a text part; None for any other part and for what OpenCode itself put there."""
        kind = text_at(part, "type")
        if kind != "text":
            if kind not in _QUIET and kind != "tool":
                self._odd(f"part {kind}")
            return None
        if "text" not in part:
            self._odd("text without words")
        return None if part.get("synthetic") is True or part.get("ignored") is True else text_at(part, "text")

    def _say(self, role: Role, message: Message, place: int, content: str) -> None:
        content = clean_text(content)
        self._draft.say(
            RawTurn(
                role=role,
                content=content,
                # Without a time the words alone could name messages that have nothing to do with each other.
                native_id=derive("opencode-turn", role, message.moment, str(place), content),
                shared=message.created is not None,
                occurred_at=parse_time(message.created),
                model=_message_model(message) if role != "human" else None,
            )
        )

    def _assistant(self, message: Message, *, settled: bool) -> None:
        role: Role = "summary" if message.info.get("summary") is True else "assistant"
        place = 0
        for part in message.parts:
            if text_at(part, "type") == "tool":
                self._tool(message, part, settled=settled)
            elif (said := self._words(part)) is not None and (settled or self.over or _part_finished(part)):
                self._say(role, message, place, said)
                place += 1

    def _tool(self, message: Message, part: Record, *, settled: bool) -> None:
        state = object_at(part, "state")
        status = text_at(state, "status") or "none"
        call = _call(message, part)
        key = call.native_id or ""
        self._draft.ask(key, fan_out(call, _tool_patches(call.tool, state)))
        if status in _DONE:
            self._draft.answer(key, *_tool_outcome(call.tool, _DONE[status], state))
        elif status not in ("pending", "running"):
            self._odd(f"state {status}")
            self._draft.answer(key, None)
        elif not settled:
            # It may still be answered although somebody typed meanwhile: such a message waits in a queue.
            self._draft.withdraw(key)


def _messages_kept(said: StoredSession) -> Iterator[Message]:
    """The messages that were not undone. A revert names the first message, or part of a message, that is gone."""
    first_gone, first_part = text_at(said.revert, "messageID"), text_at(said.revert, "partID")
    for message in said.messages:
        if first_gone is not None and message.id == first_gone:
            if first_part is not None:
                place = next((n for n, part in enumerate(message.parts) if part.get("id") == first_part), 0)
                yield Message(message.id, message.info, message.parts[:place], message.created)
            return
        yield message


def _at_rest(messages: list[Message]) -> int:
    """The place of the last assistant message: an earlier one is never written to again."""
    places = [n for n, message in enumerate(messages) if message.info.get("role") == "assistant"]
    # A user's message may be queued behind it, so the last message of all is not the place.
    return places[-1] if places else 0


def _finished(message: Message) -> bool:
    info = message.info
    return info.get("role") == "user" or bool(value_at(info, "time", "completed") or info.get("error"))


def _part_finished(part: Record) -> bool:
    stamps = object_at(part, "time")
    # Parts of old versions have no times: they were written once, when whole.
    return bool(stamps.get("end")) or not stamps.get("start")


def _cwds(directory: str | None, messages: list[Message]) -> tuple[str, ...]:
    found = [directory, *(text_at(message.info, "path", "cwd") for message in messages)]
    return tuple(dict.fromkeys(clean_text(cwd) for cwd in found if cwd))


def _agent_type(messages: list[Message]) -> str | None:
    return next((name for message in messages if (name := text_at(message.info, "agent"))), None)


def _message_model(message: Message) -> str | None:
    if message.info.get("role") != "assistant":
        return None
    return text_at(message.info, "modelID") or text_at(message.info, "model", "modelID")


def _call(message: Message, part: Record) -> RawCall:
    state = object_at(part, "state")
    asked = object_at(state, "input")
    tool = text_at(part, "tool") or "unknown"
    started = number_at(state, "time", "start") or message.created
    call_id = text_at(part, "callID") or text_at(part, "id") or ""
    path = first_text(asked, "filePath", "file_path", "path", "filepath")
    return RawCall(
        tool=tool,
        # With the time: models repeat call ids within a session.
        native_id=derive("opencode-call", call_id, tool, str(started) if started else message.moment),
        shared=started is not None,
        path=path,
        command=text_at(asked, "command") if tool in ("bash", "shell") else None,
        occurred_at=parse_time(started),
        cwd=first_text(asked, "workdir", "cwd") or text_at(message.info, "path", "cwd"),
        wrote=_written(tool, asked, object_at(state, "metadata")),
    )


def _written(tool: str, asked: Record, metadata: Record) -> tuple[str, ...]:
    """Lines that one of the editing tools for a single file wrote: of the recorded diff, else of its input."""
    # Patches are read by file in _tool_patches.
    if tool not in ("edit", "write", "multiedit"):
        return ()
    if diff := text_at(metadata, "diff"):
        return added_lines(diff)
    if (content := text_at(asked, "content")) is not None:
        return text_lines(content)
    edits = [asked, *objects_at(asked, "edits")]
    return tuple(line for edit in edits for line in new_lines(text_at(edit, "oldString"), text_at(edit, "newString")))


def _tool_patches(tool: str, state: Record) -> tuple[FilePatch, ...]:
    asked = text_at(state, "input", "patchText")
    return parse_patch(asked) if tool in ("patch", "apply_patch") and asked else ()


def _tool_outcome(tool: str, outcome: Outcome, state: Record) -> tuple[Outcome, str | None]:
    """A shell command that failed still completed, and so did a call of a tool that does not exist."""
    output = text_at(state, "output")
    if outcome == "error":
        return "error", text_at(state, "error") or output
    code = number_at(state, "metadata", "exit")
    if tool == "invalid" or (code is not None and code != 0):
        return "error", output or text_at(state, "metadata", "output")
    return "ok", None
