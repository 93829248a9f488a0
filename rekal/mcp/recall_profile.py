"""The profile ``recall``: the tools of the two programs of that name, over one search of sessions and memories."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime
from typing import Any

from rekal.app.ask_question import AskedQuestion, ask_question
from rekal.app.hosts.memory_search import RankWeights, rank_by_text
from rekal.app.memories import remember, review_memory
from rekal.app.memory_views import find_memories_here, find_memory
from rekal.errors import UsageError
from rekal.mcp.tools import SHORTEST_ID, AgentCall, Tool, ToolAnswer, fail, pretty, say
from rekal.memory.write import NewMemory
from rekal.plain_text import clean_line, clean_text

_MOST = 100
_DATED = re.compile(r"^\[\d{4}")
_USUAL = 25
_FLOOR = 0.15  # of our own score, on no other program's scale: a third of the words, or a cosine of 0.3
_NOTHING = "No results found."
_BELOW = "Nothing that is stored is near enough to this question. Do not guess; say that nothing is known."
_MEMORIES = frozenset({"memory"})
# Types of the contract by those of rekal; every other document is a ``doc``.
_KINDS = {"memory": "memory", "session": "session", "mailbox": "email", "mail": "email", "messages": "message"}
Fields = dict[str, Any]


def _input(required: tuple[str, ...] = (), **properties: Fields) -> Fields:
    return {"type": "object", "properties": properties, "required": list(required)}


def _wording(words: str) -> Fields:
    return {"type": "string", "description": words}


def _amount(words: str, least: float = 0) -> Fields:
    return {"type": "number", "minimum": least, "description": words}


_TEXTS: Fields = {"type": "array", "items": {"type": "string"}}


def _search_search(call: AgentCall) -> ToolAnswer:
    """Answer as both programs do: rows as JSON, and a text that ends with their ids."""
    start = time.perf_counter()
    query = call.text("query")
    limit = call.number("limit", call.number("top_k", _USUAL, _MOST), _MOST)
    types = frozenset(call.texts("source_types"))
    found = _RecallRows()
    if not types or types & _MEMORIES:
        _find_memories(call, query, found)
    if call.desk.app is not None and types != _MEMORIES:
        _find_evidence(call, query, limit, found)
    # By type before the best are taken, so that many rows of one type hide none of another.
    rows = [row for row in found.rows if not types or types & {row["type"], _KINDS.get(row["type"], "doc")}]
    cut = len(rows) - limit
    rows = rows[:limit]
    notes = [*found.notes, *([f"{cut} more were cut off by the limit"] if cut > 0 else [])]
    structured = {"results": rows, "notes": notes}
    if not rows:
        return say(_BELOW if found.below else _NOTHING, structured)
    blocks = [f"[{clean_line(one['source'])}] (score: {one['score']:.3f})\n{clean_text(one['text'])}" for one in rows]
    ids = ",".join(str(one["id"]) for one in rows)
    took = round(1000 * (time.perf_counter() - start))
    count = f"{len(rows)} results from {len({one['source'] for one in rows})} sources ({took}ms)"
    told = "".join(f"\nNote: {note}" for note in notes)
    return say("\n---\n".join(blocks) + f"\n---\n{count}\n[result-id: {ids}]{told}", structured)


class _RecallRows:
    """Rows of a search, what is said about it, and whether anything was near but not near enough."""

    def __init__(self) -> None:
        self.rows: list[Fields] = []
        self.notes: list[str] = []
        self.below = False


def _find_memories(call: AgentCall, query: str, found: _RecallRows) -> None:
    since = call.text("since")
    held = [one for one in find_memories_here(call.desk) if not since or one.occurred_at.isoformat() >= since]
    ranked = rank_by_text(call.desk, held, query, len(held), RankWeights(0.5, 0.5, 0.0))
    least = call.arguments.get("min_confidence")
    floor = float(least) if isinstance(least, int | float) else _FLOOR
    found.below = any(one.score < floor for one in ranked)
    found.rows += [
        {"id": one.memory.id, "type": "memory", "source": f"memory {one.memory.actor_type}", "text": one.memory.text,
         "date": one.memory.occurred_at.date().isoformat(), "score": one.score}
        for one in ranked
        if one.score >= floor
    ]  # fmt: skip


def _find_evidence(call: AgentCall, query: str, limit: int, found: _RecallRows) -> None:
    """Sessions and documents, which pass recall's own gate or are silent."""
    assert call.desk.app is not None
    answer = ask_question(call.desk.app, AskedQuestion(text=query, since=call.text("since") or None, limit=limit))
    found.notes += answer.notes  # that there is no model, or that the index is behind, is said and not kept
    if answer.verdict != "INJECT":
        return
    found.rows += [
        {"id": f"{hit.session_id}:{row.seq}", "type": "session", "source": f"session {hit.session_id[:10]}",
         "text": row.text, "date": row.occurred_at.date().isoformat() if row.occurred_at else None,
         "score": answer.support}
        for hit in answer.sessions
        for row in hit.rows
    ] + [
        {"id": f"{one.id}:{one.seq}", "type": one.type, "source": one.location, "text": one.text,
         "date": one.occurred_at.date().isoformat() if one.occurred_at else None, "score": answer.support}
        for one in answer.documents or ()
    ]  # fmt: skip


def _search_save(call: AgentCall) -> ToolAnswer:
    made = remember(call.desk, NewMemory(text=call.text("text"), tags=tuple(call.texts("tags")))).memory
    return say(pretty({"id": made.id, "saved": True}))


def _search_remember(call: AgentCall) -> ToolAnswer:
    text = call.text("text").strip()
    dated = text if _DATED.match(text) else f"[{datetime.now(UTC):%Y-%m-%d}] {text}"
    # ``human`` is an agent's word: what an agent writes is a proposal all the same.
    made = remember(call.desk, NewMemory(text=dated if text else text, type="fact")).memory
    kind = "remember:human" if call.arguments.get("human") else "remember:ai"
    return say(f"Saved memory (id={made.id}, type={kind})")


def _search_forget(call: AgentCall) -> ToolAnswer:
    name = call.text("memory_id") or str(call.arguments.get("memory_id", ""))
    try:
        held = find_memory(call.desk, name if len(name) >= SHORTEST_ID else "")
    except UsageError:
        return fail(f"Memory {name} not found")
    if held.state == "retracted":
        return fail(f"Memory {name} not found")
    review_memory(call.desk, held.id, "retract")
    return say(f"Deleted memory {held.id}")


def _stats(call: AgentCall) -> ToolAnswer:
    held = call.desk.memories().current()
    counts: dict[str, int] = {}
    for one in held:
        counts[f"{one.type} by {one.actor_type}"] = counts.get(f"{one.type} by {one.actor_type}", 0) + 1
    rows = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))[:20]
    return say("\n".join([f"Total: {len(held)}", *(f"{name}: {count}" for name, count in rows)]))


def recall_tools() -> list[Tool]:
    """The five tools; ``recall_search`` takes the parameters of both programs."""
    reads = {"readOnlyHint": True, "openWorldHint": False}
    adds = {"readOnlyHint": False, "destructiveHint": False, "openWorldHint": False}
    search = _input(
        ("query",),
        query=_wording("What to look for"),
        limit=_amount("How many results at most"),
        top_k=_amount("The same as limit"),
        since=_wording("Only from this date on"),
        source_types={**_TEXTS, "description": "Only these: memory, session, doc, message, email"},
        min_confidence=_amount("Least score of a memory"),
    )
    entries = [
        ("recall_search", "Search past sessions and memories.", search, reads, _search_search),
        (
            "memory_save", "Remember a text.",
            _input(("text",), text=_wording("What to remember"), tags={**_TEXTS, "description": "Its tags"}),
            adds, _search_save,
        ),
        (
            "recall_remember", "Remember a fact, with today's date.",
            _input(("text",), text=_wording("The fact"), human={"type": "boolean", "description": "A person said so"}),
            adds, _search_remember,
        ),
        (
            "recall_forget", "Take a memory back.",
            _input(("memory_id",), memory_id={"type": ["string", "integer"], "description": "Id of the memory"}),
            {"readOnlyHint": False, "destructiveHint": True, "openWorldHint": False}, _search_forget,
        ),
        ("recall_stats", "Count what is remembered.", _input(), reads, _stats),
    ]  # fmt: skip
    return [
        Tool(
            {"name": name, "description": words, "inputSchema": schema, "annotations": hints},
            run,
            not hints["readOnlyHint"],
        )
        for name, words, schema, hints, run in entries
    ]
