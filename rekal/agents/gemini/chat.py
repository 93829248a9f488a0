"""A Gemini CLI session: its messages, replayed from the log, and the transcript they make."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from msgspec.structs import replace

from rekal.agents.formats.edit_arguments import read_tool
from rekal.agents.formats.json_fields import object_at, objects_at, text_at, value_at
from rekal.agents.formats.jsonl import Record
from rekal.agents.formats.patches import added_lines
from rekal.agents.formats.person_words import find_wrapper, name_wrapper
from rekal.agents.formats.timestamps import parse_time
from rekal.agents.formats.transcript_builder import TranscriptBuilder
from rekal.model import Outcome, RawCall, RawTurn, Transcript
from rekal.plain_text import lazy_pattern

_REFERENCED = "--- Content from referenced files ---"
# Blocks that the program itself puts before a prompt.
_NOISE = ("<session_context>", "<untrusted_context>", "<hook_context>")
_COMMAND = lazy_pattern(r"/[a-z?][\w-]*(?:\s|$)")
_EXIT = lazy_pattern(r"^Exit Code: (-?\d+)\s*$", re.MULTILINE)
_ANSWERED: dict[str, Outcome | None] = {"success": "ok", "error": "error", "cancelled": None}
_PARTS = {"text", "functionCall", "functionResponse", "inlineData", "fileData", "thought", "executableCode"}
_SILENT = {"info", "error", "warning"}


class Chat:
    """A session's description and its messages, in order of their first appearance."""

    def __init__(self) -> None:
        self.meta: Record = {}
        self.messages: dict[str, Record] = {}
        self.drift: Counter[str] = Counter()

    def load(self, document: Record) -> None:
        """Take a description, and the messages it may hold in place of all before."""
        if isinstance(document.get("messages"), list):
            self.messages.clear()
        for message in objects_at(document, "messages"):
            self._put(message)
        self.meta = {**self.meta, **{key: value for key, value in document.items() if key != "messages"}}

    def replay(self, records: Iterable[Record]) -> None:
        """Take a log. A message written again replaces itself; ``$set`` and ``$rewindTo`` change the past."""
        for record in records:
            if isinstance(changes := record.get("$set"), dict):
                self.load(changes)
            elif "$rewindTo" in record:
                self._rewind(text_at(record, "$rewindTo"))
            elif "type" in record:
                self._put(record)
            elif text_at(record, "sessionId") is not None:
                self.load(record)
            else:
                self.drift["record"] += 1

    def _put(self, message: Record) -> None:
        # A dict keeps the place of the first writing when a message is written again, which is what the program shows.
        self.messages[text_at(message, "id") or f"#{len(self.messages)}"] = message

    def _rewind(self, target: str | None) -> None:
        """Drop ``target`` and what follows; a target that is not there drops everything, as the program does."""
        ids = list(self.messages)
        for gone in ids[ids.index(target) if target in self.messages else 0 :]:
            del self.messages[gone]

    def transcript(self, agent: str, native_id: str, parent: str | None, cwds: tuple[str, ...]) -> Transcript:
        """The transcript of the messages; ``native_id`` counts where the session names none of its own."""
        telling = _Telling(cwds[0] if cwds else None)
        for key, message in self.messages.items():
            if not telling.tell(key, message):
                self.drift[str(message.get("type"))[:60]] += 1
        self.drift += telling.drift
        own = text_at(self.meta, "sessionId")
        directories = self.meta.get("directories")
        more = [folder for folder in directories if isinstance(folder, str)] if isinstance(directories, list) else []
        return Transcript(
            agent=agent,
            # A sub-agent's chat repeats its parent's session id; its file's name tells them apart.
            native_id=own if own is not None and own != parent else native_id,
            turns=tuple(telling.draft.turns),
            calls=tuple(telling.draft.calls),
            cwds=tuple(dict.fromkeys((*cwds, *more))),
            actor="human" if parent is None else "agent",
            parent_native_id=parent,
            model=telling.model,
            title=text_at(self.meta, "summary") or telling.topic,
            started_at=parse_time(self.meta.get("startTime")),
        )


class _Telling:
    """Turns messages into turns and calls."""

    def __init__(self, cwd: str | None) -> None:
        self.draft = TranscriptBuilder()
        self.model: str | None = None
        self.topic: str | None = None
        self.drift: Counter[str] = Counter()
        self._cwd = cwd
        self._keys: dict[str, str] = {}

    def tell(self, key: str, message: Record) -> bool:
        """Take one message; False when its type is not known."""
        kind = text_at(message, "type")
        if kind not in _SILENT and not (message.get("toolCalls") or _has_words(message.get("content"))):
            self.drift[f"{kind} without content"[:60]] += 1
        if kind == "user":
            self._hear(key, message)
        elif kind in ("gemini", "model"):
            self._say(key, message)
        else:
            return kind in _SILENT
        return True

    def _hear(self, key: str, message: Record) -> None:
        for part in objects_at(message, "content"):
            if (response := object_at(part, "functionResponse")) and (call := text_at(response, "id")) is not None:
                self._answer(self._keys.get(call, call), None, [part])
        typed = _typed(message)
        if typed is not None and find_wrapper(typed):
            self.drift[name_wrapper(typed)] += 1
        elif typed is not None:
            when = parse_time(message.get("timestamp"))
            self.draft.say(RawTurn("human", typed, native_id=key, occurred_at=when))

    def _say(self, key: str, message: Record) -> None:
        self.model = text_at(message, "model") or self.model
        when = parse_time(message.get("timestamp"))
        if content := _join_text(message.get("content")).strip():
            turn = RawTurn("assistant", content, native_id=key, occurred_at=when, model=text_at(message, "model"))
            self.draft.say(turn)
        for made in objects_at(message, "toolCalls"):
            name, call_id = text_at(made, "name"), text_at(made, "id")
            if name is None or call_id is None:
                continue
            if name == "update_topic":
                self.topic = text_at(made, "args", "title") or self.topic
            self._call(f"{key}/{call_id}", name, made, message)
            # Call ids repeat from message to message.
            self._keys[call_id] = f"{key}/{call_id}"

    def _call(self, key: str, name: str, made: Record, message: Record) -> None:
        when = parse_time(made.get("timestamp") or message.get("timestamp"))
        call = RawCall(name, native_id=key, occurred_at=when)
        calls = read_tool(call, made.get("args"), self._cwd)
        diff = text_at(made, "resultDisplay", "fileDiff")
        if diff is not None and len(calls) == 1 and calls[0].path is not None:
            # The diff shows what the file got; the arguments of a replacement may have matched in another place.
            calls = [replace(calls[0], wrote=added_lines(diff))]
        if made.get("status") == "cancelled":
            # A person refused the edit: nothing was written.
            calls = [replace(one, wrote=()) for one in calls]
        self.draft.ask(key, calls)
        status, result = made.get("status"), objects_at(made, "result")
        if (isinstance(status, str) and status in _ANSWERED) or result:
            self._answer(key, status, result)

    def _answer(self, key: str, status: object, result: list[Record]) -> None:
        responses = [object_at(part, "functionResponse", "response") for part in result]
        failure = next((found for one in responses if (found := text_at(one, "error")) is not None), None)
        output = next((found for one in responses if (found := text_at(one, "output")) is not None), None)
        outcome = _ANSWERED.get(status, "ok") if isinstance(status, str) else "ok"
        exited = _EXIT.search(output or "")
        if outcome == "ok" and (failure is not None or (exited is not None and exited[1] != "0")):
            outcome = "error"
        self.draft.answer(key, outcome, failure or output)


def _typed(message: Record) -> str | None:
    """The person's words: not the files a prompt pulled in, not commands to the program itself."""
    shown = _join_text(message.get("displayContent")).strip()
    typed = shown or _join_text(message.get("content"), stop=_REFERENCED).strip()
    if not typed or typed.startswith(_NOISE) or _COMMAND.match(typed):
        return None
    return typed


def _has_words(content: object) -> bool:
    """True unless a content has a shape that is not known: text, or parts of which one at least is a known kind."""
    parts = content if isinstance(content, list) else [content]
    return not parts or any(isinstance(part, str) or _PARTS & object_at(part).keys() for part in parts)


def _join_text(content: object, stop: str | None = None) -> str:
    """The text of a string, a part or a list of parts, up to the part that begins with ``stop``."""
    if isinstance(content, str):
        # Files that a prompt pulled in follow its words, in the same text.
        return content if stop is None else content.partition("\n" + stop)[0]
    words = []
    for part in content if isinstance(content, list) else [content]:
        found = part if isinstance(part, str) else value_at(part, "text")
        if not isinstance(found, str):
            continue
        if stop is not None and found.lstrip().startswith(stop):
            break
        words.append(found)
    return "\n".join(words)
