"""The profile ``graph-plus``: the graph with the names, parameters and results of mcp-memory, ids included.

Calls in the shape of Anthropic's server are taken too. Where mcp-memory lost data, its shape stays and the data too: a
type that is left out is not reset, both sides of a mutual relation go together, nothing that a call was given is
dropped without a word.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any

from rekal.app import graph_upkeep, memory_graph
from rekal.app.graph_upkeep import CONTAINS, PART_OF
from rekal.app.memory_graph import Ends, NewEntity, NewObservation
from rekal.errors import RekalError, UsageError
from rekal.mcp.conversations import stamp
from rekal.mcp.graph_profile import READS, graph_fields
from rekal.mcp.graph_records import Fields, need_entity, need_texts, number_of, rich_entity
from rekal.mcp.graph_upkeep_tools import UPKEEP, UPKEEP_READS
from rekal.mcp.tools import AgentCall, Tool, ToolAnswer, bind_tools, say
from rekal.memory.graph import Graph, GraphEntity, GraphRelation, search_graph

Answer = Callable[[AgentCall], Fields]
_INVERSE = {CONTAINS: PART_OF, PART_OF: CONTAINS}
_MOST_ENTITIES, _MOST_OBSERVATIONS, _LONGEST_QUERY = 50, 100, 500


def _rich_relation(one: GraphRelation) -> Fields:
    ends = {"from": one.source, "to": one.target, "relationType": one.type}
    return {"id": number_of(one.id), **ends, "context": one.context, "active": one.ended_at is None}


def _create_or_merge(call: AgentCall) -> Fields:
    asked = call.arguments["entities"]
    _bound(len(asked), _MOST_ENTITIES, "entities")
    for one in asked:
        if not isinstance(one.get("name"), str):
            raise UsageError("an entity has no name", "give each a name")
        _bound(len(need_texts(one, "observations")), _MOST_OBSERVATIONS, "observations of one entity")
    known = {one.name for one in memory_graph.read_graph(call.desk).entities}
    wanted = [
        # Its defaults are for new entities: of one that is there they would say what nobody said.
        NewEntity(
            one["name"], _item_text(one, "entityType", "" if one["name"] in known else "Generic"),
            need_texts(one, "observations"),
            _item_text(one, "status", "" if one["name"] in known else "activo"),
        )
        for one in asked
    ]  # fmt: skip
    return {"entities": [rich_entity(one) for one in memory_graph.merge_entities(call.desk, wanted)]}


def _item_text(item: Mapping[str, Any], name: str, default: str = "") -> str:
    value = item.get(name)
    return value if isinstance(value, str) else default


def _bound(count: int, most: int, name: str) -> None:
    if count > most:
        raise UsageError(f"{count} {name} are too many for one call", f"give at most {most}")


def _relate_each(call: AgentCall) -> Fields:
    graph = memory_graph.read_graph(call.desk)
    names = {one.name for one in graph.entities}
    held = {_ends_of(one) for one in graph.relations if one.ended_at is None}
    good: list[Ends] = []
    errors: list[Fields] = []
    for item in call.arguments["relations"]:
        ends = _asked_ends(item)
        absent = next((name for name in (ends.source, ends.target) if name not in names), None)
        if absent is not None:
            errors.append({**item, "error": f"Entity not found: {absent}"})
        elif _without_context(ends) in held:
            errors.append({**item, "error": "Relation already exists"})
        else:
            good.append(ends)
            held.add(_without_context(ends))
    inverse = [Ends(one.target, one.source, _INVERSE[one.type], one.context) for one in good if one.type in _INVERSE]
    made = memory_graph.relate(call.desk, [*good, *inverse]) if good else []
    asked = {_without_context(one) for one in good}
    return _with_errors({"relations": [_rich_relation(one) for one in made if _ends_of(one) in asked]}, errors)


def _with_errors(found: Fields, errors: list[Fields]) -> Fields:
    return {**found, "errors": errors} if errors else found


def _asked_ends(item: Mapping[str, Any]) -> Ends:
    if not all(isinstance(item.get(name), str) for name in ("from", "to", "relationType")):
        raise UsageError("a relation lacks from, to or relationType", "give all three")
    return Ends(item["from"], item["to"], item["relationType"], _item_text(item, "context") or None)


def _ends_of(one: GraphRelation) -> Ends:
    return Ends(one.source, one.target, one.type)


def _without_context(ends: Ends) -> Ends:
    return Ends(ends.source, ends.target, ends.type)


def _observe_either(call: AgentCall) -> Fields:
    """Texts on one entity, or the other contract's list of entities with their contents."""
    name, asked = call.text("name"), call.arguments["observations"]
    _bound(len(asked), _MOST_OBSERVATIONS, "observations")
    if name:
        replaces = _observation_id(call, name, call.arguments.get("supersedes"))
        kind = call.text("kind", "generic")
        new = [NewObservation(name, text, kind, replaces) for text in need_texts(call.arguments, "observations")]
        memory_graph.observe(call.desk, new)
        return {"entity": rich_entity(need_entity(memory_graph.read_graph(call.desk), name))}
    if not all(isinstance(one, dict) and isinstance(one.get("entityName"), str) for one in asked):
        raise UsageError("the entity is not named", "give `name`, or objects with entityName and contents")
    wanted = [NewObservation(one["entityName"], text) for one in asked for text in need_texts(one, "contents")]
    added = {(one.entity, one.text) for one in memory_graph.observe(call.desk, wanted)}
    return {
        "results": [
            {
                "entityName": one["entityName"],
                "addedObservations": [
                    text for text in need_texts(one, "contents") if (one["entityName"], text) in added
                ],
            }
            for one in asked
        ]
    }


def _observation_id(call: AgentCall, name: str, number: object) -> str | None:
    if not isinstance(number, int):
        return None
    held = need_entity(memory_graph.read_graph(call.desk), name)
    found = next((one.id for one in held.active if number_of(one.id) == number), None)
    if found is None:
        raise UsageError(f"{name} has no observation {number} that could be replaced", "`open_nodes` gives their ids")
    return found


def _delete_some(call: AgentCall) -> Fields:
    names = list(dict.fromkeys(call.texts("entityNames")))
    gone = memory_graph.remove_entities(call.desk, names)
    errors = [{"name": name, "error": f"Entity not found: {name}"} for name in names if name not in gone]
    return _with_errors({"deleted": gone}, errors)


def _unobserve_either(call: AgentCall) -> Fields:
    name = call.text("name")
    asked = call.arguments.get("deletions") or [{"entityName": name, "observations": call.texts("observations")}]
    if not all(isinstance(one, dict) and isinstance(one.get("entityName"), str) for one in asked):
        raise UsageError("the entity is not named", "give `name` and `observations`, or `deletions`")
    graph = memory_graph.read_graph(call.desk)
    for one in asked:
        need_entity(graph, one["entityName"])
    wanted = [NewObservation(one["entityName"], text) for one in asked for text in need_texts(one, "observations")]
    gone = memory_graph.remove_observations(call.desk, wanted)
    found: Fields = {"deleted": gone, "not_found": len(wanted) - gone}
    if name:
        found = {"entity": rich_entity(need_entity(memory_graph.read_graph(call.desk), name)), **found}
    return found


def _unrelate_both(call: AgentCall) -> Fields:
    items = call.arguments["relations"]
    asked = [_without_context(_asked_ends(one)) for one in items]
    held = {_ends_of(one) for one in memory_graph.read_graph(call.desk).relations}
    inverse = [Ends(one.target, one.source, _INVERSE[one.type]) for one in asked if one.type in _INVERSE]
    memory_graph.unrelate(call.desk, [*asked, *inverse])
    errors = [
        {**item, "error": "Relation not found"} for item, ends in zip(items, asked, strict=True) if ends not in held
    ]
    return _with_errors({"deleted": [item for item, ends in zip(items, asked, strict=True) if ends in held]}, errors)


def _read_page(call: AgentCall) -> Fields:
    graph = memory_graph.read_graph(call.desk)
    start = call.number("offset", 0, len(graph.entities))
    limit = call.number("limit", len(graph.entities), len(graph.entities))
    page = graph.entities[start : start + limit]
    found = _graph_of(graph, page)
    if call.arguments.get("names_only"):
        found["entities"] = [{"name": one.name, "entityType": one.type or "Generic"} for one in page]
    left = len(graph.entities) - start - len(page)
    return {**found, "left": left} if left else found


def _graph_of(graph: Graph, entities: Iterable[GraphEntity]) -> Fields:
    """Entities, and every relation that holds and has an end among them."""
    held = list(entities)
    links = graph_fields(graph, [one.name for one in held])["relations"]
    ends = {(one["from"], one["to"], one["relationType"]) for one in links}
    return {
        "entities": [rich_entity(one) for one in held],
        "relations": [_rich_relation(one) for one in graph.relations if (one.source, one.target, one.type) in ends],
    }


def _search_field(call: AgentCall) -> Fields:
    graph, query, field = memory_graph.read_graph(call.desk), call.text("query"), call.text("field", "any")
    _bound(len(query), _LONGEST_QUERY, "characters of a query")
    wanted = query.casefold()
    texts: Mapping[str, Callable[[GraphEntity], Iterable[str]]] = {
        "name": lambda one: [one.name],
        "type": lambda one: [one.type or "Generic"],
        "observations": lambda one: [seen.text for seen in one.active],
    }
    found = search_graph(graph, query) if field == "any" else [
        one for one in graph.entities if any(wanted in text.casefold() for text in texts[field](one))
    ]  # fmt: skip
    return _graph_of(graph, found)


def _open_whole(call: AgentCall) -> Fields:
    graph = memory_graph.read_graph(call.desk)
    held = {one.name: one for one in graph.entities}
    names = [name for name in dict.fromkeys(call.texts("names")) if name in held]
    kinds, replaced = set(call.texts("kinds")), bool(call.arguments.get("include_superseded"))
    return {"entities": [_open_entity(call, graph, held[name], kinds, replaced=replaced) for name in names]}


def _open_entity(call: AgentCall, graph: Graph, one: GraphEntity, kinds: set[str], *, replaced: bool) -> Fields:
    near = graph_upkeep.find_near(call.desk, [seen.text for seen in one.active], meaning=False)
    flagged = {one.active[pair.other].id for pair in near}
    about = {one.id, one.name, str(number_of(one.id))}
    observations = [
        {
            "id": number_of(seen.id), "content": seen.text, "similarity_flag": int(seen.id in flagged),
            "kind": seen.kind or "generic", "supersedes": number_of(seen.replaces) if seen.replaces else None,
            "superseded_at": stamp(seen.replaced_at), "created_at": stamp(seen.created_at),
        }
        for seen in one.observations
        if (replaced or seen.replaced_at is None) and (not kinds or (seen.kind or "generic") in kinds)
    ]  # fmt: skip
    relations = [
        {
            "id": number_of(link.id), "relation_type": link.type,
            "target_name": link.target if link.source == one.name else link.source,
            "direction": "from" if link.source == one.name else "to", "context": link.context,
            "active": link.ended_at is None, "ended_at": stamp(link.ended_at),
        }
        for link in graph.relations
        if one.name in (link.source, link.target)
    ]  # fmt: skip
    reflections = [
        {
            "id": number_of(said.id), "author": said.author, "content": said.text, "mood": said.mood,
            "created_at": stamp(said.created_at),
        }
        for said in graph.reflections
        if said.about == "entity" and said.target in about
    ]  # fmt: skip
    return {**rich_entity(one), "observations": observations, "relations": relations, "reflections": reflections}


def _end_both(call: AgentCall) -> Fields:
    number = call.arguments["relation_id"]
    graph = memory_graph.read_graph(call.desk)
    held = next((one for one in graph.relations if number_of(one.id) == number), None)
    if held is None:
        raise UsageError(f"Relation not found: {number}", "`open_nodes` gives their ids")
    if held.ended_at is not None:
        return {"notice": "Relation has ended already", "relation": _ended_relation(held)}
    found: Fields = {"relation": _ended_relation(memory_graph.end_relation(call.desk, held.id))}
    inverse = Ends(held.target, held.source, _INVERSE.get(held.type, ""))
    other = next((one for one in graph.relations if _ends_of(one) == inverse and one.ended_at is None), None)
    if other is not None:
        memory_graph.end_relation(call.desk, other.id)
        found["inverse_expired_id"] = number_of(other.id)
    return found


def _ended_relation(one: GraphRelation) -> Fields:
    return {
        "id": number_of(one.id), "from": one.source, "to": one.target, "relation_type": one.type,
        "active": one.ended_at is None, "ended_at": stamp(one.ended_at), "context": one.context,
    }  # fmt: skip


def _as_tool(run: Answer) -> Callable[[AgentCall], ToolAnswer]:
    """Send an object as that server does, once as JSON and once as it is; a failure is an error with its sentence."""

    def answer(call: AgentCall) -> ToolAnswer:
        try:
            found = run(call)
        except RekalError as error:
            failed = {"error": error.message}
            return ToolAnswer((json.dumps(failed, ensure_ascii=False),), failed, True)
        return say(json.dumps(found, ensure_ascii=False), found)

    return answer


def graph_plus_tools() -> list[Tool]:
    """The twenty tools: nine of the graph, and the other eleven of mcp-memory."""
    runs: dict[str, Answer] = {
        "create_entities": _create_or_merge,
        "create_relations": _relate_each,
        "add_observations": _observe_either,
        "delete_entities": _delete_some,
        "delete_observations": _unobserve_either,
        "delete_relations": _unrelate_both,
        "read_graph": _read_page,
        "search_nodes": _search_field,
        "open_nodes": _open_whole,
        "end_relation": _end_both,
        **UPKEEP,
    }
    return bind_tools("graph_plus", {name: _as_tool(run) for name, run in runs.items()}, (*READS, *UPKEEP_READS))
