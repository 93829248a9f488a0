"""Chats of Cursor's command line: ``chats/<md5 of the directory>/<id>/store.db`` and ``acp-sessions/<id>/store.db``.

``meta`` holds one hex-encoded JSON object that names the root blob; the root is a protobuf message whose field 1
lists the digests of the messages in order and whose field 9 is the workspace. Messages are JSON. The metadata can hold
a key to the blobs, so no error ever shows it.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rekal.agents.contract import Source
from rekal.agents.cursor.text import split_typed, strip_answer, uri_path
from rekal.agents.formats.json_fields import (
    load_object,
    number_at,
    object_at,
    objects_at,
    text_at,
    value_at,
)
from rekal.agents.formats.jsonl import Record
from rekal.agents.formats.sqlite import Database, open_copy
from rekal.agents.formats.timestamps import parse_time
from rekal.agents.formats.tool_calls import describe_call, is_shell
from rekal.agents.formats.transcript_builder import TranscriptBuilder
from rekal.errors import SourceError
from rekal.model import RawCall, RawTurn, Transcript
from rekal.plain_text import lazy_pattern

TABLES = ("meta", "blobs")
# Field numbers, found by reading stores: the schema is not published.
_MESSAGES, _WORKSPACE = 1, 9
_ROLES = frozenset({"user", "assistant", "tool", "system"})
_EXIT_CODE = lazy_pattern(r"^Exit code: (\d+)", re.MULTILINE)


def is_chat(path: Path) -> bool:
    """True if a database is laid out as a chat. Raises SourceError when it cannot be read."""
    with open_copy(path, TABLES) as database:
        return bool(database.columns("blobs"))


def holds_messages(path: Path) -> bool:
    """True if the store has any blob. Raises SourceError when it cannot be read."""
    with open_copy(path, TABLES) as database:
        return bool(database.columns("blobs")) and database.first("SELECT 1 FROM blobs LIMIT 1") is not None


def read_cli_chat(source: Source) -> tuple[Transcript, dict[str, int]]:
    """Read one chat and count the message parts not known. Raises SourceError when no message can be read."""
    with open_copy(source.path, TABLES) as database:
        meta = _meta(database)
        root = text_at(meta, "latestRootBlobId") or ""
        workspace, messages = _in_order(database, root)
    chat = _Chat(workspace)
    seen: Counter[str] = Counter()
    for blob, message in messages:
        # Blobs are named by content: the same words said twice are one blob, told apart by their count.
        seen[blob] += 1
        # The first keeps the bare name, so that what was stored before the repetition is the same turn.
        chat.take(message, blob if seen[blob] == 1 else f"{blob}~{seen[blob]}")
    created = number_at(meta, "createdAt")
    transcript = Transcript(
        agent="cursor",
        native_id=text_at(meta, "agentId") or source.path.parent.name,
        turns=tuple(chat.draft.turns),
        calls=tuple(chat.draft.calls),
        cwds=tuple(chat.cwds),
        model=text_at(meta, "lastUsedModel"),
        title=text_at(meta, "name"),
        started_at=parse_time(created),
    )
    return transcript, chat.drift


def _meta(database: Database) -> Record:
    row = database.first("SELECT value FROM meta WHERE key = '0'")
    value = row[0] if row else None
    try:
        meta = load_object(bytes.fromhex(value)) if isinstance(value, str) else None
    except ValueError:
        meta = None
    if meta is None:
        raise SourceError(f"{database.path} has no readable description of its chat")
    return meta


def _in_order(database: Database, root: str) -> tuple[str | None, list[tuple[str, Record]]]:
    """The workspace and the messages by blob id; in the order of their rows when the root cannot be followed."""
    row = database.first("SELECT data FROM blobs WHERE id = ?", (root,))
    fields = list(_fields(row[0])) if row and isinstance(row[0], bytes) else []
    # A digest has 32 bytes; the field holds nothing else in the stores seen so far.
    digests = [value.hex() for number_, value in fields if number_ == _MESSAGES and len(value) == 32]
    workspace = next((value.decode("utf-8", "replace") for number_, value in fields if number_ == _WORKSPACE), None)
    if digests:
        query = "SELECT data FROM blobs WHERE id = ?"
        found = [(digest, database.first(query, (digest,))) for digest in digests]
        blobs = [(digest, row[0] if row else None) for digest, row in found]
    else:
        blobs = [(str(name), data) for name, data in database.rows("SELECT id, data FROM blobs ORDER BY rowid")]
    read = [(name, load_object(data)) for name, data in blobs]
    messages = [(name, message) for name, message in read if message and text_at(message, "role") in _ROLES]
    # Some stores hold encrypted blobs, and the key is no business of ours.
    if blobs and not messages:
        raise SourceError(f"{database.path} holds no message that can be read; it may be encrypted")
    return uri_path(workspace), messages


def _fields(data: bytes) -> Iterator[tuple[int, bytes]]:
    """The length-delimited fields of a protobuf message, up to the first thing that is none."""
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        if tag & 7 == 2:
            size, at = _varint(data, at)
            if at + size > len(data):
                return
            yield tag >> 3, data[at : at + size]
            at += size
        elif tag & 7 == 0:
            _, at = _varint(data, at)
        else:
            # Fixed widths of protobuf; an unknown wire type ends the reading, since its length is unknown.
            at += {1: 8, 5: 4}.get(tag & 7, len(data))


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    # A varint has at most ten bytes: a longer run of high bits is no number.
    while at < len(data) and shift < 64:
        value |= (data[at] & 0x7F) << shift
        at += 1
        if data[at - 1] < 0x80:
            break
        shift += 7
    return value, at


def _odd_part(part: Record) -> str | None:
    """Name a part of a message that is not known, or that lacks what its kind has."""
    kind = text_at(part, "type")
    if kind == "text":
        return None if isinstance(part.get("text"), str) else "text without words"
    return None if kind in ("image", "file") else f"part {kind}"


class _Chat:
    """The messages of one chat being told."""

    def __init__(self, workspace: str | None) -> None:
        self.draft = TranscriptBuilder()
        self.drift: dict[str, int] = {}
        self.cwds = dict.fromkeys([workspace] if workspace else [])

    def take(self, message: Record, native_id: str) -> None:
        role, content = text_at(message, "role"), message.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) else objects_at(message, "content")
        if "content" not in message:
            self._odd(f"{role} without content")
        if role == "user":
            texts = [words for part in parts if text_at(part, "type") == "text" and (words := text_at(part, "text"))]
            said = split_typed("\n".join(texts))
            for odd in [said.odd, *(_odd_part(part) for part in parts)]:
                if odd:
                    self._odd(odd)
            if said.cwd:
                self.cwds[said.cwd] = None
            if said.words:
                self.draft.say(RawTurn("human", said.words, native_id, occurred_at=said.at))
        elif role == "assistant":
            self._assistant(message, parts, native_id)
        elif role == "tool":
            for part in parts:
                self._result(part)

    def _odd(self, what: str) -> None:
        self.drift[what] = self.drift.get(what, 0) + 1

    def _assistant(self, message: Record, parts: list[Record], native_id: str) -> None:
        model = text_at(message, "providerOptions", "cursor", "modelName")
        for place, part in enumerate(parts):
            kind = text_at(part, "type")
            own = f"{native_id}.{place}"
            if kind == "text" and (said := strip_answer(text_at(part, "text"))):
                self.draft.say(RawTurn("assistant", said, own, model=model))
            elif kind == "tool-call":
                call = RawCall(tool=text_at(part, "toolName") or "unknown", native_id=own)
                given = object_at(part, "args") or object_at(part, "input")
                self.draft.ask(text_at(part, "toolCallId") or own, describe_call(call, given))
            elif kind not in ("reasoning", "redacted-reasoning") and (odd := _odd_part(part)):
                self._odd(odd)

    def _result(self, part: Record) -> None:
        key = text_at(part, "toolCallId")
        if key is None:
            return
        said = text_at(part, "result") or text_at(part, "output", "value")
        high = value_at(part, "providerOptions", "cursor", "highLevelToolCallResult", "isError")
        code = _EXIT_CODE.search(said or "") if is_shell(text_at(part, "toolName") or "") else None
        failed = part.get("isError") is True or high is True or (code is not None and int(code[1]) != 0)
        self.draft.answer(key, "error" if failed else "ok", said)
