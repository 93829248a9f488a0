"""The knowledge graph for all faces: entities, observations, relations, reflections, conversations.

Every function is one transaction: all of it is written or nothing. Entities are found by name.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from rekal.app.desk import Desk
from rekal.errors import UsageError
from rekal.memory.events import (
    Content,
    DropEntity,
    EndRelation,
    Observe,
    Reflect,
    Relate,
    SetEntity,
    StartConversation,
    Unobserve,
    check_memory_text,
    check_name,
)
from rekal.memory.graph import Graph, GraphEntity, GraphRelation, entity_id, fold_graph, relation_id
from rekal.memory.write import make_event, new_memory_id
from rekal.store.ledger import Ledger
from rekal.store.memory_log import append_events, read_events


class NewEntity(msgspec.Struct, frozen=True):
    """An entity to be made, with its first observations."""

    name: str
    type: str = ""
    observations: tuple[str, ...] = ()
    status: str = ""


class NewObservation(msgspec.Struct, frozen=True):
    """An observation to be added; ``replaces`` is the id of the one that it supersedes."""

    entity: str
    text: str
    kind: str = ""
    replaces: str | None = None


class Ends(msgspec.Struct, frozen=True):
    """A relation by the names of its ends and its type."""

    source: str
    target: str
    type: str
    context: str | None = None


def read_graph(
    desk: Desk, *, personal: bool = False, as_of: datetime | None = None, known_at: datetime | None = None
) -> Graph:
    """The graph of one store: the repository's, or with ``personal``, or outside a repository, the person's own."""
    return fold_graph(desk.events(personal=personal), as_of, known_at)


class GraphChange:
    """The events of one transaction, and the graph that they find."""

    def __init__(self, desk: Desk, ledger: Ledger) -> None:
        self._desk, self._ledger = desk, ledger
        self.now = datetime.now(UTC)
        self.graph = fold_graph(read_events(ledger.con))
        self.entities = {one.name: one for one in self.graph.entities}
        self.relations = {one.id: one for one in self.graph.relations}
        self._events: list[tuple[str, str, Content]] = []

    def add(self, id_: str, kind: str, content: Content) -> None:
        """Take one event into the transaction."""
        self._events.append((id_, kind, content))

    def name(self, text: str, what: str) -> str:
        """A name, checked and scrubbed."""
        return self._desk.scrub(check_name(text, what))

    def text(self, text: str) -> str:
        """A text, checked and scrubbed."""
        return self._desk.scrub(check_memory_text(text, "the observation"))

    def need(self, name: str) -> GraphEntity:
        """The entity of a name. UsageError without one."""
        found = self.entities.get(name)
        if found is None:
            raise UsageError(f"Entity with name {name} not found", "make it first")
        return found

    def write(self) -> Graph:
        """Append the events; returns the graph as it then is."""
        made = [make_event(id_, kind, content, self._desk.actor, self.now) for id_, kind, content in self._events]
        append_events(self._ledger, made)
        return fold_graph(read_events(self._ledger.con))


def put_entities(desk: Desk, entities: Sequence[NewEntity], *, personal: bool = False) -> list[GraphEntity]:
    """Make entities; those whose name is taken are left as they are. Returns the new ones, in order."""
    with desk.writing(personal=personal) as ledger:
        change, new = GraphChange(desk, ledger), []
        for one in entities:
            name = change.name(one.name, "the name of an entity")
            if name in change.entities or name in new:
                continue
            new.append(name)
            type_, status = (desk.scrub(part.strip()) for part in (one.type, one.status))
            change.add(entity_id(name), "entity", SetEntity(name=name, type=type_, status=status))
            for text in dict.fromkeys(map(change.text, one.observations)):
                change.add(entity_id(name), "observe", Observe(text=text))
        graph = change.write()
    made = {one.name: one for one in graph.entities}
    return [made[name] for name in new]


def merge_entities(desk: Desk, entities: Sequence[NewEntity], *, personal: bool = False) -> list[GraphEntity]:
    """Make entities, or add to those whose name is taken what they lack. Returns all that were named, once each.

    A type or status that is left out changes nothing of an entity that is there.
    """
    with desk.writing(personal=personal) as ledger:
        change, names = GraphChange(desk, ledger), []
        for one in entities:
            name = change.name(one.name, "the name of an entity")
            held = change.entities.get(name)
            type_, status = (desk.scrub(part.strip()) for part in (one.type, one.status))
            if (held is None and name not in names) or type_ or status:
                change.add(entity_id(name), "entity", SetEntity(name=name, type=type_, status=status))
            names.append(name)
            has = {seen.text for seen in held.active} if held else set()
            for text in dict.fromkeys(map(change.text, one.observations)):
                if text not in has:
                    change.add(entity_id(name), "observe", Observe(text=text))
        graph = change.write()
    made = {one.name: one for one in graph.entities}
    return [made[name] for name in dict.fromkeys(names)]


def set_entity(desk: Desk, name: str, *, type_: str = "", status: str = "", personal: bool = False) -> GraphEntity:
    """Change the type or status of an entity. UsageError when there is none of that name."""
    with desk.writing(personal=personal) as ledger:
        change = GraphChange(desk, ledger)
        held = change.need(name)
        change.add(held.id, "entity", SetEntity(name=name, type=desk.scrub(type_), status=desk.scrub(status)))
        graph = change.write()
    return next(one for one in graph.entities if one.name == name)


def observe(desk: Desk, observations: Sequence[NewObservation], *, personal: bool = False) -> list[NewObservation]:
    """Add observations; what an entity is said to be already is not added again. Returns those added.

    UsageError when any entity is unknown; then none is added.
    """
    with desk.writing(personal=personal) as ledger:
        change, added = GraphChange(desk, ledger), []
        present = {(one.name, seen.text) for one in change.graph.entities for seen in one.active}
        for one in observations:
            held, text = change.need(one.entity), change.text(one.text)
            if (one.entity, text) not in present:
                present.add((one.entity, text))
                change.add(held.id, "observe", Observe(text=text, kind=desk.scrub(one.kind), replaces=one.replaces))
                added.append(msgspec.structs.replace(one, text=text))
        change.write()
    return added


def remove_observations(desk: Desk, observations: Sequence[NewObservation], *, personal: bool = False) -> int:
    """Take observations away by their text; returns how many there were."""
    with desk.writing(personal=personal) as ledger:
        change, count = GraphChange(desk, ledger), 0
        for one in observations:
            held = change.entities.get(one.entity)
            if held is not None and any(said.text == one.text for said in held.observations):
                count += 1
                change.add(held.id, "unobserve", Unobserve(text=one.text))
        change.write()
    return count


def remove_entities(desk: Desk, names: Sequence[str], *, personal: bool = False) -> list[str]:
    """Take entities away with their observations and relations; returns the names that there were."""
    with desk.writing(personal=personal) as ledger:
        change = GraphChange(desk, ledger)
        gone = [name for name in dict.fromkeys(names) if name in change.entities]
        for name in gone:
            change.add(entity_id(name), "drop_entity", DropEntity())
        change.write()
    return gone


def relate(desk: Desk, relations: Sequence[Ends], *, personal: bool = False) -> list[GraphRelation]:
    """Relate entities; what is related already is left. Returns the new relations.

    UsageError when an end is unknown; then none is made. A relation that had ended begins anew.
    """
    with desk.writing(personal=personal) as ledger:
        change, new = GraphChange(desk, ledger), []
        for one in relations:
            change.need(one.source), change.need(one.target)
            type_ = change.name(one.type, "the type of a relation")
            id_ = relation_id(one.source, one.target, type_)
            held = change.relations.get(id_)
            if (held is None or held.ended_at is not None) and id_ not in new:
                new.append(id_)
                context = change.text(one.context) if one.context and one.context.strip() else None
                change.add(id_, "relate", Relate(source=one.source, target=one.target, type=type_, context=context))
        graph = change.write()
    made = {one.id: one for one in graph.relations}
    return [made[id_] for id_ in new]


def unrelate(desk: Desk, relations: Sequence[Ends], *, personal: bool = False) -> int:
    """Take relations away; returns how many there were."""
    with desk.writing(personal=personal) as ledger:
        change = GraphChange(desk, ledger)
        wanted = dict.fromkeys(relation_id(one.source, one.target, one.type) for one in relations)
        gone = [id_ for id_ in wanted if id_ in change.relations]
        for id_ in gone:
            change.add(id_, "unrelate", EndRelation())
        change.write()
    return len(gone)


def end_relation(desk: Desk, id_: str, note: str | None = None, *, personal: bool = False) -> GraphRelation:
    """Say that a relation held until now. UsageError for one that is not there."""
    with desk.writing(personal=personal) as ledger:
        change = GraphChange(desk, ledger)
        found = [one for one in change.graph.relations if one.id.startswith(id_)] if id_ else []
        if len(found) != 1:
            raise UsageError(f"{id_} names {len(found)} relations", "`rekal graph` prints their ids")
        change.add(found[0].id, "end_relation", EndRelation(note=change.text(note) if note else None))
        graph = change.write()
    return next(one for one in graph.relations if one.id == found[0].id)


def reflect(desk: Desk, said: Reflect, *, personal: bool = False) -> Graph:
    """Add a reflection; returns the graph with it as the last one."""
    with desk.writing(personal=personal) as ledger:
        change = GraphChange(desk, ledger)
        content = msgspec.structs.replace(said, text=change.text(said.text))
        change.add(new_memory_id("reflection", content.text), "reflect", content)
        return change.write()


def start_conversation(desk: Desk, said: StartConversation, *, personal: bool = False) -> str:
    """Start a conversation; returns its id. UsageError when an earlier one that it names is unknown."""
    with desk.writing(personal=personal) as ledger:
        change = GraphChange(desk, ledger)
        known = {one.id for one in change.graph.conversations}
        for earlier in (said.follows, said.branches):
            if earlier is not None and earlier not in known:
                raise UsageError(f"there is no conversation {earlier}", "name one that was started")
        title = change.name(said.title, "the title") if said.title and said.title.strip() else None
        id_ = new_memory_id("conversation", title or "")
        change.add(id_, "conversation", msgspec.structs.replace(said, title=title))
        change.write()
    return id_
