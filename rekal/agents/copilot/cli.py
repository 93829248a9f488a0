"""Copilot's command line: one events file a session under ``$COPILOT_HOME/session-state``."""

from __future__ import annotations

import mmap
import os
from collections.abc import Iterator
from pathlib import Path

from rekal.agents.contract import Parsed, Resume, Source, Where
from rekal.agents.copilot.events import PLACES, Events
from rekal.agents.formats.json_fields import load_object, text_at
from rekal.agents.formats.jsonl import LineReader, Record, clean_text, hash_prefix
from rekal.errors import SourceError
from rekal.plain_text import lazy_pattern

NAME = "copilot"
# Keys come in any order: the lookahead finds the type wherever it stands in the envelope.
_FIRST = lazy_pattern(
    rb'^\{(?=[^{}]*"type"\s*:\s*"(?:session\.start|user\.message|assistant\.message)")[^{}]*"data"\s*:\s*\{'
)
# A second sign: other programs write events with a type and a data object, too.
_PRODUCER = lazy_pattern(rb'"(?:producer|copilotVersion|interactionId|parentId)"\s*:')
# The folder has had two names.
_STORES = ("session-state", "history-session-state")
# A title stands near the top; the rest of a workspace file may be of any size.
_TITLE_BYTES = 64 << 10


class CopilotCli:
    """Reads the sessions of Copilot's command line; see :class:`rekal.agents.contract.Adapter`."""

    name = NAME

    def discover(self, where: Where) -> Iterator[Source]:
        """Yield every session: the store is one for all repositories."""
        given = where.env.get("COPILOT_HOME")
        home = Path(given) if given else where.home / ".copilot"
        for store in _STORES:
            for path in _event_files(home / store):
                try:
                    stat = path.stat()
                except OSError:
                    continue
                yield Source(self.name, str(path), path, stat.st_size, stat.st_mtime_ns)

    def parse(self, source: Source, resume: Resume | None, where: Where) -> Parsed:
        """Read one session, from the last message that a person typed on."""
        path = source.path
        # In a folder of its own the session's id is the folder's name, else the file's.
        own_folder = path.name == "events.jsonl"
        title = _title(path.with_name("workspace.yaml")) if own_folder else None
        return parse_events(path, path.parent.name if own_folder else path.stem, resume, title)

    def sniff(self, head: bytes) -> bool:
        """True if ``head`` starts with a Copilot event."""
        first = head.removeprefix(b"\xef\xbb\xbf").lstrip().split(b"\n", 1)[0]
        return _FIRST.search(first) is not None and _PRODUCER.search(first) is not None


def _event_files(store: Path) -> Iterator[Path]:
    try:
        with os.scandir(store) as listing:
            entries = sorted(listing, key=lambda entry: entry.name)
    except OSError:
        return
    for entry in entries:
        if entry.name.endswith(".jsonl"):
            yield Path(entry.path)
        elif entry.is_dir():
            # A session's folder outlives its events file; without one there is nothing to read.
            yield Path(entry.path, "events.jsonl")


def _title(path: Path) -> str | None:
    import yaml  # 20 ms, which a capture without a new session of this agent need not spend

    try:
        with path.open("rb") as file:
            found = yaml.safe_load(file.read(_TITLE_BYTES).decode("utf-8", "replace"))
    except (OSError, yaml.YAMLError):
        return None
    name = text_at(found, "name")
    return clean_text(name) if name is not None else None


def parse_events(
    path: Path, native_id: str, resume: Resume | None, title: str | None, cwds: tuple[str, ...] = ()
) -> Parsed:
    """Read an events file. ``cwds`` are working directories known from elsewhere.

    Raises :class:`SourceError` when it holds records but none of a session.
    """
    reader = LineReader(path, resume)
    events = Events()
    events.cwds.update(dict.fromkeys(cwds))
    if reader.start:
        events.anchor = reader.start
        for event in _places_before(path, reader.start):
            events.settle(event)
    known_skipped, known_drift, records = 0, events.drift.copy(), 0
    for offset, record in reader:
        records += 1
        if offset == reader.seen:
            known_skipped = reader.skipped_bytes
        events.read(offset, record)
        if offset < reader.seen:
            known_skipped, known_drift = reader.skipped_bytes, events.drift.copy()
    if events.empty:
        if records or reader.skipped_bytes:
            raise SourceError(f"{path} holds no Copilot session")
        return Parsed(restarted=reader.restarted)
    return Parsed(
        transcripts=events.transcripts(NAME, native_id, title),
        offset=events.anchor,
        prefix_hash=hash_prefix(path, events.anchor, reader.offset),
        skipped_bytes=reader.skipped_bytes - known_skipped,
        drift=dict(events.drift - known_drift),
        restarted=reader.restarted,
    )


def _places_before(path: Path, offset: int) -> list[Record]:
    """The first event of the file, and the last before ``offset`` that says where the session then was."""
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
        first = load_object(data[: data.find(b"\n") + 1])
        found = [(0, first)] if first is not None and first.get("type") == "session.start" else []
        last = max((_last_of(data, kind, offset) for kind in PLACES), key=lambda place: place[0])
    return [event for _, event in (*found, last) if event]


def _last_of(data: mmap.mmap, kind: str, before: int) -> tuple[int, Record]:
    """The last event of ``kind`` that begins before ``before``, with its place."""
    # From the end backwards: the last place counts, and most of a long file need not be decoded for it.
    while (at := data.rfind(f'"{kind}"'.encode(), 0, before)) >= 0:
        begin = data.rfind(b"\n", 0, at) + 1
        end = data.find(b"\n", at)
        event = load_object(data[begin : end if end >= 0 else len(data)])
        # The words may also stand inside another event's text.
        if event is not None and event.get("type") == kind:
            return begin, event
        before = begin
    return -1, {}


ADAPTER = CopilotCli()
