"""Kiro's two append-only logs: the command line's flat sessions, and the sessions that IDE and CLI share since 1.0."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from msgspec.structs import replace

from rekal.agents.contract import Parsed, Resume, Source
from rekal.agents.formats.json_fields import (
    load_object,
    object_at,
    objects_at,
    read_object,
    text_at,
    value_at,
)
from rekal.agents.formats.jsonl import LineReader, Record, clean_text, hash_prefix
from rekal.agents.formats.timestamps import parse_time
from rekal.agents.formats.tool_calls import describe_call
from rekal.agents.formats.transcript_builder import TranscriptBuilder
from rekal.agents.kiro.text import find_odd_prompt, model_name, result_failed, result_words, strip_wrapper, title_name
from rekal.errors import SourceError
from rekal.model import Outcome, RawCall, RawTurn, Role, Transcript
from rekal.plain_text import lazy_pattern

_UUID = lazy_pattern(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_PROMPTS = frozenset({"Prompt", "UserMessage"})
_ANSWERS = frozenset({"AssistantMessage", "Response"})
# Known and without words; any other kind is counted, so that a new version is noticed.
_QUIET_KINDS = frozenset({"Clear", "ResetTo", "thinking", "image", "text"})
_QUIET_TYPES = frozenset({
    "turn_start", "turn_end", "pending_interaction", "interaction_resolved", "session_start", "session_metadata",
    "session_event", "usage_summary", "steering_inclusion", "tombstone", "sub_agent_start", "sub_agent_complete",
})  # fmt: skip
_SOURCES = frozenset({None, "steer", "user"})
_INTERRUPTED = lazy_pattern(r"(?:tool (?:call|execution|use) )?(?:was )?(?:interrupted|cancell?ed)\b", re.IGNORECASE)

Take = Callable[["Log", Record], None]


class Log:
    """One log being read. ``offsets`` say where the record of each turn begins."""

    def __init__(self) -> None:
        self.draft = TranscriptBuilder()
        self.drift: dict[str, int] = {}
        self.offsets: list[int] = []
        self.offset = 0

    def odd(self, what: str) -> None:
        self.drift[what] = self.drift.get(what, 0) + 1

    def say(self, role: Role, words: str | None, native_id: str | None, when: object) -> None:
        """Add a turn unless it says nothing. Records without an id are known by where they begin."""
        if words is None or not words.strip():
            return
        own = native_id or f"@{self.offset}"
        self.draft.say(RawTurn(role, clean_text(words), own, _UUID.search(own) is not None, parse_time(when)))
        self.offsets.append(self.offset)

    def ask(self, key: str, tool: str | None, given: Record, when: object) -> None:
        """Add a call; one asked again under the same key replaces the former, which was a draft of it."""
        # Kiro writes a call while its arguments still arrive, and again when they are complete.
        self.draft.withdraw(key)
        shared = _UUID.search(key) is not None
        call = RawCall(tool or "unknown", native_id=key, shared=shared, occurred_at=parse_time(when))
        self.draft.ask(key, describe_call(call, given))


def read_kiro_log(source: Source, resume: Resume | None, head: Transcript, take: Take) -> Parsed:
    """Read a log with ``take`` into ``head``. Raises SourceError when no record of it can be read."""
    reader, log, records = LineReader(source.path, resume), Log(), 0
    for offset, record in reader:
        log.offset, records = offset, records + 1
        take(log, record)
    if not records and not reader.start and reader.skipped_bytes:
        raise SourceError(f"no record can be read in {source.path}")
    # From the turn whose call still waits: its answer comes in a later record.
    needed = log.draft.first_needed
    offset = log.offsets[needed] if needed >= 0 else reader.start if log.draft.waiting else reader.offset
    turns = log.draft.turns
    started = head.started_at or next((turn.occurred_at for turn in turns if turn.occurred_at), None)
    return Parsed(
        transcripts=(replace(head, turns=tuple(turns), calls=tuple(log.draft.calls), started_at=started),),
        offset=offset,
        prefix_hash=hash_prefix(source.path, offset, reader.offset),
        skipped_bytes=reader.skipped_bytes,
        drift=log.drift,
        restarted=reader.restarted,
    )


# -- sessions/cli/<id>.jsonl -----------------------------------------------------------------------------------


def flat_description(path: Path) -> Record:
    """The ``.json`` beside a flat log; empty while there is none that can be read."""
    try:
        return read_object(path.with_suffix(".json"))
    except SourceError:
        return {}


def read_flat(source: Source, resume: Resume | None) -> Parsed:
    """Read a session of the command line."""
    meta = flat_description(source.path)
    cwd = text_at(meta, "cwd")
    child = text_at(meta, "session_created_reason") == "subagent"
    head = Transcript(
        agent="kiro",
        native_id=text_at(meta, "session_id") or source.path.stem,
        cwds=(cwd,) if cwd else (),
        actor="agent" if child else "human",
        parent_native_id=text_at(meta, "parent_session_id") if child else None,
        agent_type=text_at(meta, "session_state", "agent_name") if child else None,
        model=model_name(text_at(meta, "session_state", "rts_model_state", "model_info", "model_id")),
        title=title_name(text_at(meta, "title")),
        started_at=parse_time(text_at(meta, "created_at")),
    )
    return read_kiro_log(source, resume, head, _take_flat)


def _take_flat(log: Log, record: Record) -> None:
    kind, data = text_at(record, "kind"), object_at(record, "data")
    native_id, when = text_at(data, "message_id"), value_at(data, "meta", "timestamp")
    content = objects_at(data, "content")
    words = "\n".join(said for part in content if text_at(part, "kind") == "text" and (said := text_at(part, "data")))
    if kind in (*_PROMPTS, *_ANSWERS) and not any("data" in part for part in content) and content != []:
        log.odd(f"{kind} without words")
    elif kind in (*_PROMPTS, *_ANSWERS) and not isinstance(data.get("content"), list):
        log.odd(f"{kind} without content")
    if kind in _PROMPTS:
        if odd := find_odd_prompt(words):
            log.odd(odd)
        log.say("human", strip_wrapper(words), native_id, when)
    elif kind in _ANSWERS:
        log.say("assistant", words, native_id, when)
        for place, part in enumerate(content):
            if text_at(part, "kind") == "toolUse":
                use = object_at(part, "data")
                key = text_at(use, "toolUseId") or f"{native_id or f'@{log.offset}'}:{place}"
                log.ask(key, text_at(use, "name"), object_at(use, "input"), when)
            elif text_at(part, "kind") not in _QUIET_KINDS:
                log.odd(f"content {text_at(part, 'kind')}")
    elif kind == "ToolResults":
        for part in content:
            if text_at(part, "kind") == "toolResult":
                _answer_flat(log, object_at(part, "data"))
    elif kind == "Compaction":
        log.say("summary", words or text_at(data, "summary"), native_id, when)
    elif kind not in _QUIET_KINDS:
        log.odd(f"kind {kind}")


def _answer_flat(log: Log, result: Record) -> None:
    said = [part.get("data") for part in objects_at(result, "content")]
    failed = result_failed(text_at(result, "status"), said)
    log.draft.answer(text_at(result, "toolUseId") or "", "error" if failed else "ok", result_words(said))


# -- sessions/<bucket>/sess_<id>/messages.jsonl ----------------------------------------------------------------


def shared_description(path: Path) -> Record:
    """The ``session.json`` beside a log; empty where there is none that can be read."""
    try:
        return read_object(path.with_name("session.json"))
    except SourceError:
        return {}


def workspace_paths(meta: Record) -> tuple[str, ...]:
    """The directories that a session of IDE or CLI 3 was opened with."""
    found: list[object] = []
    for name in ("workspacePaths", "rootPaths"):
        listed = meta.get(name)
        found += listed if isinstance(listed, list) else []
    return tuple(dict.fromkeys(path for path in found if isinstance(path, str) and path.strip()))


def read_shared(source: Source, resume: Resume | None, known: str | None) -> Parsed:
    """Read a session of IDE or CLI 3. ``known`` is its directory where only its bucket tells."""
    meta = shared_description(source.path)
    parent = text_at(meta, "parentSessionId")
    tangent = text_at(meta, "createdReason") == "tangent"
    # A tangent is a person's own side branch: it has an origin and no parent.
    child = parent if not tangent else None
    head = Transcript(
        agent="kiro",
        native_id=text_at(meta, "id") or source.path.parent.name,
        cwds=workspace_paths(meta) or ((known,) if known else ()),
        actor="agent" if child else "human",
        parent_native_id=child,
        forked_from=parent if tangent else None,
        spawn_depth=1 if child else None,
        model=model_name(text_at(meta, "modelId")),
        title=title_name(text_at(meta, "title")),
        started_at=parse_time(text_at(meta, "createdAt")),
    )
    return read_kiro_log(source, resume, head, _take_shared)


def _take_shared(log: Log, record: Record) -> None:
    payload, native_id, when = object_at(record, "payload"), text_at(record, "id"), record.get("timestamp")
    kind = text_at(payload, "type")
    if kind == "user":
        _prompt_shared(log, payload, native_id, when)
    elif kind == "assistant":
        _answer_shared(log, payload, native_id, when)
    elif kind == "tool_call":
        given = object_at(payload, "args") or load_object(payload.get("args")) or {}
        log.ask(
            text_at(payload, "toolCallId") or native_id or f"@{log.offset}",
            text_at(payload, "toolName"),
            given,
            when,
        )
    elif kind == "tool_result":
        said = _content(payload)
        # Kiro writes such a result for a call it never finished.
        stopped = payload.get("success") is not True and said is not None and _INTERRUPTED.match(said.strip())
        failed = payload.get("success") is False
        outcome: Outcome | None = None if stopped else "error" if failed else "ok"
        log.draft.answer(text_at(payload, "toolCallId") or "", outcome, said)
    elif kind not in _QUIET_TYPES:
        log.odd(f"type {kind}")


def _prompt_shared(log: Log, payload: Record, native_id: str | None, when: object) -> None:
    source, said = text_at(payload, "source"), _content(payload)
    if source not in _SOURCES:
        log.odd(f"user from {source}")
        return
    if said is None and payload.get("content") != "":
        log.odd("user without content")
    if odd := find_odd_prompt(said or ""):
        log.odd(odd)
    log.say("steering" if source == "steer" else "human", strip_wrapper(said or ""), native_id, when)


def _answer_shared(log: Log, payload: Record, native_id: str | None, when: object) -> None:
    said, operation = _content(payload), text_at(payload, "operationType")
    if "content" not in payload:
        log.odd("assistant without content")
    if said is None or said.strip() == "..." or operation == "Reasoning":
        return
    if operation not in (None, "Say", "Print", "Summary"):
        log.odd(f"operation {operation}")
    log.say("summary" if operation == "Summary" else "assistant", said, native_id, when)


def _content(payload: Record) -> str | None:
    """Text of a content that may be a string, ``{text}`` or blocks."""
    content = payload.get("content")
    if isinstance(content, dict):
        return text_at(content, "text")
    if isinstance(content, list):
        return "\n".join(said for block in objects_at(content) if (said := text_at(block, "text"))) or None
    return text_at(payload, "content")
