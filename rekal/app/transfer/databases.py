"""SQLite files of other memory programs, recognised by their tables and read without being changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from rekal import ids
from rekal.agents.formats.sqlite import Database, open_copy
from rekal.app.transfer.claude_mem import CLAUDE_MEM_TABLES, read_claude_mem
from rekal.app.transfer.foreign_rows import Row, foreign_id, parse_stamp, table_rows, text_cell
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
    "entities", "observations", "relations", "reflections", "chunks", "ingest_log", *CLAUDE_MEM_TABLES,
)  # fmt: skip


def read_foreign_database(path: Path) -> Incoming:
    """Read the file of the ``rekal`` server (all versions), of mcp-memory, of claude-mem or of the Python ``recall``.

    UsageError for one that is none of them, SourceError for one that cannot be read.
    """
    with open_copy(path, TABLES, aside=True) as database:
        tables = {str(row[0]) for row in database.rows("SELECT name FROM sqlite_master WHERE type = 'table'")}
        if "memories" in tables and {"id", "content", "tags"} <= database.columns("memories"):
            return _read_rekal(database, tables)
        if {"entities", "observations", "relations"} <= tables:
            return _read_mcp_memory(database, tables)
        if {"observations", "sdk_sessions"} <= tables:
            return read_claude_mem(database, tables)
        if "chunks" in tables and {"content", "source_file"} <= database.columns("chunks"):
            return _read_recall(database)
    known = "give a store of rekal, mcp-memory, claude-mem or recall"
    raise UsageError(f"{path.name} is no store that rekal can read", known)


def _tags(row: Row) -> tuple[str, ...]:
    try:
        value = json.loads(text_cell(row, "tags") or "[]")
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
    for row in table_rows(database, "memories"):
        text, kind = text_cell(row, "content"), text_cell(row, "memory_type") or "note"
        if not text.strip():
            problems.append(f"memory {text_cell(row, 'id')} is empty")
            continue
        at = parse_stamp(row.get("created_at"), start)
        ends = parse_stamp(row.get("expires_at"), at) if row.get("expires_at") else None
        content = Assert(
            text=text, type=kind if kind in MEMORY_TYPES else "note", tags=_tags(row),
            project=text_cell(row, "project") or None, valid_until=ends,
            conversation=foreign_id("conversation", text_cell(row, "conversation_id")) or None,
        )  # fmt: skip
        items.append(Item(foreign_id("memory", text_cell(row, "id")), "assert", content, at, "memories"))
    for row in table_rows(database, "memory_links") if "memory_links" in tables else ():
        one, other = (foreign_id("memory", text_cell(row, name)) for name in ("from_id", "to_id"))
        at, relation = parse_stamp(row.get("created_at"), start), text_cell(row, "relation")
        if relation == "supersedes":
            items.append(Item(other, "supersede", Supersede(by=one), at, "links"))
        elif relation:
            items.append(Item(one, "link", LinkTo(to=other, relation=relation), at, "links"))
    if "project_config" in tables and (database.first("SELECT count(*) FROM project_config") or (0,))[0]:
        problems.append("weights of ranking per project have no place here")
    return Incoming("rekal memory server", tuple(items), tuple(problems))


def _foreign_conversations(database: Database, tables: set[str], start: datetime) -> list[Item]:
    earlier: dict[str, dict[str, str]] = {}
    for row in table_rows(database, "conversation_links") if "conversation_links" in tables else ():
        earlier.setdefault(text_cell(row, "from_id"), {})[text_cell(row, "relation")] = text_cell(row, "to_id")
    out = []
    for row in table_rows(database, "conversations"):
        links = earlier.get(text_cell(row, "id"), {})
        said = StartConversation(
            title=text_cell(row, "title") or None,
            project=text_cell(row, "project") or None,
            follows=foreign_id("conversation", links.get("follows_up_on", "")) or None,
            branches=foreign_id("conversation", links.get("branches_from", "")) or None,
        )
        at = parse_stamp(row.get("started_at"), start)
        out.append(Item(foreign_id("conversation", text_cell(row, "id")), "conversation", said, at, "conversations"))
    return out


def _read_mcp_memory(database: Database, tables: set[str]) -> Incoming:
    start = datetime.now(UTC)
    names: dict[Any, str] = {}
    relations: dict[Any, str] = {}
    items: list[Item] = []
    for row in table_rows(database, "entities"):
        name = text_cell(row, "name")
        names[row.get("id")] = name
        said = SetEntity(name=name, type=text_cell(row, "entity_type"), status=text_cell(row, "status"))
        items.append(Item(entity_id(name), "entity", said, parse_stamp(row.get("created_at"), start), "entities"))
    problems: list[str] = []
    items += _mcp_observations(database, names, problems, start)
    for row in table_rows(database, "relations"):
        source, target = (names.get(row.get(end)) for end in ("from_entity", "to_entity"))
        kind = text_cell(row, "relation_type")
        if not (source and target and kind):
            problems.append(f"relation {row.get('id')} has an end that is not there")
            continue
        id_ = relation_id(source, target, kind)
        relations[row.get("id")] = id_
        made = Relate(source=source, target=target, type=kind, context=text_cell(row, "context") or None)
        items.append(Item(id_, "relate", made, parse_stamp(row.get("created_at"), start), "relations"))
        if row.get("ended_at"):
            items.append(Item(id_, "end_relation", EndRelation(), parse_stamp(row.get("ended_at"), start)))
    items += _reflections(database, names, relations, start) if "reflections" in tables else []
    return Incoming("mcp-memory", tuple(items), tuple(problems))


def _mcp_observations(database: Database, names: dict[Any, str], problems: list[str], start: datetime) -> list[Item]:
    items: list[Item] = []
    rows = list(table_rows(database, "observations"))
    followed = {row.get("supersedes") for row in rows}
    lost = 0
    for row in rows:
        owner = names.get(row.get("entity_id"))
        if owner is None:
            problems.append(f"observation {row.get('id')} belongs to no entity")
            continue
        # Without a successor it would look as if it still held.
        if row.get("superseded_at") and row.get("id") not in followed:
            lost += 1
            continue
        seen = Observe(text=text_cell(row, "content"), kind=text_cell(row, "kind"))
        at, older = parse_stamp(row.get("created_at"), start), row.get("supersedes")
        items.append(
            Item(
                entity_id(owner), "observe", seen, at, "observations",
                name=f"observation {row.get('id')}", replaces="" if older is None else f"observation {older}",
            )
        )  # fmt: skip
    if lost:
        problems.append(f"{lost} observations that had been replaced by nothing were left out")
    return items


def _reflections(
    database: Database, names: dict[Any, str], relations: dict[Any, str], start: datetime
) -> Iterator[Item]:
    for row in table_rows(database, "reflections"):
        kind, number = text_cell(row, "target_type"), row.get("target_id")
        about = kind if kind in ("entity", "session", "relation") else "all"
        target = {"entity": names.get(number), "relation": relations.get(number)}.get(
            about, str(number) if number is not None and about == "session" else None
        )
        said = Reflect(
            text=text_cell(row, "content"), author=text_cell(row, "author"), mood=text_cell(row, "mood") or None,
            about=about, target=target,  # type: ignore[arg-type]
        )  # fmt: skip
        id_ = ids.derive("imported", "reflection", str(row.get("id")), said.text)
        yield Item(id_, "reflect", said, parse_stamp(row.get("created_at"), start), "reflections")


def _read_recall(database: Database) -> Incoming:
    start = datetime.now(UTC)
    items = []
    derived = 0
    for row in table_rows(database, "chunks"):
        kind, source, text = (
            text_cell(row, "source_type") or "ingest",
            text_cell(row, "source_file"),
            text_cell(row, "content"),
        )
        if kind == "dream":
            derived += 1
            continue
        text = text.removeprefix(f"{source}\n\n")
        said = Assert(text=text, type="fact", tags=tuple(tag for tag in (kind, source) if tag))
        at = parse_stamp(row.get("created_at"), start)
        items.append(Item(foreign_id("memory", f"recall:{row.get('id')}:{text}"), "assert", said, at, "memories"))
    problems = [f"{derived} derived cards were left out: they are made again from the facts"] if derived else []
    return Incoming("recall", tuple(items), tuple(problems))
