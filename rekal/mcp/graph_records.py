"""Entities as ``graph-plus`` writes them, and the numbers that stand for ids there."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from rekal.errors import UsageError
from rekal.memory.graph import Graph, GraphEntity

Fields = dict[str, Any]


def number_of(id_: str) -> int:
    """Return the number that stands for an id: the same every time, and exact in JavaScript."""
    return int.from_bytes(hashlib.blake2b(id_.encode(), digest_size=6).digest(), "big")


def rich_entity(one: GraphEntity) -> Fields:
    """Return an entity as both graph contracts write it, with its number and status."""
    return {
        "id": number_of(one.id),
        "name": one.name,
        "entityType": one.type or "Generic",
        "status": one.status or "activo",
        "observations": [seen.text for seen in one.active],
    }


def need_texts(item: Mapping[str, Any], name: str) -> tuple[str, ...]:
    """Return a list of texts of an object; empty where it is left out. UsageError when it is anything else."""
    value = item.get(name, [])
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        raise UsageError(f"{name} is no list of texts", "give texts")
    return tuple(value)


def need_entity(graph: Graph, name: str) -> GraphEntity:
    """Return the entity of a name. UsageError without one."""
    found = next((one for one in graph.entities if one.name == name), None)
    if found is None:
        raise UsageError(f"Entity not found: {name}", "make it first")
    return found
