"""Tools of ``graph-plus`` that search by meaning, reflect, import, and find what is too large or is there twice."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

from rekal.app import graph_upkeep, memory_graph
from rekal.app.graph_upkeep import CONTAINS, PART_OF, EntityPart, SplitAnalysis
from rekal.app.hosts import memory_search
from rekal.app.transfer import import_file
from rekal.errors import UsageError
from rekal.mcp.conversations import MOST_ROWS, stamp
from rekal.mcp.graph_records import Fields, need_entity, need_texts, number_of
from rekal.mcp.tools import AgentCall
from rekal.memory.events import Reflect
from rekal.memory.graph import Graph, GraphEntity, Reflection

_MOST_FOUND = 50
_PREVIEW = 80
_HOURLY_DECAY = 0.0001
_LEAST_FACTOR = 0.1
_STATUS_FACTOR = {"pausado": 0.85, "completado": 0.7, "archivado": 0.5}
_METADATA_FACTOR = 0.7
_MOODS = ("frustracion", "satisfaccion", "curiosidad", "duda", "insight")
_TARGETS = ("entity", "session", "relation", "global")


def _find_by_meaning(call: AgentCall) -> Fields:
    """Rank by words and meaning. Nothing is learned from what was returned before, and no call is left to chance."""
    query, limit = call.text("query"), min(_MOST_FOUND, call.number("limit", 10, _MOST_FOUND))
    graph = memory_graph.read_graph(call.desk)
    texts = [_entity_text(one) for one in graph.entities]
    words = memory_search.share_words(texts, query)
    near = memory_search.measure_meaning(call.desk, texts, query) if query.strip() else None
    now = datetime.now(UTC)
    rows = []
    for at, one in enumerate(graph.entities):
        meaning = max(0.0, float(near[at])) if near is not None else None
        if query.strip() and words[at] <= 0 and (meaning or 0.0) < memory_search.NEAR_IN_MEANING:
            continue
        hours = (now - one.updated_at).total_seconds() / 3600
        temporal = max(_LEAST_FACTOR, math.exp(-_HOURLY_DECAY * max(0.0, hours)))
        base = words[at] if meaning is None else (words[at] + meaning) / 2
        row: Fields = {
            "name": one.name, "entityType": one.type or "Generic", "observations": [seen.text for seen in one.active],
            "limbic_score": round(base * temporal * _status_factor(one), 4),
            "scoring": {"importance": 0.0, "temporal_factor": round(temporal, 4), "cooc_boost": 0.0},
            "routing_strategy": "hybrid_balanced",
        }  # fmt: skip
        rows.append({**row, "distance": round(1 - meaning, 4)} if meaning is not None else row)
    rows.sort(key=lambda row: (-row["limbic_score"], row["name"]))
    found: Fields = {"results": rows[:limit]}
    return {**found, "left": len(rows) - limit} if len(rows) > limit else found


def _entity_text(one: GraphEntity) -> str:
    return f"{one.name} ({one.type or 'Generic'}): " + " | ".join(seen.text for seen in one.active)


def _status_factor(one: GraphEntity) -> float:
    """Weigh down what is over, before anything is cut: what comes after it in the list is what is left."""
    metadata = sum(seen.kind == "metadata" for seen in one.active)
    factor = _METADATA_FACTOR if metadata * 2 > len(one.active) else 1.0
    return factor * _STATUS_FACTOR.get(one.status, 1.0)


def _import_graph(call: AgentCall) -> Fields:
    path = Path(call.text("source_path")).expanduser()
    if not call.text("source_path"):
        raise UsageError("source_path is empty", "name the file to import")
    report = import_file.import_file(call.desk, path)
    return {
        "entities_imported": report.read.get("entities", 0),
        "relations_imported": report.read.get("relations", 0),
        "errors": len(report.problems),
        "skipped": report.held,
    }


def _analysis_fields(found: SplitAnalysis) -> Fields:
    return {
        "entity_name": found.entity.name, "entity_type": found.entity.type or "Generic",
        "observation_count": len(found.entity.active), "threshold": found.threshold, "needs_split": found.is_over,
        "topics": {name: list(texts) for name, texts in found.topics.items()},
        "split_score": round(found.score, 4),
    }  # fmt: skip


def _measure_entity(call: AgentCall) -> SplitAnalysis:
    graph = memory_graph.read_graph(call.desk)
    return graph_upkeep.analyse_entity(call.desk, need_entity(graph, call.text("entity_name")))


def _analyse_split(call: AgentCall) -> Fields:
    return {"analysis": _analysis_fields(_measure_entity(call))}


def _propose_split(call: AgentCall) -> Fields:
    found = _measure_entity(call)
    if not found.is_over:
        return {"proposal": None, "message": "Entity does not need splitting"}
    name, type_ = found.entity.name, found.entity.type or "Generic"
    parts = [
        {"name": f"{name} - {topic}", "entity_type": type_, "observations": list(texts)}
        for topic, texts in found.topics.items()
        if len(texts) > 1  # a topic of one sentence makes no entity; it stays where it is
    ]
    links = [
        {"from": source, "to": target, "type": kind}
        for part in parts
        for source, target, kind in ((name, part["name"], CONTAINS), (part["name"], name, PART_OF))
    ]
    counts = {"observation_count", "threshold", "split_score"}
    analysis = {key: value for key, value in _analysis_fields(found).items() if key in counts}
    return {
        "proposal": {
            "original_entity": {"name": name, "entity_type": type_},
            "suggested_splits": parts,
            "relations_to_create": links,
            "analysis": {**analysis, "num_topics": len(found.topics)},
        }
    }


def _execute_split(call: AgentCall) -> Fields:
    parts = []
    for one in call.arguments["approved_splits"]:
        if not isinstance(one.get("name"), str) or not isinstance(one.get("observations"), list):
            raise UsageError("a part lacks its name or its observations", "give both")
        type_ = one.get("entity_type")
        parts.append(
            EntityPart(one["name"], type_ if isinstance(type_, str) else "Generic", need_texts(one, "observations"))
        )
    done = graph_upkeep.split_entity(
        call.desk, call.text("entity_name"), parts, call.text("parent_entity_name") or None
    )
    return {
        "result": {
            "new_entities": list(done.names), "moved_observations": done.moved, "relations_created": done.relations,
            "original_observations_remaining": done.left,
        }
    }  # fmt: skip


def _candidates(call: AgentCall, graph: Graph) -> list[SplitAnalysis]:
    found = [graph_upkeep.analyse_entity(call.desk, one) for one in graph.entities]
    return sorted((one for one in found if one.is_over), key=lambda one: -one.score)


def _list_candidates(call: AgentCall) -> Fields:
    found = _candidates(call, memory_graph.read_graph(call.desk))
    return {"candidates": [_analysis_fields(one) for one in found]}


def _find_duplicates(call: AgentCall) -> Fields:
    held = need_entity(memory_graph.read_graph(call.desk), call.text("entity_name")).active
    cosine, containment = (
        float(call.arguments.get(name, default))
        for name, default in (("threshold", 0.85), ("containment_threshold", 0.7))
    )
    pairs = graph_upkeep.find_near(call.desk, [one.text for one in held], cosine, containment)
    group = list(range(len(held)))
    for pair in pairs:
        low, high = sorted((group[pair.one], group[pair.other]))
        group = [low if root == high else root for root in group]
    later = {pair.other for pair in pairs}
    clusters = []
    for root in dict.fromkeys(group):
        members = [at for at in range(len(held)) if group[at] == root]
        if len(members) > 1:
            rows = [
                {
                    "observation_id": number_of(held[at].id),
                    "content": held[at].text,
                    "similarity_flag": int(at in later),
                }
                for at in members
            ]
            clusters.append({"observations": rows, "size": len(rows)})
    return {
        "entity": call.text("entity_name"), "total_observations": len(held), "duplicates_found": len(pairs),
        "clusters": clusters,
    }  # fmt: skip


def _report_upkeep(call: AgentCall) -> Fields:
    graph, now = memory_graph.read_graph(call.desk), datetime.now(UTC)
    days = float(call.arguments.get("stale_days", 90.0))
    over = [_split_row(one) for one in _candidates(call, graph)]
    flagged = {one.name: rows for one in graph.entities if (rows := _flagged_rows(call, one))}
    stale = [
        {
            "entity_name": one.name, "entity_type": one.type or "Generic", "status": one.status or "activo",
            "observation_count": len(one.active), "last_access": None, "access_count": 0, "days_since_access": None,
            "last_change": stamp(one.updated_at),
            "recommendation": f"Not changed in {(now - one.updated_at).days} days: consider archiving it",
        }
        for one in graph.entities
        if one.active and one.status != "archivado" and (now - one.updated_at).total_seconds() > days * 86400
    ]  # fmt: skip
    # Every entity above its threshold is a candidate already, so none is large alone; the contract has the list.
    large: list[Fields] = []
    return {
        "summary": {
            "total_entities": len(graph.entities),
            "total_observations": sum(len(one.active) for one in graph.entities),
            "split_candidates_count": len(over),
            "flagged_observations_count": sum(map(len, flagged.values())),
            "stale_entities_count": len(stale),
            "large_entities_count": len(large),
        },
        "split_candidates": over,
        "flagged_observations": flagged,
        "stale_entities": stale,
        "large_entities": large,
    }


def _split_row(one: SplitAnalysis) -> Fields:
    count = len(one.entity.active)
    return {
        "entity_name": one.entity.name, "entity_type": one.entity.type or "Generic", "observation_count": count,
        "threshold": one.threshold, "topic_diversity": round(one.score, 2),
        "recommendation": f"Split it: {count} observations are {count / one.threshold:.1f} times its threshold",
    }  # fmt: skip


def _flagged_rows(call: AgentCall, entity: GraphEntity) -> list[Fields]:
    pairs = graph_upkeep.find_near(call.desk, [one.text for one in entity.active], meaning=False)
    rows = [entity.active[at] for at in sorted({pair.other for pair in pairs})]
    return [
        {
            "id": number_of(one.id), "content_length": len(one.text),
            "content_preview": one.text if len(one.text) <= _PREVIEW else one.text[:_PREVIEW] + "...",
        }
        for one in rows
    ]  # fmt: skip


def _add_reflection(call: AgentCall) -> Fields:
    about, number = call.text("target_type"), call.arguments.get("target_id")
    if about not in _TARGETS:
        raise UsageError(f"{about} is nothing to reflect on", f"give one of {', '.join(_TARGETS)}")
    mood = call.text("mood") or None
    if mood is not None and mood not in _MOODS:
        raise UsageError(f"{mood} is no mood", f"give one of {', '.join(_MOODS)}")
    target = _reflection_target(memory_graph.read_graph(call.desk), about, number)
    said = Reflect(
        text=call.text("content"), author=call.text("author", "sofia"), mood=mood,
        about="all" if about == "global" else about, target=target,  # type: ignore[arg-type] # checked above
    )  # fmt: skip
    made = memory_graph.reflect(call.desk, said).reflections[-1]
    return {"reflection": _reflection_fields(made)}


def _reflection_target(graph: Graph, about: str, number: object) -> str | None:
    if about == "global":
        if number is not None:
            raise UsageError("a global reflection has no target_id", "leave it out")
        return None
    if about == "session":
        return None if number is None else str(number)
    held = graph.entities if about == "entity" else graph.relations
    found = next((one.id for one in held if number_of(one.id) == number), None)
    if found is None:
        raise UsageError(f"there is no {about} {number}", "`open_nodes` gives their ids")
    return found


def _reflection_fields(one: Reflection) -> Fields:
    numeric = one.about == "session" and one.target is not None and one.target.isdigit()
    target = int(one.target) if numeric and one.target else number_of(one.target) if one.target else None
    return {
        "id": number_of(one.id), "target_type": "global" if one.about == "all" else one.about, "target_id": target,
        "author": one.author, "content": one.text, "mood": one.mood, "created_at": stamp(one.created_at),
    }  # fmt: skip


def _find_reflections(call: AgentCall) -> Fields:
    """Filter first and rank then, so that a limit never hides what the filters mean."""
    query, limit = call.text("query"), call.number("limit", 10, MOST_ROWS)
    wanted = {name: call.text(name) for name in ("author", "mood", "target_type")}
    held = [
        one
        for one in memory_graph.read_graph(call.desk).reflections
        if all(not value or _reflection_fields(one)[name] == value for name, value in wanted.items())
    ]
    texts = [one.text for one in held]
    words = memory_search.share_words(texts, query)
    near = memory_search.measure_meaning(call.desk, texts, query) if query.strip() else None
    rows = []
    for at, one in enumerate(held):
        meaning = max(0.0, float(near[at])) if near is not None else 0.0
        if not query.strip() or words[at] > 0 or meaning >= memory_search.NEAR_IN_MEANING:
            rows.append({**_reflection_fields(one), "score": round(max(words[at], meaning), 4)})
    rows.sort(key=lambda row: -row["score"])
    found: Fields = {"results": rows[:limit]}
    return {**found, "left": len(rows) - limit} if len(rows) > limit else found


UPKEEP: Mapping[str, Callable[[AgentCall], Fields]] = {
    "search_semantic": _find_by_meaning,
    "migrate": _import_graph,
    "analyze_entity_split": _analyse_split,
    "propose_entity_split_tool": _propose_split,
    "execute_entity_split_tool": _execute_split,
    "find_split_candidates": _list_candidates,
    "find_duplicate_observations": _find_duplicates,
    "consolidation_report": _report_upkeep,
    "add_reflection": _add_reflection,
    "search_reflections": _find_reflections,
}
"""The functions by the names of their tools."""

UPKEEP_READS: Sequence[str] = (
    "search_semantic", "analyze_entity_split", "propose_entity_split_tool", "find_split_candidates",
    "find_duplicate_observations", "consolidation_report", "search_reflections",
)  # fmt: skip
