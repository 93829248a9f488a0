"""Importing a file of another memory program: recognised by what is in it."""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from rekal import ids
from rekal.app.desk import Desk
from rekal.app.transfer.databases import read_foreign_database
from rekal.app.transfer.graph_lines import read_graph_lines
from rekal.app.transfer.items import ImportReport, Incoming
from rekal.app.transfer.notes import is_notes_folder, read_notes
from rekal.errors import UsageError
from rekal.memory.events import Assert, Content, Observe, Reflect, SetEntity, check_memory_text, encode_payload
from rekal.memory.graph import fold_graph
from rekal.model import MemoryEvent
from rekal.store.memory_log import append_events, read_events

_SQLITE = b"SQLite format 3\0"
_LARGEST = 256 << 20


def import_file(desk: Desk, path: Path, *, personal: bool = False) -> ImportReport:
    """Import ``path`` into the log. The same file twice adds nothing; the file itself is only read.

    UsageError for what is not recognised, SourceError for a database that cannot be read.
    """
    return _write_incoming(desk, _import_read(path), personal=personal)


def _import_read(path: Path) -> Incoming:
    if not path.exists():
        raise UsageError(f"there is no {path}", "give a file or a folder")
    if path.is_dir():
        if is_notes_folder(path):
            return read_notes(path)
        raise UsageError(f"{path} holds no Markdown notes with front matter", "give a folder of basic-memory")
    if path.stat().st_size > _LARGEST:
        raise UsageError(f"{path} is larger than {_LARGEST >> 20} MiB", "split it")
    with path.open("rb") as file:
        head = file.read(len(_SQLITE))
    if head == _SQLITE:
        return read_foreign_database(path)
    stamp = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    found = read_graph_lines(path.read_bytes().decode("utf-8", "replace"), stamp)
    if not found.items:
        raise UsageError(f"{path} holds nothing that rekal can read", "give JSON lines or a SQLite store")
    return found


def _write_incoming(desk: Desk, incoming: Incoming, *, personal: bool = False) -> ImportReport:
    """Append what is not in the log yet, in one transaction. A text that is too long is left out and said."""
    now = datetime.now(UTC)
    events, problems = [], list(incoming.problems)
    seen: Counter[tuple[str, str, str]] = Counter()
    read: Counter[str] = Counter()
    made: dict[str, str] = {}  # events by the names that items have for each other
    with desk.writing(personal=personal) as ledger:
        entities = {one.id for one in fold_graph(read_events(ledger.con)).entities}
        for item in incoming.items:
            if item.counts_as:
                read[item.counts_as] += 1
            try:
                content = _scrub_content(desk, item.content)
            except UsageError as error:
                problems.append(f"{item.counts_as or item.kind} left out: {error.message}")
                continue
            if isinstance(content, Observe) and item.replaces:
                content = msgspec.structs.replace(content, replaces=made.get(item.replaces))
            payload = encode_payload(msgspec.structs.replace(content, via="import"))
            key = (item.memory_id, item.kind, payload)
            seen[key] += 1
            # Derived from what it says: the same file imported again makes the same events.
            event_id = ids.derive("import", *key, str(seen[key]))
            if item.name:
                made[item.name] = event_id
            if isinstance(content, SetEntity) and item.memory_id in entities:
                continue  # an entity that is here keeps its type
            events.append(
                MemoryEvent(event_id, item.memory_id, item.kind, payload, incoming.format, "imported", item.at, now)
            )
        written = append_events(ledger, events)
    return ImportReport(incoming.format, dict(read), written, len(incoming.items) - written, problems)


# What others named or wrote; ids, relations between memories and our own words hold no secret.
_WRITTEN = frozenset(
    {
        "text", "name", "type", "status", "kind", "source", "target", "context", "title", "project", "author", "mood",
    }
)  # fmt: skip


def _scrub_content(desk: Desk, content: Content) -> Content:
    """The content without secrets, in whatever field. UsageError for an empty or too long text."""
    changes: dict[str, object] = {
        field: desk.scrub(value)
        for field in content.__struct_fields__
        if field in _WRITTEN and isinstance(value := getattr(content, field), str)
    }
    if isinstance(content, Assert | Observe | Reflect):
        changes["text"] = desk.scrub(check_memory_text(content.text, "the text"))
    if isinstance(content, Assert):
        changes["tags"] = tuple(map(desk.scrub, content.tags))
    return msgspec.structs.replace(content, **changes) if changes else content
