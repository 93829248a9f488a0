"""What the bubbles of one Cursor composer say, as turns and tool calls."""

from __future__ import annotations

from datetime import datetime

from rekal.agents.cursor.ide import Composer
from rekal.agents.cursor.text import split_typed, strip_answer, uri_path
from rekal.agents.formats.json_fields import (
    first_text,
    load_object,
    number_at,
    object_at,
    objects_at,
    text_at,
)
from rekal.agents.formats.jsonl import Record
from rekal.agents.formats.timestamps import parse_time
from rekal.agents.formats.tool_calls import describe_call, is_shell
from rekal.agents.formats.transcript_builder import TranscriptBuilder
from rekal.model import RawCall, RawTurn, Transcript

_HUMAN, _ASSISTANT = 1, 2
_PENDING = frozenset({"started", "loading", "pending", "running"})
# The name of a choice and not of a model.
_PLACEHOLDER = "default"


class Telling:
    """One composer being told; ``drift`` counts the bubble types and tool states this version does not know."""

    def __init__(self, composer: Composer, parent: str | None = None) -> None:
        self.composer = composer
        self.parent = parent
        self.drift: dict[str, int] = {}
        self._draft = TranscriptBuilder()
        self._calls = 0
        self._cwds = dict.fromkeys([composer.folder] if composer.folder else [])

    def transcript(self) -> Transcript:
        """The composer's whole conversation; the text that is being written right now waits."""
        head = self.composer.head
        bubbles = self.composer.bubbles
        live = text_at(head, "status") == "generating"
        for place, bubble in enumerate(bubbles, 1):
            self._bubble(bubble, growing=live and place == len(bubbles))
        return Transcript(
            agent="cursor",
            native_id=self.composer.id,
            turns=tuple(self._draft.turns),
            calls=tuple(self._draft.calls),
            cwds=tuple(self._cwds),
            actor="agent" if self.parent else "human",
            parent_native_id=self.parent,
            spawn_depth=1 if self.parent else None,
            model=self._model(),
            title=text_at(head, "name"),
            started_at=parse_time(number_at(head, "createdAt")) or self._first_time(),
        )

    def _model(self) -> str | None:
        named = [text_at(self.composer.head, "modelConfig", "modelName")]
        named += [text_at(bubble, "modelInfo", "modelName") for bubble in self.composer.bubbles]
        return next((name for name in named if name and name != _PLACEHOLDER), None)

    def _first_time(self) -> datetime | None:
        return next((at for bubble in self.composer.bubbles if (at := _when(bubble))), None)

    def _odd(self, what: str) -> None:
        self.drift[what] = self.drift.get(what, 0) + 1

    def _bubble(self, bubble: Record, *, growing: bool) -> None:
        uris = bubble.get("workspaceUris")
        for place in [bubble.get("workspaceProjectDir"), *(uris if isinstance(uris, list) else [])]:
            if path := uri_path(place):
                self._cwds[path] = None
        kind, words, bubble_id = (
            number_at(bubble, "type"),
            text_at(bubble, "text"),
            text_at(bubble, "bubbleId"),
        )
        if kind == _HUMAN:
            typed = split_typed(words or "")
            said = typed.words
            if typed.odd or "text" not in bubble:
                self._odd(typed.odd or "bubble without text")
            if said:
                self._draft.say(RawTurn("human", said, bubble_id, bubble_id is not None, _when(bubble)))
        elif kind == _ASSISTANT:
            # The id of a bubble stays while its text grows: half of it, once stored, would never be completed.
            said = None if growing else strip_answer(words)
            if said:
                model = text_at(bubble, "modelInfo", "modelName")
                named = model if model != _PLACEHOLDER else None
                self._draft.say(RawTurn("assistant", said, bubble_id, bubble_id is not None, _when(bubble), named))
            if tool := object_at(bubble, "toolFormerData"):
                self._tool(bubble, tool)
        else:
            self._odd(f"bubble type {kind}")

    def _tool(self, bubble: Record, tool: Record) -> None:
        name = text_at(tool, "name") or f"tool {number_at(tool, 'tool')}"
        native_id = text_at(bubble, "bubbleId") or text_at(tool, "toolCallId")
        self._calls += 1
        key = native_id or f"call {self._calls}"
        # Raw arguments win: they are what the model sent, params what the editor made of it.
        given = (load_object(tool.get("params")) or {}) | (
            load_object(tool.get("rawArgs")) or object_at(tool, "rawArgs")
        )
        result = load_object(tool.get("result")) or object_at(tool, "result")
        call = RawCall(tool=name, native_id=native_id, shared=native_id is not None, occurred_at=_when(bubble))
        self._draft.ask(key, describe_call(call, given, _applied(result)))
        status = text_at(tool, "status")
        if status in _PENDING:
            return
        if status == "error":
            self._draft.answer(key, "error", _error(tool, result))
        elif status == "cancelled" or text_at(tool, "userDecision") == "rejected" or result.get("rejected") is True:
            self._draft.answer(key, None)
        elif status == "completed":
            code = next(
                (code for field in ("exitCode", "exitCodeV2") if (code := number_at(result, field)) is not None), 0
            )
            # A command that fails is a completed tool call to Cursor.
            failed = is_shell(name) and code != 0
            self._draft.answer(key, "error" if failed else "ok", text_at(result, "output"))
        else:
            self._odd(f"tool status {status}")
            self._draft.answer(key, None)


def _when(bubble: Record) -> datetime | None:
    """Old bubbles have no time; ``timingInfo`` mixes clocks and is of no use."""
    return parse_time(bubble.get("createdAt")) if isinstance(bubble.get("createdAt"), str) else None


def _applied(result: Record) -> tuple[str, ...]:
    """The lines of the diff that an editing tool reports: hunks without headers, their ``+`` lines."""
    hunks = [found for chunk in objects_at(result, "diff", "chunks") if (found := text_at(chunk, "diffString"))]
    return tuple(line[1:].removesuffix("\r") for hunk in hunks for line in hunk.split("\n") if line.startswith("+"))


def _error(tool: Record, result: Record) -> str | None:
    told = load_object(tool.get("error")) or object_at(tool, "error")
    spoken = first_text(told, "clientVisibleErrorMessage", "modelVisibleErrorMessage", "error", "message")
    return spoken or text_at(tool, "error") or first_text(result, "error", "output", "message")
