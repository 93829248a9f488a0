"""claude-mem's database: what it observed and how it summed sessions up become memories, its sessions conversations."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from datetime import UTC, datetime
from typing import Any

from rekal.agents.formats.sqlite import Database
from rekal.app.transfer.foreign_rows import Row, foreign_id, parse_stamp, table_rows, text_cell
from rekal.app.transfer.items import Incoming, Item, texts_of
from rekal.memory.events import Assert, MemoryType, StartConversation

CLAUDE_MEM_TABLES = ("sdk_sessions", "observations", "session_summaries", "user_prompts")
_TYPES: Mapping[str, MemoryType] = {
    "decision": "decision", "discovery": "fact", "bugfix": "episode", "feature": "episode", "refactor": "episode",
    "change": "episode",
}  # fmt: skip
_SUMMED_UP = ("request", "investigated", "learned", "completed", "next_steps", "notes")


def read_claude_mem(database: Database, tables: set[str]) -> Incoming:
    """Read all of it; prompts have their place in the transcripts and are counted alone."""
    start = datetime.now(UTC)
    items = list(_conversations(database, start))
    problems = []
    for row in table_rows(database, "observations"):
        text = _observed_text(row)
        if not text:
            problems.append(f"observation {row.get('id')} is empty")
            continue
        kind = text_cell(row, "type")
        tags = tuple(dict.fromkeys(tag for tag in (kind, *_list_cell(row, "concepts")) if tag.strip()))[:64]
        items.append(_memory(row, "observation", text, _TYPES.get(kind, "note"), tags, start))
    for row in table_rows(database, "session_summaries") if "session_summaries" in tables else ():
        parts = [(name, text_cell(row, name).strip()) for name in _SUMMED_UP]
        text = "\n".join(f"{name.replace('_', ' ').capitalize()}: {said}" for name, said in parts if said)
        if text:
            items.append(_memory(row, "summary", text, "episode", ("summary",), start))
    count = sum(1 for _ in table_rows(database, "user_prompts")) if "user_prompts" in tables else 0
    if count:
        problems.append(f"{count} prompts were left out: the agents' transcripts hold them")
    return Incoming("claude-mem", tuple(items), tuple(problems))


def _conversations(database: Database, start: datetime) -> Iterator[Item]:
    for row in table_rows(database, "sdk_sessions"):
        title = text_cell(row, "custom_title") or text_cell(row, "user_prompt")
        begun = StartConversation(
            title=" ".join(title.split())[:200] or None, project=text_cell(row, "project") or None
        )
        # Observations name a session by its second id, which it may not have got.
        native = text_cell(row, "memory_session_id") or text_cell(row, "content_session_id")
        yield Item(
            _conversation_id(native), "conversation", begun, _epoch_cell(row, "started_at", start), "conversations"
        )


def _conversation_id(native: str) -> str:
    return foreign_id("conversation", f"claude-mem:{native}" if native else "")


def _memory(row: Row, kind: str, text: str, type_: MemoryType, tags: tuple[str, ...], start: datetime) -> Item:
    content = Assert(
        text=text, type=type_, tags=tags, project=text_cell(row, "project") or None,
        conversation=_conversation_id(text_cell(row, "memory_session_id")) or None,
    )  # fmt: skip
    id_ = foreign_id("memory", f"claude-mem:{kind}:{row.get('id')}:{text}")
    return Item(id_, "assert", content, _epoch_cell(row, "created_at", start), "memories")


def _observed_text(row: Row) -> str:
    """Title, subtitle, narrative and facts, one a line; earlier versions have one text instead."""
    said = [text_cell(row, name).strip() for name in ("title", "subtitle", "narrative", "text")]
    facts = [f"- {fact}" for fact in _list_cell(row, "facts")]
    changed = _list_cell(row, "files_modified")
    files = [f"Files: {', '.join(changed)}"] if changed else []
    return "\n".join([*(part for part in said if part), *facts, *files]) if any((*said, *facts)) else ""


def _list_cell(row: Row, name: str) -> list[str]:
    try:
        value: Any = json.loads(text_cell(row, name) or "[]")
    except ValueError:
        return []
    return list(texts_of(value if isinstance(value, list) else []))


def _epoch_cell(row: Row, name: str, default: datetime) -> datetime:
    return parse_stamp(row.get(f"{name}_epoch"), parse_stamp(row.get(name), default))
