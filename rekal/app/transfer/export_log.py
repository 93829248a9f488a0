"""The log in forms that others read: as it is, as memories, as Markdown, as Anthropic's graph."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from typing import Any

import msgspec

from rekal.app.desk import Desk
from rekal.app.memory_graph import read_graph
from rekal.app.transfer.markdown_words import escape_inline, quote_text
from rekal.memory.graph import Graph
from rekal.memory.state import Memory
from rekal.plain_text import escape_hidden


def export_log(desk: Desk, format_: str, *, personal: bool = False) -> str:
    """The text of an export; ``format_`` is one of ``FORMATS``. Only the graph's has no line end at its end."""
    return FORMATS[format_](desk, personal)


def _export_events(desk: Desk, personal: bool) -> str:
    return _export_lines(desk.events(personal=personal))


def _export_memories(desk: Desk, personal: bool) -> str:
    return _export_lines([one for one in desk.memories().all if one.personal is personal or desk.app is None])


def _export_lines(records: list[object] | list[Memory] | object) -> str:
    assert isinstance(records, list)
    # The lines of a graph are the bytes that Anthropic's server would write; ours have escapes of the same value.
    return "".join(escape_hidden(msgspec.json.encode(one).decode()) + "\n" for one in records)


def _markdown(desk: Desk, personal: bool) -> str:
    parts = []
    for one in desk.memories().current():
        if one.personal is not personal and desk.app is not None:
            continue
        head = escape_inline({"dead_end": "Ruled out", "decision": "Decided"}.get(one.type, one.type.capitalize()))
        lines = [f"## {head}: {escape_inline(one.subject or one.id[:10])}", "", *quote_text(one.text), ""]
        for name, text in (("Because", one.because), ("Instead", one.instead)):
            lines += [f"{name}: {escape_inline(text)}", ""] if text else []
        tags = escape_inline(f", tags {', '.join(one.tags)}") if one.tags else ""
        lines.append(f"*{one.state}, {escape_inline(one.actor)}, {one.occurred_at:%Y-%m-%d}, id {one.id}{tags}*")
        parts.append("\n".join(lines))
    return "# Memories\n\n" + "\n\n".join(parts) + "\n"


def _anthropic(desk: Desk, personal: bool) -> str:
    return _write_graph_lines(read_graph(desk, personal=personal))


FORMATS: Mapping[str, Callable[[Desk, bool], str]] = {
    "events": _export_events,
    "jsonl": _export_memories,
    "markdown": _markdown,
    "anthropic": _anthropic,
}


def _write_graph_lines(graph: Graph) -> str:
    """The graph as that server writes its file: entities, then relations, no line end after the last."""
    lines: list[dict[str, Any]] = [
        {
            "type": "entity",
            "name": one.name,
            "entityType": one.type,
            "observations": [seen.text for seen in one.active],
        }
        for one in graph.entities
    ]
    lines += [
        {"type": "relation", "from": one.source, "to": one.target, "relationType": one.type}
        for one in graph.relations
        if one.ended_at is None
    ]
    return "\n".join(json.dumps(line, ensure_ascii=False, separators=(",", ":")) for line in lines)
