"""What an importer hands over, and how it is written: once, however often the same file is imported."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime

import msgspec

from rekal import ids
from rekal.app.desk import Desk
from rekal.errors import UsageError
from rekal.memory.events import Assert, Content, Observe, Reflect, Relate, SetEntity, check_memory_text, encode_payload
from rekal.memory.graph import fold_graph
from rekal.model import MemoryEvent
from rekal.store.memory_log import append_events, read_events


class Item(msgspec.Struct, frozen=True):
    """One event to be: its memory, its kind of event, what it says and when it was said.

    ``counts_as`` is what the report calls it: ``memories``, ``entities``, ``observations`` …; empty for what belongs
    to another item.
    """

    memory_id: str
    kind: str
    content: Content
    at: datetime
    counts_as: str = ""


class Incoming(msgspec.Struct, frozen=True):
    """A file read: its format, its items in order, and a sentence for each part that has no place here."""

    format: str
    items: tuple[Item, ...]
    problems: tuple[str, ...] = ()


class ImportReport(msgspec.Struct, frozen=True):
    """The report of an import. ``read`` counts what the file holds by name, ``written`` events that are new in the log.

    ``held`` items were there already.
    """

    format: str
    read: dict[str, int]
    written: int
    held: int
    problems: list[str]


def write_incoming(desk: Desk, incoming: Incoming, *, personal: bool = False) -> ImportReport:
    """Append what is not in the log yet, in one transaction. A text that is too long is left out and said."""
    now = datetime.now(UTC)
    events, problems = [], list(incoming.problems)
    seen: Counter[tuple[str, str, str]] = Counter()
    read: Counter[str] = Counter()
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
            payload = encode_payload(msgspec.structs.replace(content, via="import"))
            key = (item.memory_id, item.kind, payload)
            seen[key] += 1
            # Derived from what it says: the same file imported again makes the same events.
            event_id = ids.derive("import", *key, str(seen[key]))
            if isinstance(content, SetEntity) and item.memory_id in entities:
                continue  # an entity that is here keeps its type
            events.append(
                MemoryEvent(event_id, item.memory_id, item.kind, payload, incoming.format, "imported", item.at, now)
            )
        written = append_events(ledger, events)
    return ImportReport(incoming.format, dict(read), written, len(incoming.items) - written, problems)


def _scrub_content(desk: Desk, content: Content) -> Content:
    """The content without secrets. UsageError for an empty or too long text."""
    changes: dict[str, str] = {}
    if isinstance(content, Assert | Observe | Reflect):
        changes["text"] = desk.scrub(check_memory_text(content.text, "the text"))
    elif isinstance(content, SetEntity):
        changes = {"name": desk.scrub(content.name), "type": desk.scrub(content.type)}
    elif isinstance(content, Relate):
        changes = {"source": desk.scrub(content.source), "target": desk.scrub(content.target)}
    return msgspec.structs.replace(content, **changes) if changes else content


def parse_stamp(value: object, default: datetime) -> datetime:
    """A time as SQLite stores hold it: text in UTC, or seconds or milliseconds since 1970."""
    if isinstance(value, int | float) and not isinstance(value, bool):
        seconds = value / 1000 if value > 1e11 else value
        try:
            return datetime.fromtimestamp(seconds, UTC)
        except (OverflowError, OSError, ValueError):
            return default
    if isinstance(value, str):
        try:
            found = datetime.fromisoformat(value.strip())
        except ValueError:
            return default
        return found if found.tzinfo else found.replace(tzinfo=UTC)
    return default


def texts_of(values: Sequence[object]) -> Iterator[str]:
    """Yield the values that are text."""
    yield from (value for value in values if isinstance(value, str))
