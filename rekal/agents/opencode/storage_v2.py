"""The tables of OpenCode 2, whose messages are one row each: read as the records of version 1.

``session_v2`` describes a session. ``session_message`` has a row a message, with its ``type`` (``user``, ``assistant``,
others) and its content as JSON: a text, or a list of texts and tool calls.
"""

from __future__ import annotations

from collections.abc import Iterator

from rekal.agents.formats.json_fields import load_object, number_at, object_at, objects_at, text_at
from rekal.agents.formats.jsonl import Record
from rekal.agents.formats.sqlite import Database

SESSIONS, MESSAGES = "session_v2", "session_message"

Row = tuple[str, Record, tuple[Record, ...], int | None]
"""A message: its id, its facts, its parts, and its time in milliseconds since 1970."""


def has_tables(database: Database) -> bool:
    """True if a database holds sessions of version 2, beside others or alone."""
    return bool(database.columns(SESSIONS) and database.columns(MESSAGES))


def read_rows(database: Database, session_id: str) -> Iterator[Row | int]:
    """Yield the messages of a session in order; for one that is no JSON object its number of bytes."""
    query = f"SELECT id, type, time_created, data FROM {MESSAGES} WHERE session_id = ? ORDER BY seq, id"
    for message_id, kind, stamp, data in database.rows(query, (session_id,)):
        record = load_object(data)
        if record is None:
            yield max(1, len(data)) if isinstance(data, str | bytes) else 1
            continue
        created = number_at(record, "time", "created")
        if created is None and isinstance(stamp, int):
            created = stamp
        yield str(message_id), _message_info(str(kind), record), tuple(_message_parts(record)), created


def _message_info(kind: str, record: Record) -> Record:
    """The fields that version 1 has beside a message's parts; ``type`` was ``role``."""
    model = object_at(record, "model")
    return {
        "role": kind,
        "time": object_at(record, "time"),
        "modelID": text_at(model, "id"),
        "providerID": text_at(model, "providerID"),
        "agent": text_at(record, "agent"),
    }


def _message_parts(record: Record) -> Iterator[Record]:
    said = text_at(record, "text")
    if said is not None:
        yield {"type": "text", "text": said, "id": "text"}
    for place, part in enumerate(objects_at(record, "content")):
        identified = {**part, "id": text_at(part, "id") or str(place)}
        yield _tool(identified) if text_at(part, "type") == "tool" else identified


def _tool(part: Record) -> Record:
    state = object_at(part, "state")
    output = "\n".join(words for item in objects_at(state, "content") if (words := text_at(item, "text")) is not None)
    error = text_at(object_at(state, "error"), "message")
    return {
        **part,
        "tool": text_at(part, "name") or "unknown",
        "callID": text_at(part, "id"),
        # The state's own fields last: where it has an output of its own, that one holds.
        "state": {"output": output, **({"error": error} if error else {}), **state},
    }
