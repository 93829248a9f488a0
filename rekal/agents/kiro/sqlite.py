"""The database of ``kiro-cli`` and of Amazon Q before it: one JSON value a conversation.

``conversations_v2`` has a row for each directory and conversation, ``conversations`` one for each directory. The same
file holds credentials in other tables, which are never opened.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from rekal.agents.formats.json_fields import (
    load_object,
    number_at,
    object_at,
    objects_at,
    text_at,
    value_at,
)
from rekal.agents.formats.jsonl import Record, clean_text
from rekal.agents.formats.sqlite import Database, Value, open_copy
from rekal.agents.formats.timestamps import parse_time
from rekal.agents.formats.tool_calls import describe_call
from rekal.agents.formats.transcript_builder import TranscriptBuilder
from rekal.agents.kiro.text import find_odd_prompt, model_name, result_failed, result_words, strip_wrapper
from rekal.errors import SourceError
from rekal.model import Outcome, RawCall, RawTurn, Transcript

TABLES = ("conversations_v2", "conversations")
_TYPED = ("Prompt", "CancelledToolUses")  # a prompt may end the calls that were waiting
FIRST = "directory:"
"""Begins the name of a conversation that is known by its directory only."""


class ListedConversation(msgspec.Struct, frozen=True):
    """One conversation: its name within the database, and its revision."""

    name: str
    size: int
    updated: int


def list_conversations(path: Path, wanted: Callable[[str], bool]) -> Iterator[ListedConversation]:
    """Yield the conversations filed under a directory that is ``wanted``, without reading the others.

    Raises SourceError when the database cannot be read.
    """
    with open_copy(path, TABLES) as database:
        if database.columns("conversations_v2"):
            keys: dict[str, list[str]] = {}
            for name, key in database.rows("SELECT conversation_id, key FROM conversations_v2 ORDER BY 1, 2"):
                if isinstance(name, str) and isinstance(key, str):
                    keys.setdefault(name, []).append(key)
            for name, directories in keys.items():
                # A conversation that went on in another directory has a row for each.
                if any(wanted(directory) for directory in directories):
                    yield _revision(database, name)
        if database.columns("conversations"):
            for (key,) in list(database.rows("SELECT key FROM conversations ORDER BY key")):
                if isinstance(key, str) and wanted(key):
                    yield _revision(database, f"{FIRST}{key}")


def _revision(database: Database, name: str) -> ListedConversation:
    """Size and time of the newest row; where no time is kept, the content stands for one."""
    row = _newest_row(database, name)
    value = row[1] if row else None
    whole = value if isinstance(value, bytes) else str(value).encode()
    moment = row[2] if row and isinstance(row[2], int) else None
    updated = zlib.crc32(whole) if moment is None else min(max(moment, 0), 1 << 43) * 1_000_000
    return ListedConversation(name, len(whole), updated)


def read_conversation(path: Path, name: str) -> tuple[Transcript, dict[str, int]]:
    """Read one conversation, the newest row where it has several. Raises SourceError when it cannot be read."""
    with open_copy(path, TABLES) as database:
        row = _newest_row(database, name)
    value = load_object(row[1]) if row else None
    if row is None or value is None:
        raise SourceError(f"{path} holds no readable conversation {name}")
    native_id = text_at(value, "conversation_id") or name
    return tell_conversation(value, native_id, str(row[0]))


def _newest_row(database: Database, name: str) -> tuple[Value, ...] | None:
    """Directory, value and time of a conversation's newest row."""
    if name.startswith(FIRST):
        query = "SELECT key, value, NULL FROM conversations WHERE key = ?"
        return database.first(query, (name.removeprefix(FIRST),))
    query = (
        "SELECT key, value, updated_at FROM conversations_v2 WHERE conversation_id = ? "
        "ORDER BY updated_at DESC, created_at DESC, key LIMIT 1"
    )
    return database.first(query, (name,))


def tell_conversation(value: Record, native_id: str, directory: str | None) -> tuple[Transcript, dict[str, int]]:
    """A conversation's value as a transcript, and the kinds of content this version does not know."""
    told = _ConversationDraft()
    told.summary(value.get("latest_summary"))
    history = value.get("history")
    if not isinstance(history, list):
        told.odd("conversation without history")
    items = history if isinstance(history, list) else []
    cwds = dict.fromkeys([directory] if directory else [])
    for item in items:
        user, assistant, meta = _pair(item)
        if not user and not assistant:
            told.odd("entry of an unknown shape")
        if cwd := text_at(user, "env_context", "env_state", "current_working_directory"):
            cwds[cwd] = None
        told.model = told.model or model_name(text_at(meta, "model_id"))
        told.user(user, assistant)
        told.assistant(assistant, meta)
    turns = told.draft.turns
    transcript = Transcript(
        agent="kiro",
        native_id=native_id,
        turns=tuple(turns),
        calls=tuple(told.draft.calls),
        cwds=tuple(cwds),
        model=told.model or model_name(text_at(value, "model_info", "model_id")),
        started_at=next((turn.occurred_at for turn in turns if turn.occurred_at), None),
    )
    return transcript, told.drift


def _pair(item: object) -> tuple[Record, Record, Record]:
    """User, assistant and metadata of a history item; Amazon Q wrote a list of the first two."""
    if isinstance(item, list) and len(item) >= 2:
        return object_at(item[0]), object_at(item[1]), {}
    return object_at(item, "user"), object_at(item, "assistant"), object_at(item, "request_metadata")


def _variant(value: Record) -> tuple[str, Record]:
    """Name and content of a tagged value such as ``{"Prompt": {…}}``."""
    for name, content in value.items():
        if isinstance(content, dict):
            return name, content
    return "", {}


class _ConversationDraft:
    """The history of one conversation being told."""

    def __init__(self) -> None:
        self.draft = TranscriptBuilder()
        self.drift: dict[str, int] = {}
        self.model: str | None = None

    def odd(self, what: str) -> None:
        self.drift[what] = self.drift.get(what, 0) + 1

    def summary(self, latest: object) -> None:
        """The text that stands for the history that was compacted away."""
        found = latest[0] if isinstance(latest, list) and latest else latest
        words = found if isinstance(found, str) else text_at(found, "content") or text_at(found, "summary")
        if words and words.strip():
            self.draft.say(RawTurn("summary", clean_text(words)))

    def user(self, user: Record, assistant: Record) -> None:
        kind, content = _variant(object_at(user, "content"))
        for result in objects_at(content, "tool_use_results"):
            said = [part.get("Text", part.get("Json")) for part in objects_at(result, "content")]
            failed = result_failed(text_at(result, "status"), said)
            outcome: Outcome | None = None if kind == "CancelledToolUses" else "error" if failed else "ok"
            self.draft.answer(text_at(result, "tool_use_id") or "", outcome, result_words(said))
        raw = text_at(content, "prompt") or ""
        if kind == "Prompt" and "prompt" not in content:
            self.odd("Prompt without prompt")
        if odd := find_odd_prompt(raw):
            self.odd(odd)
        if kind in _TYPED and (words := strip_wrapper(raw)):
            # A prompt has no id; the answer it got has one.
            answer = text_at(_variant(assistant)[1], "message_id")
            native_id = f"{answer}:prompt" if answer else None
            self.draft.say(RawTurn("human", words, native_id, occurred_at=parse_time(user.get("timestamp"))))
        if kind not in (*_TYPED, "ToolUseResults"):
            self.odd(f"content {kind}")

    def assistant(self, assistant: Record, meta: Record) -> None:
        kind, content = _variant(assistant)
        when = parse_time(number_at(meta, "stream_end_timestamp_ms"))
        message_id, model = text_at(content, "message_id"), model_name(text_at(meta, "model_id"))
        if words := text_at(content, "content"):
            self.draft.say(RawTurn("assistant", clean_text(words), message_id, occurred_at=when, model=model))
        for use in objects_at(content, "tool_uses"):
            key = text_at(use, "id")
            if key is None:
                self.odd("tool use without id")
                continue
            call = RawCall(text_at(use, "name") or "unknown", native_id=key, occurred_at=when)
            given = object_at(use, "args") or load_object(value_at(use, "args")) or {}
            self.draft.ask(key, describe_call(call, given))
        if kind not in ("", "ToolUse", "Response"):
            self.odd(f"answer {kind}")
