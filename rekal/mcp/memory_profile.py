"""The profile ``memory``: the 21 tools of the rekal memory server 1.16, and the three of its version 3.

Names, parameters, texts and shapes are that server's; where it lost data, the shape stays and the data too.
"""

from __future__ import annotations

from collections import Counter
from datetime import UTC, datetime, timedelta
from typing import Any, cast

from rekal.app.desk import Desk, place_of_desk
from rekal.app.hosts.memory_search import RankWeights, ScoredMemory, rank_by_text
from rekal.app.memories import amend_memory, link_memories, remember, review_memory, supersede
from rekal.app.memory_graph import read_graph
from rekal.app.memory_views import MemoryQuery, find_memories_here, find_memory, list_memories
from rekal.errors import UsageError
from rekal.mcp.conversations import (
    MOST_ROWS,
    answer_rows,
    answer_text,
    begin_conversation,
    call_project,
    list_conversation_links,
    list_stale,
    list_threads,
    stamp,
)
from rekal.mcp.tools import SHORTEST_ID, AgentCall, Tool, ToolAnswer, bind_tools, fail, pretty, say
from rekal.memory.events import Amend, MemoryType
from rekal.memory.state import Memory
from rekal.memory.write import NewMemory

_HOUR = 3600.0
_WEIGHTS = {"w_fts": "words", "w_vec": "meaning", "w_recency": "age", "half_life": "half_life"}
Fields = dict[str, Any]


def memory_fields(one: Memory, score: float = 0.0) -> Fields:
    """A memory as that server writes it. Counts of access are not kept: being returned is no evidence."""
    expires = one.ends_at if one.ends_at is not None and one.superseded_by is None else None
    return {
        "id": one.id,
        "content": one.text,
        "memory_type": one.type,
        "tier": "scratch" if expires else "durable",
        "project": one.project,
        "conversation_id": one.conversation,
        "tags": list(one.tags),
        "created_at": stamp(one.occurred_at),
        "updated_at": stamp(one.updated_at),
        "expires_at": stamp(expires),
        "access_count": 0,
        "last_accessed_at": None,
        "score": score,
    }


def _memory_held(call: AgentCall, project: str | None, kind: str = "", conversation: str = "") -> list[Memory]:
    """Memories that hold here, of a project and type, newest first."""
    query = MemoryQuery(
        types=(kind,) if kind else (), conversation=conversation or None, place=place_of_desk(call.desk), limit=-1
    )
    return [one for one in list_memories(call.desk, query).memories if one.project == project]


def _find(desk: Desk, name: str) -> Memory | None:
    try:
        return find_memory(desk, name) if len(name) >= SHORTEST_ID else None
    except UsageError:
        return None


def _set_project(call: AgentCall) -> ToolAnswer:
    call.settings["project"] = call.text("project")
    return answer_text(f"Default project set to '{call.text('project')}'")


def _store(call: AgentCall) -> ToolAnswer:
    new = _new_memory(call, call.text("memory_type", "fact"))
    if old := call.text("replaces"):  # version 3
        if _find(call.desk, old) is None:
            return fail(f"Error executing tool memory_store: Memory {old} not found")
        made = supersede(call.desk, old, new).memory
        return answer_text(f"Stored memory {made.id} (replaces {old})")
    return answer_text(f"Stored memory {remember(call.desk, new).memory.id}")


def _new_memory(call: AgentCall, kind: str, ttl: float | None = None) -> NewMemory:
    return NewMemory(
        text=call.text("content"),
        type=cast(MemoryType, kind),  # one of the contract's: validation has checked it
        tags=tuple(call.texts("tags")),
        project=call_project(call),
        conversation=call.text("conversation_id") or None,
        ttl=ttl,
    )


def _store_scratch(call: AgentCall) -> ToolAnswer:
    hours = call.arguments.get("ttl_hours", 24.0)
    if not isinstance(hours, int | float) or not 0 < hours < 1e6:
        return fail("Error executing tool memory_store_scratch: ttl_hours must be above 0")
    made = remember(call.desk, _new_memory(call, call.text("memory_type", "context"), hours * _HOUR)).memory
    return answer_text(f"Stored scratch memory {made.id} (expires {stamp(made.ends_at)})")


def _weights(call: AgentCall, project: str | None) -> RankWeights:
    chosen = dict(call.settings.get("weights", {}).get(project, {}))
    for key in _WEIGHTS:
        if isinstance(value := call.arguments.get(key), int | float):
            chosen[key] = float(value)
    return RankWeights(**{_WEIGHTS[key]: value for key, value in chosen.items()})


def _memories_for_call(call: AgentCall, limit: int) -> list[ScoredMemory]:
    project = call_project(call)
    held = _memory_held(call, project, call.text("memory_type"), call.text("conversation_id"))
    if tier := call.text("tier"):
        held = [one for one in held if memory_fields(one)["tier"] == tier]
    return rank_by_text(call.desk, held, call.text("query"), limit, _weights(call, project))


def _memory_search(call: AgentCall) -> ToolAnswer:
    found = _memories_for_call(call, call.number("limit", 10, MOST_ROWS))
    return answer_rows([memory_fields(one.memory, one.score) for one in found])


def _update(call: AgentCall) -> ToolAnswer:
    name = call.text("memory_id")
    changes: Fields = {}
    if content := call.text("content"):
        changes["text"] = content
    if isinstance(call.arguments.get("tags"), list):
        changes["tags"] = tuple(call.texts("tags"))
    if kind := call.text("memory_type"):
        changes["type"] = kind
    if not changes or _find(call.desk, name) is None:
        return answer_text(f"Memory {name} not found or no changes")
    amend_memory(call.desk, name, Amend(**changes))
    return answer_text(f"Updated memory {name}")


def _delete(call: AgentCall) -> ToolAnswer:
    name = call.text("memory_id")
    held = _find(call.desk, name)
    if held is None or held.state == "retracted":
        return answer_text(f"Memory {name} not found")
    review_memory(call.desk, name, "retract")
    return answer_text(f"Deleted memory {name}")


def _set_config(call: AgentCall) -> ToolAnswer:
    key, value, project = call.text("key"), call.text("value"), call_project(call)
    if key not in _WEIGHTS:
        return answer_text(f"Invalid config key '{key}'. Valid keys: {', '.join(_WEIGHTS)}")
    if project is None:
        return answer_text("No project specified and no default project set")
    try:
        number = float(value)
        RankWeights(**{_WEIGHTS[key]: number})
    except (ValueError, UsageError):
        return answer_text(f"Invalid value '{value}' for {key}: must be numeric")
    call.settings.setdefault("weights", {}).setdefault(project, {})[key] = number
    return answer_text(f"Set {key}={value} for project '{project}'")


def _supersede(call: AgentCall) -> ToolAnswer:
    name = call.text("old_id")
    old = _find(call.desk, name)
    if old is None:
        return fail(f"Error executing tool memory_supersede: Memory {name} not found")
    new = NewMemory(
        text=call.text("new_content"),
        type=cast(MemoryType, call.text("memory_type", old.type)),
        tags=tuple(call.texts("tags")) if isinstance(call.arguments.get("tags"), list) else old.tags,
        project=call.text("project") or old.project,
        conversation=call.text("conversation_id") or old.conversation,
    )
    return answer_text(f"Created memory {supersede(call.desk, name, new).memory.id} superseding {name}")


def _memory_link(call: AgentCall) -> ToolAnswer:
    one, other, relation = call.text("from_id"), call.text("to_id"), call.text("relation")
    link_memories(call.desk, one, relation, other)
    return answer_text(f"Linked {one} --{relation}--> {other}")


def _conflict_fields(call: AgentCall, project: str | None, *, every: bool) -> list[Fields]:
    memories = call.desk.memories()
    held = {one.id: one for one in find_memories_here(call.desk)}
    out = []
    for link in memories.links:
        one, other = held.get(link.source), held.get(link.target)
        if link.relation == "contradicts" and one and other and (every or project in (one.project, other.project)):
            out.append(
                {
                    "memory_id": one.id, "content": one.text, "related_id": other.id, "related_content": other.text,
                    "relation": link.relation, "created_at": stamp(link.created_at),
                }
            )  # fmt: skip
    return out


def _build_context(call: AgentCall) -> ToolAnswer:
    found = _memories_for_call(call, call.number("limit", 10, MOST_ROWS))
    query = call.text("query")
    if "min_score" in call.arguments:  # version 3
        least = float(call.arguments["min_score"])
        kept = [
            {name: memory_fields(one.memory)[name] for name in ("id", "content", "project", "tags", "created_at")}
            | {"score": round(one.score, 3)}
            for one in found
            if one.score >= least
        ]
        answer: Fields = {"query": query, "memories": kept}
        return say(pretty(answer), answer)
    lasting = [memory_fields(one.memory, one.score) for one in found]
    scratch = [one for one in lasting if one["tier"] == "scratch"][: call.number("scratch_limit", 5, MOST_ROWS)]
    lasting = [one for one in lasting if one["tier"] == "durable"]
    days = sorted(str(one["created_at"])[:10] for one in lasting)
    span = f"{len(days)} memories from {days[0]} to {days[-1]}" if days else "No memories found"
    shown = {one["id"] for one in lasting}
    conflicts = [
        one for one in _conflict_fields(call, None, every=True) if {one["memory_id"], one["related_id"]} & shown
    ]
    answer = {
        "query": query,
        "memories": lasting,
        "conflicts": conflicts,
        "timeline_summary": span,
        "scratch": scratch,
    }
    return say(pretty(answer), answer)


def _similar(call: AgentCall) -> ToolAnswer:
    one = _find(call.desk, call.text("memory_id"))
    if one is None:
        return answer_rows([])
    others = [other for other in find_memories_here(call.desk) if other.id != one.id]
    found = rank_by_text(call.desk, others, one.text, call.number("limit", 5, MOST_ROWS), RankWeights(0.5, 0.5, 0.0))
    return answer_rows([memory_fields(other.memory, other.score) for other in found])


def _memory_topics(call: AgentCall) -> ToolAnswer:
    held = _memory_held(call, call_project(call))
    counts = Counter(one.type for one in held)
    latest = {kind: max(one.occurred_at for one in held if one.type == kind) for kind in counts}
    return answer_rows([{"topic": kind, "count": n, "latest": stamp(latest[kind])} for kind, n in counts.most_common()])


def _timeline(call: AgentCall) -> ToolAnswer:
    start, end = call.text("start"), call.text("end")
    found = [memory_fields(one) for one in _memory_held(call, call_project(call))]
    found = [
        one for one in found if (not start or one["created_at"] >= start) and (not end or one["created_at"] <= end)
    ]
    found.sort(key=lambda one: (one["created_at"], one["id"]), reverse=True)
    return answer_rows(found[: call.number("limit", 20, MOST_ROWS)])


def _related(call: AgentCall) -> ToolAnswer:
    one = _find(call.desk, call.text("memory_id"))
    memories = call.desk.memories()
    held = {other.id: other for other in memories.all}
    if one is None:
        return answer_rows([])
    out = [(link.relation, link.target) for link in memories.links if link.source == one.id]
    back = [(link.relation, link.source) for link in memories.links if link.target == one.id]
    pairs = [(relation, held[id_]) for relation, id_ in (*out, *back) if id_ in held]
    return answer_rows([{"relation": relation, "id": other.id, "content": other.text} for relation, other in pairs])


def _health(call: AgentCall) -> ToolAnswer:
    memories, graph = call.desk.memories(), read_graph(call.desk)
    held = memories.current()
    times = sorted(one.occurred_at for one in held)
    answer: Fields = {
        "total_memories": len(held),
        "total_conversations": len(graph.conversations),
        "total_links": len(memories.links),
        "total_conflicts": len(_conflict_fields(call, None, every=True)),
        "oldest_memory": stamp(times[0]) if times else None,
        "newest_memory": stamp(times[-1]) if times else None,
        "memories_by_type": dict(Counter(one.type for one in held)),
        "memories_by_project": dict(Counter(one.project or "<none>" for one in held)),
    }
    return say(pretty(answer), answer)


def _conflicts(call: AgentCall) -> ToolAnswer:
    project = call_project(call)
    return answer_rows(_conflict_fields(call, project, every=project is None))


def _memory_prune(call: AgentCall) -> ToolAnswer:
    project, kind, before = call.text("project"), call.text("memory_type"), call.text("before")
    days = call.arguments.get("older_than_days")
    # The connection's project is no filter: it was not set to delete by.
    if not (project or kind or before or isinstance(days, int)):
        return answer_text("No filter set. Pass project, memory_type, older_than_days or before.")
    oldest = datetime.now(UTC) - timedelta(days=days) if isinstance(days, int) else None
    found = [
        one
        for one in call.desk.memories().current()
        if (not project or one.project == project)
        and (not kind or one.type == kind)
        and (not before or str(stamp(one.occurred_at)) < before)
        and (oldest is None or one.occurred_at < oldest)
    ]
    if call.arguments.get("dry_run", True):
        sample = ", ".join(one.id for one in found[:5])
        return answer_text(f"Would delete {len(found)} memories" + (f" (sample ids: {sample})" if found else ""))
    for one in found:
        review_memory(call.desk, one.id, "retract", "pruned")
    return answer_text(f"Deleted {len(found)} memories")


READS = (
    "conversation_tree", "conversation_threads", "conversation_stale", "memory_search", "memory_similar",
    "memory_topics", "memory_timeline", "memory_related", "memory_health", "memory_conflicts", "memory_build_context",
)  # fmt: skip


def memory_tools() -> list[Tool]:
    """The 21 tools."""
    runs = {
        "conversation_start": begin_conversation,
        "conversation_tree": list_conversation_links,
        "conversation_threads": list_threads,
        "conversation_stale": list_stale,
        "memory_set_project": _set_project,
        "memory_store": _store,
        "memory_store_scratch": _store_scratch,
        "memory_search": _memory_search,
        "memory_delete": _delete,
        "memory_prune": _memory_prune,
        "memory_update": _update,
        "memory_set_config": _set_config,
        "memory_similar": _similar,
        "memory_topics": _memory_topics,
        "memory_timeline": _timeline,
        "memory_related": _related,
        "memory_health": _health,
        "memory_conflicts": _conflicts,
        "memory_supersede": _supersede,
        "memory_link": _memory_link,
        "memory_build_context": _build_context,
    }
    return bind_tools("memory", runs, READS)
