"""Claude Code: ``~/.claude/projects/<directory>/<session>.jsonl``, one file a session, appended while it runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from rekal.agents.base import Adapter, Parsed, Resume, Source, Where, refuse_source
from rekal.agents.claude import locations
from rekal.agents.claude.conversation import AGENT, Thread, text_field
from rekal.agents.claude.records import Conversation
from rekal.agents.formats.jsonl import LineReader, Record, hash_prefix
from rekal.errors import SourceError
from rekal.model import Transcript
from rekal.plain_text import lazy_pattern

_UUID = lazy_pattern(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", re.IGNORECASE)
_SIGNS = (b'"parentUuid":', b'"sessionId":')
_SNIFFED_LINES = 20


class Claude:
    """Claude Code's adapter."""

    name = AGENT

    def discover(self, where: Where) -> Iterator[Source]:
        """Yield the sessions and sub-agents that may concern ``where.roots``."""
        return locations.find_sources(where, self.name)

    def parse(self, source: Source, resume: Resume | None, where: Where) -> Parsed:
        """Read one file from where the last reading stopped.

        A call without its result is held back: ``offset`` then is that of the record that issued it, until a later
        prompt shows that it was passed over. Raises :class:`SourceError` when the file holds no record at all.
        """
        reader = LineReader(source.path, resume)
        conversation = Conversation(_main_thread(source.path), reader.seen)
        for offset, record in reader:
            conversation.take(offset, record)
        if conversation.orphaned and reader.start:
            # A sub-agent inside the file is known by its first record: look at it all, still up to where we had come.
            return self.parse(source, Resume(0, hash_prefix(source.path, 0, reader.seen)), where)
        if not conversation.taken and not reader.start and reader.skipped_bytes:
            raise SourceError(f"no record can be read in {source.path}")
        return _parsed(reader, conversation)

    def sniff(self, head: bytes) -> bool:
        """True if ``head`` begins a file of Claude Code's records."""
        if b'"loglines"' in head[:64]:
            return True
        for line in head.split(b"\n")[:_SNIFFED_LINES]:
            try:
                record = msgspec.json.decode(line)
            except (msgspec.MsgspecError, ValueError, RecursionError):
                if line.lstrip(b"\xef\xbb\xbf").startswith(b"{") and all(sign in line for sign in _SIGNS):
                    return True
                continue
            if isinstance(record, dict) and _is_own(record):
                return True
        return False


def _is_own(record: Record) -> bool:
    kind = record.get("type")
    if kind in ("user", "assistant"):
        return isinstance(record.get("message"), dict) and "role" not in record
    if kind == "summary":
        return "leafUuid" in record
    if kind == "file-history-snapshot":
        return "snapshot" in record
    return "sessionId" in record and ("parentUuid" in record or kind in ("queue-operation", "permission-mode"))


def _main_thread(path: Path) -> Thread:
    """The file's own conversation. A session's file name wins over the ids inside, which a copy may not change."""
    if not locations.is_sub_agent(path):
        return Thread(path.stem, "human")
    return Thread(path.stem.removeprefix("agent-"), "agent", locations.session_above(path))


def _parsed(reader: LineReader, conversation: Conversation) -> Parsed:
    main = conversation.main
    last_human = main.last_human
    waiting = [call.offset for thread in conversation.threads() for call in thread.unanswered(last_human)]
    offset = min(waiting, default=reader.offset)
    skipped = reader.skipped_bytes
    if main.actor == "agent":
        skipped += _complete_sub_agent(main, reader.path, conversation.first_session_id)
    found = [thread.transcript(last_human) for thread in conversation.threads()]
    if main.actor == "human":
        found[0] = _complete_session(found[0], conversation, from_start=reader.seen == 0)
    return Parsed(
        transcripts=tuple(one for one in found if one.turns or one.calls),
        offset=offset,
        prefix_hash=hash_prefix(reader.path, offset, reader.offset),
        skipped_bytes=skipped,
        drift=dict(conversation.drift),
        restarted=reader.restarted,
    )


def _complete_sub_agent(thread: Thread, path: Path, session_id: str | None) -> int:
    """Add what stands outside the records: whose sub-agent it is, and its sidecar. Returns bytes not understood.

    The client's ids of sub-agents are short; with the session's in front they stay apart.
    """
    thread.parent = thread.parent or session_id
    if thread.parent:
        thread.native_id = f"{thread.parent}/{thread.native_id}"
    sidecar, skipped = _sidecar(path.with_suffix(".meta.json"))
    thread.agent_type = text_field(sidecar.get("agentType")) or thread.agent_type
    thread.description = text_field(sidecar.get("description")) or thread.description
    depth = sidecar.get("spawnDepth")
    thread.spawn_depth = depth if type(depth) is int and 0 <= depth < 1000 else None
    return skipped


def _sidecar(path: Path) -> tuple[dict[str, Any], int]:
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return {}, 0
    except OSError as error:
        raise refuse_source(path, error) from error
    try:
        return msgspec.json.decode(data, type=dict[str, Any]), 0
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return {}, len(data)


def _complete_session(transcript: Transcript, conversation: Conversation, *, from_start: bool) -> Transcript:
    """Add the title, and the origin when this file is a copy that still names it."""
    prompts = (turn.content for turn in transcript.turns if turn.role == "human")
    title = conversation.titles.best(conversation.uuids, next(prompts, None) if from_start else None)
    origin, own = conversation.first_session_id or "", transcript.native_id
    copied = from_start and origin != own and _UUID.match(origin) and _UUID.match(own)
    return msgspec.structs.replace(transcript, title=title, forked_from=origin if copied else None)


ADAPTER: Adapter = Claude()
