"""Cursor's agent transcripts: ``agent-transcripts/<id>.jsonl``, ``<id>/<id>.jsonl``, sub-agents, and the old ``.txt``.

They hold words and tool calls but neither results nor times, so a call counts as made when the agent went on after
it. Records have no ids: the byte where one begins names it.
"""

from __future__ import annotations

import re
from datetime import datetime
from pathlib import Path

from rekal.agents.contract import Parsed, Resume, Source, refuse_source
from rekal.agents.cursor.text import split_typed, strip_answer
from rekal.agents.formats.json_fields import object_at, objects_at, text_at, value_at
from rekal.agents.formats.jsonl import LineReader, Record, clean_text, hash_prefix
from rekal.agents.formats.timestamps import parse_time
from rekal.agents.formats.tool_calls import describe_call
from rekal.agents.formats.transcript_builder import TranscriptBuilder
from rekal.errors import SourceError
from rekal.model import RawCall, RawTurn, Transcript
from rekal.plain_text import lazy_pattern

FOLDER = "agent-transcripts"
_CALLS = frozenset({"tool_use", "tool_call", "tool-call"})
_RESULTS = frozenset({"tool_result", "tool-result"})
_QUIET = frozenset({"thinking", "redacted_thinking", "reasoning", "image"})
_CONTROL = frozenset({"turn_ended", "status", "error", "turn_started"})
_BLOCK = lazy_pattern(r"^(user|assistant):[ \t]*$", re.MULTILINE)
_MARK = lazy_pattern(r"^\[(Thinking|Tool call|Tool result)\][ \t]*(.*)$")
_ARGUMENT = lazy_pattern(r"^\s+(\w+): (.*)$")


class _TranscriptDraft:
    """A transcript being read; ``anchor`` is where the next reading must begin."""

    def __init__(self) -> None:
        self.draft = TranscriptBuilder()
        self.drift: dict[str, int] = {}
        self.anchor: int | None = None
        self.model: str | None = None
        self.cwds: dict[str, None] = {}
        self.started_at: datetime | None = None

    def odd(self, what: str) -> None:
        self.drift[what] = self.drift.get(what, 0) + 1

    def human(self, raw: str, native_id: str | None, offset: int) -> None:
        words, at, cwd, odd = split_typed(raw)
        if odd:
            self.odd(odd)
        if cwd:
            self.cwds[cwd] = None
        self.started_at = self.started_at or at
        if words is not None:
            self.draft.say(RawTurn("human", words, native_id, occurred_at=at))
            self.anchor = offset

    def record(self, offset: int, record: Record, native_id: str) -> None:
        role = text_at(record, "role")
        content = value_at(record, "message", "content")
        if role in ("user", "assistant") and not isinstance(content, str | list):
            self.odd(f"{role} without content")
        blocks = (
            [{"type": "text", "text": content}]
            if isinstance(content, str)
            else objects_at(record, "message", "content")
        )
        if role == "user":
            self._results(blocks)
            self.human("\n".join(self._texts(blocks, by_person=True)), native_id, offset)
        elif role == "assistant":
            self.draft.go_on()
            self._assistant(offset, record, blocks, native_id)
        elif text_at(record, "type") in _CONTROL:
            self.draft.go_on()
        else:
            self.odd(f"record {role or text_at(record, 'type')}")

    def _results(self, blocks: list[Record]) -> None:
        for block in blocks:
            if text_at(block, "type") in _RESULTS:
                failed = block.get("is_error") is True or block.get("isError") is True
                said = "\n".join(found for item in objects_at(block, "content") if (found := text_at(item, "text")))
                self.draft.answer_all("error" if failed else "ok", said)

    def _texts(self, blocks: list[Record], *, by_person: bool = False) -> list[str]:
        """Texts of blocks. What an unknown kind says may be the agent's words, but never a person's."""
        found = []
        for block in blocks:
            kind = text_at(block, "type")
            if kind not in (*_CALLS, *_RESULTS, *_QUIET, "text"):
                self.odd(f"block {kind}")
            elif kind == "text" and "text" not in block:
                self.odd("text without words")
            wanted = kind == "text" if by_person else kind not in (*_CALLS, *_RESULTS, *_QUIET)
            if wanted and (said := text_at(block, "text")):
                found.append(said)
        return found

    def _assistant(self, offset: int, record: Record, blocks: list[Record], native_id: str) -> None:
        self.model = self.model or text_at(record, "model")
        if words := strip_answer("\n\n".join(self._texts(blocks))):
            self.draft.say(RawTurn("assistant", words, native_id, model=text_at(record, "model")))
            self.anchor = offset
        for place, block in enumerate(block for block in blocks if text_at(block, "type") in _CALLS):
            call = RawCall(tool=text_at(block, "name") or "unknown", native_id=f"{native_id}:{place}")
            given = object_at(block, "input") or object_at(block, "args")
            self.draft.ask(f"{native_id}:{place}", describe_call(call, given))


def read_transcript(source: Source, resume: Resume | None) -> tuple[Parsed, Transcript]:
    """Read one file; the transcript's directories are those its text names. Raises SourceError when nothing can be."""
    if source.path.suffix == ".txt":
        told = _read_text(source.path)
        return Parsed(drift=told.drift), _file_transcript(source, told)
    reader = LineReader(source.path, resume)
    told = _TranscriptDraft()
    before, place, records = -1, 0, 0
    for offset, record in reader:
        # Records glued to one line begin at the same byte as far as the reader says.
        before, place, records = offset, place + 1 if offset == before else 0, records + 1
        told.record(offset, record, f"@{offset}.{place}" if place else f"@{offset}")
    if not records and not reader.start and reader.skipped_bytes:
        raise SourceError(f"no record can be read in {source.path}")
    # From the last turn on: what follows it belongs to it, and a call may still wait.
    offset = told.anchor if told.anchor is not None else reader.start if told.draft.waiting else reader.offset
    parsed = Parsed(
        offset=offset,
        prefix_hash=hash_prefix(source.path, offset, reader.offset),
        skipped_bytes=reader.skipped_bytes,
        drift=told.drift,
        restarted=reader.restarted,
    )
    return parsed, _file_transcript(source, told)


def _file_transcript(source: Source, told: _TranscriptDraft) -> Transcript:
    path = source.path
    child = path.parent.name == "subagents"
    return Transcript(
        agent="cursor",
        native_id=path.stem,
        turns=tuple(told.draft.turns),
        calls=tuple(told.draft.calls),
        cwds=tuple(told.cwds),
        actor="agent" if child else "human",
        parent_native_id=path.parents[1].name if child else None,
        spawn_depth=1 if child else None,
        model=told.model,
        started_at=told.started_at or parse_time(source.mtime_ns),
    )


def _read_text(path: Path) -> _TranscriptDraft:
    try:
        whole = path.read_bytes().decode("utf-8", "replace").replace("\r\n", "\n")
    except OSError as error:
        raise refuse_source(path, error) from error
    heads = list(_BLOCK.finditer(whole))
    if not heads:
        raise SourceError(f"{path} is no transcript of Cursor")
    told = _TranscriptDraft()
    ends = [head.start() for head in heads[1:]] + [len(whole)]
    for head, end in zip(heads, ends, strict=True):
        body = whole[head.end() : end].strip("\n")
        if head[1] == "user":
            told.human(body, None, 0)
        else:
            _text_answer(told, body)
    return told


def _text_answer(told: _TranscriptDraft, body: str) -> None:
    """One ``assistant:`` block: words, thinking, calls with their indented arguments, results."""
    told.draft.go_on()
    for place, (kind, head, lines) in enumerate(_split_answer(body)):
        if kind == "Tool call":
            arguments = [found for line in lines if (found := _ARGUMENT.match(line))]
            given = {found[1]: found[2] for found in arguments}
            told.draft.ask(str(place), describe_call(RawCall(tool=head.strip() or "unknown"), given))
        elif kind == "Tool result":
            told.draft.go_on()
        elif kind == "words" and (said := strip_answer("\n".join(lines))):
            told.draft.say(RawTurn("assistant", said))


def _split_answer(body: str) -> list[tuple[str, str, list[str]]]:
    """Kind, rest of the marking line, and lines below it. Thinking and results end at a blank line."""
    found: list[tuple[str, str, list[str]]] = [("words", "", [])]
    for line in clean_text(body).split("\n"):
        kind, _, lines = found[-1]
        if mark := _MARK.match(line):
            found.append((mark[1], mark[2], []))
        elif (kind == "Tool call" and not line.startswith((" ", "\t"))) or (kind != "words" and not line.strip()):
            found.append(("words", "", [line]))
        else:
            lines.append(line)
    return found
