"""SQLite files of other memory programs, recognised by their tables and read without being changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rekal import ids
from rekal.agents.formats.sqlite import Database, open_copy
from rekal.app.transfer.items import Incoming, Item, texts_of
from rekal.errors import UsageError
from rekal.memory.events import (
    MEMORY_TYPES,
    Assert,
    EndRelation,
    LinkTo,
    Observe,
    Reflect,
    Relate,
    SetEntity,
    StartConversation,
    Supersede,
)
from rekal.memory.graph import entity_id, relation_id

TABLES = (
    "memories", "memory_links", "conversations", "conversation_links", "project_config",
    "entities", "observations", "relations", "reflections", "chunks", "ingest_log",
)  # fmt: skip
Row = dict[str, Any]


def read_foreign_database(path: Path) -> Incoming:
    """Read the file of the ``rekal`` server (all versions), of mcp-memory or of the Python ``recall``.

    UsageError for one that is none of them, SourceError for one that cannot be read.
    """
    with open_copy(path, TABLES) as database:
        tables = {str(row[0]) for row in database.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if "memories" in tables and {"id", "content", "tags"} <= database.columns("memories"):
            return _read_rekal(database, tables)
        if {"entities", "observations", "relations"} <= tables:
            return _read_mcp_memory(database, tables)
        if "chunks" in tables and {"content", "source_file"} <= database.columns("chunks"):
            return _read_recall(database)
    raise UsageError(f"{path.name} is no store that rekal can read", "give a store of rekal, mcp-memory or recall")


def _table(database: Database, table: str) -> Iterator[Row]:
    names = sorted(database.columns(table))
    quoted = ", ".join(f'"{name}"' for name in names)
    for row in database.rows(f'SELECT {quoted} FROM "{table}" ORDER BY rowid'):
        yield dict(zip(names, row, strict=True))


def _text_cell(row: Row, name: str) -> str:
    value = row.get(name)
    return value if isinstance(value, str) else ""


def _tags(row: Row) -> tuple[str, ...]:
    try:
        value = json.loads(_text_cell(row, "tags") or "[]")
    except ValueError:
        return ()
    return tuple(tag for tag in texts_of(value if isinstance(value, list) else []) if tag.strip())[:64]


def _read_rekal(database: Database, tables: set[str]) -> Incoming:
    """Memories with types, tiers, links and conversations as far as the version had them."""
    items: list[Item] = []
    problems: list[str] = []
    start = datetime.now(UTC)
    if "conversations" in tables:
        items += _foreign_conversations(database, tables, start)
    for row in _table(database, "memories"):
        text, kind = _text_cell(row, "content"), _text_cell(row, "memory_type") or "note"
        if not text.strip():
            problems.append(f"memory {_text_cell(row, 'id')} is empty")
            continue
        at = _parse_stamp(row.get("created_at"), start)
        ends = _parse_stamp(row.get("expires_at"), at) if row.get("expires_at") else None
        content = Assert(
            text=text, type=kind if kind in MEMORY_TYPES else "note", tags=_tags(row),
            project=_text_cell(row, "project") or None, valid_until=ends,
            conversation=_foreign("conversation", _text_cell(row, "conversation_id")) or None,
        )  # fmt: skip
        items.append(Item(_foreign("memory", _text_cell(row, "id")), "assert", content, at, "memories"))
    for row in _table(database, "memory_links") if "memory_links" in tables else ():
        one, other = (_foreign("memory", _text_cell(row, name)) for name in ("from_id", "to_id"))
        at, relation = _parse_stamp(row.get("created_at"), start), _text_cell(row, "relation")
        if relation == "supersedes":
            items.append(Item(other, "supersede", Supersede(by=one), at, "links"))
        elif relation:
            items.append(Item(one, "link", LinkTo(to=other, relation=relation), at, "links"))
    if "project_config" in tables and (database.first("SELECT count(*) FROM project_config") or (0,))[0]:
        problems.append("weights of ranking per project have no place here")
    return Incoming("rekal memory server", tuple(items), tuple(problems))


def _foreign_conversations(database: Database, tables: set[str], start: datetime) -> list[Item]:
    earlier: dict[str, dict[str, str]] = {}
    for row in _table(database, "conversation_links") if "conversation_links" in tables else ():
        earlier.setdefault(_text_cell(row, "from_id"), {})[_text_cell(row, "relation")] = _text_cell(row, "to_id")
    out = []
    for row in _table(database, "conversations"):
        links = earlier.get(_text_cell(row, "id"), {})
        said = StartConversation(
            title=_text_cell(row, "title") or None,
            project=_text_cell(row, "project") or None,
            follows=_foreign("conversation", links.get("follows_up_on", "")) or None,
            branches=_foreign("conversation", links.get("branches_from", "")) or None,
        )
        at = _parse_stamp(row.get("started_at"), start)
        out.append(Item(_foreign("conversation", _text_cell(row, "id")), "conversation", said, at, "conversations"))
    return out


def _foreign(kind: str, native: str) -> str:
    """Our id for what another store calls ``native``; empty for nothing."""
    return ids.derive("imported", kind, native) if native else ""


def _read_mcp_memory(database: Database, tables: set[str]) -> Incoming:
    start = datetime.now(UTC)
    names: dict[Any, str] = {}
    relations: dict[Any, str] = {}
    items: list[Item] = []
    for row in _table(database, "entities"):
        name = _text_cell(row, "name")
        names[row.get("id")] = name
        said = SetEntity(name=name, type=_text_cell(row, "entity_type"), status=_text_cell(row, "status"))
        items.append(Item(entity_id(name), "entity", said, _parse_stamp(row.get("created_at"), start), "entities"))
    problems = []
    replaced = 0
    for row in _table(database, "observations"):
        owner = names.get(row.get("entity_id"))
        if owner is None:
            problems.append(f"observation {row.get('id')} belongs to no entity")
            continue
        if row.get("superseded_at"):
            replaced += 1
            continue
        said_ = Observe(text=_text_cell(row, "content"), kind=_text_cell(row, "kind"))
        items.append(
            Item(entity_id(owner), "observe", said_, _parse_stamp(row.get("created_at"), start), "observations")
        )
    if replaced:
        problems.append(f"{replaced} observations that had been replaced were left out")
    for row in _table(database, "relations"):
        source, target = (names.get(row.get(end)) for end in ("from_entity", "to_entity"))
        kind = _text_cell(row, "relation_type")
        if not (source and target and kind):
            problems.append(f"relation {row.get('id')} has an end that is not there")
            continue
        id_ = relation_id(source, target, kind)
        relations[row.get("id")] = id_
        made = Relate(source=source, target=target, type=kind, context=_text_cell(row, "context") or None)
        items.append(Item(id_, "relate", made, _parse_stamp(row.get("created_at"), start), "relations"))
        if row.get("ended_at"):
            items.append(Item(id_, "end_relation", EndRelation(), _parse_stamp(row.get("ended_at"), start)))
    items += _reflections(database, names, relations, start) if "reflections" in tables else []
    return Incoming("mcp-memory", tuple(items), tuple(problems))


def _reflections(
    database: Database, names: dict[Any, str], relations: dict[Any, str], start: datetime
) -> Iterator[Item]:
    for row in _table(database, "reflections"):
        kind, number = _text_cell(row, "target_type"), row.get("target_id")
        about = kind if kind in ("entity", "session", "relation") else "all"
        target = {"entity": names.get(number), "relation": relations.get(number)}.get(
            about, str(number) if number is not None and about == "session" else None
        )
        said = Reflect(
            text=_text_cell(row, "content"), author=_text_cell(row, "author"), mood=_text_cell(row, "mood") or None,
            about=about, target=target,  # type: ignore[arg-type]
        )  # fmt: skip
        id_ = ids.derive("imported", "reflection", str(row.get("id")), said.text)
        yield Item(id_, "reflect", said, _parse_stamp(row.get("created_at"), start), "reflections")


def _read_recall(database: Database) -> Incoming:
    start = datetime.now(UTC)
    items = []
    derived = 0
    for row in _table(database, "chunks"):
        kind, source, text = (
            _text_cell(row, "source_type") or "ingest",
            _text_cell(row, "source_file"),
            _text_cell(row, "content"),
        )
        if kind == "dream":
            derived += 1
            continue
        text = text.removeprefix(f"{source}\n\n")
        said = Assert(text=text, type="fact", tags=tuple(tag for tag in (kind, source) if tag))
        at = _parse_stamp(row.get("created_at"), start)
        items.append(Item(_foreign("memory", f"recall:{row.get('id')}:{text}"), "assert", said, at, "memories"))
    problems = [f"{derived} derived cards were left out: they are made again from the facts"] if derived else []
    return Incoming("recall", tuple(items), tuple(problems))


def _parse_stamp(value: object, default: datetime) -> datetime:
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
