"""The JSON lines of Anthropic's memory server: read with all the damage that files of it have had, and written."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from rekal.app.transfer.items import Incoming, Item, texts_of
from rekal.memory.events import Observe, Relate, SetEntity
from rekal.memory.graph import entity_id, relation_id

FORMAT = "memory server (JSON lines)"
_DECODER = json.JSONDecoder()


def read_graph_lines(text: str, at: datetime) -> Incoming:
    """Read entities first and relations after them, whatever their order in the file.

    A byte order mark, either line end, several objects on a line, arrays of objects and a missing ``type`` are taken;
    what cannot be read is counted by its line. All is said at ``at``: the format has no times.
    """
    entities: list[Item] = []
    relations: list[Item] = []
    problems: list[str] = []
    for number, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        for value in _values(line.strip(), number, problems):
            if not _take_line(value, at, entities, relations):
                problems += [f"line {number} holds no entity and no relation"]
    return Incoming(FORMAT, (*entities, *relations), tuple(problems))


def _values(line: str, number: int, problems: list[str]) -> Iterator[Any]:
    at = 0
    while at < len(line):
        try:
            value, at = _DECODER.raw_decode(line, at)
        except ValueError:
            problems.append(f"line {number} is damaged from character {at + 1} on")
            return
        yield from value if isinstance(value, list) else [value]
        while at < len(line) and line[at] in " \t\r,":
            at += 1


def _take_line(value: Any, at: datetime, entities: list[Item], relations: list[Item]) -> bool:
    if not isinstance(value, dict):
        return False
    name, source, target = value.get("name"), value.get("from"), value.get("to")
    if isinstance(name, str) and name:
        id_, type_, held = entity_id(name), value.get("entityType"), value.get("observations")
        made = SetEntity(name=name, type=type_ if isinstance(type_, str) else "")
        texts = texts_of(held if isinstance(held, list) else [])
        entities.append(Item(id_, "entity", made, at, "entities"))
        entities += [Item(id_, "observe", Observe(text=text), at, "observations") for text in texts]
        return True
    kind = value.get("relationType")
    if isinstance(source, str) and isinstance(target, str) and isinstance(kind, str) and source and target and kind:
        said = Relate(source=source, target=target, type=kind)
        relations.append(Item(relation_id(source, target, kind), "relate", said, at, "relations"))
        return True
    return False
