"""Codex (command line, desktop, IDE extension, ``codex exec``): its roll-out files.

All repositories share one tree, ``sessions/YYYY/MM/DD`` and ``archived_sessions`` under ``$CODEX_HOME``. Three
forms live there: records by line (in envelopes since September 2025, bare before), the same compressed by zstd, and
the single JSON document of the first, TypeScript, program.
"""

from __future__ import annotations

import mmap
import os
import re
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from rekal.agents.codex.rollout import Rollout, UserText
from rekal.agents.contract import Parsed, Resume, Source, Where, refuse_source
from rekal.agents.formats.json_fields import (
    number_at,
    object_at,
    objects_at,
    read_object,
    text_at,
    value_at,
)
from rekal.agents.formats.jsonl import LineReader, Record, hash_prefix
from rekal.agents.formats.timestamps import parse_time
from rekal.errors import SourceError
from rekal.model import Actor, Transcript
from rekal.plain_text import lazy_pattern

_ZSTD = b"\x28\xb5\x2f\xfd"
# A roll-out's name ends with the session's id: the fallback for a file whose head record is damaged.
_UUID = lazy_pattern(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")
_TYPED = lazy_pattern(rb'"type"\s*:\s*"user_message"')
_COMPLETED = lazy_pattern(rb'"type"\s*:\s*"UserMessage"')
_DOCUMENT = lazy_pattern(rb'^\s*\{\s*"session"\s*:\s*\{[^{}]*"(?:instructions|timestamp)"')
_ENVELOPE = lazy_pattern(
    rb'^\{(?=[^{}]*"timestamp"\s*:)(?=[^{}]*"type"\s*:\s*'
    rb'"(?:session_meta|response_item|event_msg|turn_context|compacted)")[^{}]*"payload"\s*:\s*\{'
    rb'|^\{\s*"payload"\s*:\s*\{.*"type"\s*:\s*"(?:session_meta|response_item|event_msg)"\s*\}\r?$',
    re.MULTILINE,
)
_BARE = lazy_pattern(rb'^\{"id"\s*:\s*"[^"]+",\s*"timestamp"\s*:\s*"[^"]+",\s*"instructions"\s*:')
# The session's description is the first record; twenty leave room for damaged lines before it.
_HEAD_RECORDS = 20


class Codex:
    """Reads Codex roll-outs; see :class:`rekal.agents.contract.Adapter`."""

    name = "codex"

    def discover(self, where: Where) -> Iterator[Source]:
        """Yield every roll-out: which repository one belongs to stands inside it."""
        home = _codex_home(where)
        found: dict[str, os.DirEntry[str]] = {}
        for entry in (*_walk(home / "sessions"), *_walk(home / "archived_sessions")):
            # A file is compressed when idle and unpacked when resumed; for a while both are there.
            plain = entry.path.removesuffix(".zst")
            if plain not in found or entry.path == plain:
                found[plain] = entry
        for _, entry in sorted(found.items()):
            try:
                stat = entry.stat()
            except OSError:
                continue
            yield Source(self.name, entry.path, Path(entry.path), stat.st_size, stat.st_mtime_ns)

    def parse(self, source: Source, resume: Resume | None, where: Where) -> Parsed:
        """Read one roll-out, from the turn on that was open at the last reading."""
        titles = _codex_home(where) / "session_index.jsonl"
        # Only the TypeScript program wrote .json: it rewrites the document, so there is nothing to resume.
        if source.path.suffix == ".json":
            return _parse_document(source.path, titles)
        try:
            with source.path.open("rb") as file:
                # By content and not by name: a copy that somebody kept may be called anything.
                if file.read(len(_ZSTD)) != _ZSTD:
                    return _parse_lines(source.path, source.path, resume, titles)
                file.seek(0)
                return _parse_compressed(source.path, file, titles)
        except OSError as error:
            raise refuse_source(source.path, error) from error

    def sniff(self, head: bytes) -> bool:
        """True if ``head`` starts a roll-out, compressed or not."""
        if head.startswith(_ZSTD):
            import zstandard  # as below: few roll-outs are compressed

            try:
                head = zstandard.ZstdDecompressor().decompressobj().decompress(head)
            except zstandard.ZstdError:
                return False
        # Files that went through an editor may begin with a byte order mark.
        head = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        first = head.split(b"\n", 1)[0]
        return any(form.search(part) for form, part in ((_ENVELOPE, first), (_BARE, first), (_DOCUMENT, head)))


def _codex_home(where: Where) -> Path:
    given = where.env.get("CODEX_HOME")
    return Path(given) if given else where.home / ".codex"


def _walk(folder: Path) -> Iterator[os.DirEntry[str]]:
    try:
        with os.scandir(folder) as listing:
            # Sorted, since a directory's own order differs between machines, and ids drawn from copies must not.
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        # No link is followed: one that points upwards would be walked for ever.
        if entry.is_dir(follow_symlinks=False):
            yield from _walk(Path(entry.path))
        elif entry.name.startswith("rollout-") and entry.name.endswith((".jsonl", ".jsonl.zst", ".json")):
            yield entry


def _parse_document(path: Path, titles: Path) -> Parsed:
    document = read_object(path)
    session, items = object_at(document, "session"), objects_at(document, "items")
    # Any program may leave JSON here: a document with neither part is not counted as an empty session.
    if not session and not items:
        raise SourceError(f"{path} holds no Codex session")
    rollout = Rollout("items")
    rollout.open(session)
    if "items" not in document:
        rollout.drift["document without items"] += 1
    for place, item in enumerate(items):
        rollout.read(place, item)
    return Parsed(transcripts=(_rollout_transcript(rollout, path, titles),), drift=dict(rollout.drift))


def _parse_compressed(path: Path, file: BinaryIO, titles: Path) -> Parsed:
    """Read a compressed roll-out whole: places in it are those of the plain file, so its ids are the same."""
    import tempfile

    import zstandard

    # Unpacked to a file, not to memory: the line reader needs one that it can seek in, and its size is not bounded.
    with tempfile.TemporaryDirectory(prefix="rekal-") as folder:
        plain = Path(folder, "rollout.jsonl")
        with plain.open("wb") as unpacked:
            try:
                zstandard.ZstdDecompressor().copy_stream(file, unpacked)
            except zstandard.ZstdError as error:
                raise SourceError(f"{path} cannot be decompressed ({error})") from error
        parsed = _parse_lines(plain, path, None, titles)
    return Parsed(transcripts=parsed.transcripts, skipped_bytes=parsed.skipped_bytes, drift=parsed.drift)


def _parse_lines(path: Path, origin: Path, resume: Resume | None, titles: Path) -> Parsed:
    """Read the records of ``path``; ``origin`` is the file they come from."""
    reader = LineReader(path, resume)
    rollout = Rollout(_user_text(path))
    if reader.start:
        rollout.anchor = reader.start
        rollout.open(_head_meta(path))
        # A fork's copied history stands at the top of its file: the first reading has passed it.
        rollout.skip_replay()
    # A resumed reading starts before the point reached: what was counted up to there is not counted twice.
    known_skipped, known_drift = 0, rollout.drift.copy()
    records = 0
    for offset, record in reader:
        records += 1
        if offset == reader.seen:
            known_skipped = reader.skipped_bytes
        rollout.read(offset, record)
        if offset < reader.seen:
            known_skipped, known_drift = reader.skipped_bytes, rollout.drift.copy()
    draft = rollout.draft
    if not (rollout.meta or draft.turns or draft.calls):
        if records or reader.skipped_bytes:
            raise SourceError(f"{origin} holds no Codex session")
        return Parsed(restarted=reader.restarted)
    return Parsed(
        transcripts=(_rollout_transcript(rollout, origin, titles),),
        offset=rollout.anchor,
        prefix_hash=hash_prefix(path, rollout.anchor, reader.offset),
        skipped_bytes=reader.skipped_bytes - known_skipped,
        drift=dict(rollout.drift - known_drift),
        restarted=reader.restarted,
    )


def _user_text(path: Path) -> UserText:
    """Pick the record type in which this file says what was typed. Escaped quotes keep quoted records from counting."""
    with path.open("rb") as file:
        # An empty file cannot be mapped into memory.
        if not file.seek(0, os.SEEK_END):
            return "items"
        with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if _TYPED.search(data):
                return "events"
            return "completed" if _COMPLETED.search(data) else "items"


def _head_meta(path: Path) -> Record:
    """The session's own description: the first of the file, whatever later records repeat."""
    for (_, record), _ in zip(LineReader(path), range(_HEAD_RECORDS), strict=False):
        if record.get("type") == "session_meta":
            return object_at(record, "payload")
        if "payload" not in record and "role" not in record and text_at(record, "id") is not None:
            return record
    return {}


def _rollout_transcript(rollout: Rollout, path: Path, titles: Path) -> Transcript:
    meta = rollout.meta
    # The id inside wins: a user may rename a roll-out, but its copies still name the session.
    named = _UUID.search(path.name.split(".", 1)[0])
    native_id = text_at(meta, "id") or (named[0] if named else path.name.split(".", 1)[0])
    sub = value_at(meta, "source", "subagent")
    spawn = object_at(sub, "thread_spawn")
    parent = text_at(spawn, "parent_thread_id") or text_at(meta, "parent_thread_id")
    origin = text_at(meta, "forked_from_id")
    return Transcript(
        agent=Codex.name,
        native_id=native_id,
        turns=tuple(rollout.draft.turns),
        calls=tuple(rollout.draft.calls),
        cwds=tuple(rollout.cwds),
        branches=tuple(rollout.branches),
        actor=_actor(meta),
        parent_native_id=parent,
        # A sub-agent's roll-out names its parent in both fields; it is a child, no fork.
        forked_from=origin if origin != parent else None,
        agent_type=text_at(spawn, "agent_role") or (sub if isinstance(sub, str) else text_at(sub, "other")),
        description=text_at(spawn, "agent_nickname") or text_at(meta, "agent_nickname"),
        spawn_depth=number_at(spawn, "depth"),
        model=rollout.model,
        title=rollout.title or _named(titles).get(native_id),
        started_at=parse_time(meta.get("timestamp")),
    )


def _actor(meta: Record) -> Actor:
    """Sub-agents, reviews and ``codex exec`` are driven by a program, not by a person."""
    source = meta.get("source")
    return "agent" if source == "exec" or value_at(source, "subagent") is not None else "human"


def _named(index: Path) -> dict[str, str]:
    try:
        stat = index.stat()
    except OSError:
        return {}
    return _read_index(index, stat.st_size, stat.st_mtime_ns)


# Every roll-out asks for its title: the index of all titles is read once for all of them.
@lru_cache(maxsize=4)
def _read_index(index: Path, size: int, mtime_ns: int) -> dict[str, str]:
    """Thread names by id, the last one given to a thread; ``size`` and ``mtime_ns`` make a changed file another."""
    names: dict[str, str] = {}
    for _, record in LineReader(index):
        thread, name = text_at(record, "id"), text_at(record, "thread_name")
        if thread is not None and name is not None:
            names[thread] = name
    return names


ADAPTER = Codex()
