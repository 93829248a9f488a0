"""The profile ``graph``: nine tools and a resource, with the schemas and answers of Anthropic's memory server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from rekal.app import memory_graph
from rekal.app.memory_graph import Ends, NewEntity, NewObservation
from rekal.mcp.tools import AgentCall, Tool, ToolAnswer, bind_tools, pretty, say
from rekal.memory.graph import Graph, GraphEntity, GraphRelation

RESOURCE = "memory://knowledge-graph"
Fields = dict[str, Any]


def entity_fields(one: GraphEntity) -> Fields:
    """An entity as the contract writes it, in that order; replaced observations are left out."""
    return {
        "name": one.name,
        "entityType": one.type,
        "observations": [seen.text for seen in one.active],
    }


def relation_fields(one: GraphRelation) -> Fields:
    """A relation as the contract writes it."""
    return {"from": one.source, "to": one.target, "relationType": one.type}


def graph_fields(graph: Graph, names: Sequence[str] | None = None) -> Fields:
    """Entities, all or those of ``names``, with each relation that has an end among them."""
    wanted = None if names is None else set(names)
    entities = [one for one in graph.entities if wanted is None or one.name in wanted]
    held = {one.name for one in entities}
    relations = [
        one for one in graph.relations if one.ended_at is None and (wanted is None or held & {one.source, one.target})
    ]
    return {
        "entities": [entity_fields(one) for one in entities],
        "relations": [relation_fields(one) for one in relations],
    }


def _graph_whole(call: AgentCall) -> ToolAnswer:
    found = graph_fields(memory_graph.read_graph(call.desk))
    return say(pretty(found), found)


def _graph_search(call: AgentCall) -> ToolAnswer:
    query, graph = call.text("query").lower(), memory_graph.read_graph(call.desk)
    names = [
        one.name
        for one in graph.entities
        if any(query in text.lower() for text in (one.name, one.type, *entity_fields(one)["observations"]))
    ]
    found = graph_fields(graph, names)
    return say(pretty(found), found)


def _graph_open(call: AgentCall) -> ToolAnswer:
    found = graph_fields(memory_graph.read_graph(call.desk), call.texts("names"))
    return say(pretty(found), found)


def _create_entities(call: AgentCall) -> ToolAnswer:
    wanted = [
        NewEntity(one["name"], one["entityType"], tuple(one["observations"])) for one in call.arguments["entities"]
    ]
    made = [entity_fields(one) for one in memory_graph.put_entities(call.desk, wanted)]
    return say(pretty(made), {"entities": made})


def _graph_ends(items: Sequence[Fields]) -> list[Ends]:
    return [Ends(one["from"], one["to"], one["relationType"]) for one in items]


def _create_relations(call: AgentCall) -> ToolAnswer:
    made = [relation_fields(one) for one in memory_graph.relate(call.desk, _graph_ends(call.arguments["relations"]))]
    return say(pretty(made), {"relations": made})


def _add_observations(call: AgentCall) -> ToolAnswer:
    asked = call.arguments["observations"]
    wanted = [NewObservation(one["entityName"], text) for one in asked for text in one["contents"]]
    # Entities without a text to add are looked up by this, too: an unknown one fails the whole call.
    left = memory_graph.observe(call.desk, wanted)
    results = []
    for one in asked:
        mine = [new for new in left if new.entity == one["entityName"]]
        added = mine[: len(one["contents"])]
        left = [new for new in left if new not in added]
        results.append({"entityName": one["entityName"], "addedObservations": [new.text for new in added]})
    return say(pretty(results), {"results": results})


def _done(message: str) -> ToolAnswer:
    return say(message, {"success": True, "message": message})


def _delete_entities(call: AgentCall) -> ToolAnswer:
    names = list(dict.fromkeys(call.texts("entityNames")))
    gone = memory_graph.remove_entities(call.desk, names)
    missing = [name for name in names if name not in gone]
    if missing:
        return _done(f"Deleted {len(gone)} of {len(names)} entities. Not found: {', '.join(missing)}")
    return _done("Entities deleted successfully")


def _delete_observations(call: AgentCall) -> ToolAnswer:
    wanted = [
        NewObservation(one["entityName"], text) for one in call.arguments["deletions"] for text in one["observations"]
    ]
    gone = memory_graph.remove_observations(call.desk, wanted)
    whole = gone == len(wanted)
    return _done(
        "Observations deleted successfully"
        if whole
        else f"Deleted {gone} of {len(wanted)} observations. The others were not found"
    )


def _delete_relations(call: AgentCall) -> ToolAnswer:
    wanted = list(dict.fromkeys(_graph_ends(call.arguments["relations"])))
    gone = memory_graph.unrelate(call.desk, wanted)
    whole = gone == len(wanted)
    return _done(
        "Relations deleted successfully"
        if whole
        else f"Deleted {gone} of {len(wanted)} relations. The others were not found"
    )


READS = ("read_graph", "search_nodes", "open_nodes")


def graph_tools() -> list[Tool]:
    """The nine tools."""
    runs = {
        "create_entities": _create_entities,
        "create_relations": _create_relations,
        "add_observations": _add_observations,
        "delete_entities": _delete_entities,
        "delete_observations": _delete_observations,
        "delete_relations": _delete_relations,
        "read_graph": _graph_whole,
        "search_nodes": _graph_search,
        "open_nodes": _graph_open,
    }
    return bind_tools("graph", runs, READS)
