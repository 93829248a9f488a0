"""The knowledge graph, reflections and conversations: readings of the log's events about them.

Entities are named, and one name is one entity; an entity's id is derived from its name, a relation's from its ends and
type, so that the same said twice is one. Only this clone's own events make the graph: nobody else's may rewrite it.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime

import msgspec

from rekal import ids
from rekal.memory.events import (
    DropEntity,
    EndRelation,
    Observe,
    PutCard,
    PutDocument,
    Reflect,
    Relate,
    SetEntity,
    StartConversation,
    Unobserve,
    decode_payload,
)
from rekal.model import LOCAL, MemoryEvent


class GraphObservation(msgspec.Struct, frozen=True):
    """One observation on an entity; ``id`` is its event's. ``replaced_at`` and ``replaces`` tell its succession."""

    id: str
    text: str
    kind: str
    created_at: datetime
    replaces: str | None = None
    replaced_at: datetime | None = None


class GraphEntity(msgspec.Struct, frozen=True):
    """An entity with its observations, oldest first."""

    id: str
    name: str
    type: str
    status: str
    created_at: datetime
    updated_at: datetime
    observations: tuple[GraphObservation, ...] = ()

    @property
    def active(self) -> tuple[GraphObservation, ...]:
        """Its observations without those that were replaced."""
        return tuple(one for one in self.observations if one.replaced_at is None)


class GraphRelation(msgspec.Struct, frozen=True):
    """A relation between two entities by name. ``ended_at``: it held until then."""

    id: str
    source: str
    target: str
    type: str
    created_at: datetime
    context: str | None = None
    ended_at: datetime | None = None


class Reflection(msgspec.Struct, frozen=True):
    """A reflection: whose, in which mood, about what."""

    id: str
    text: str
    author: str
    about: str
    created_at: datetime
    mood: str | None = None
    target: str | None = None


class ConversationNode(msgspec.Struct, frozen=True):
    """A conversation and the earlier ones that it follows or branches from."""

    id: str
    started_at: datetime
    title: str | None = None
    project: str | None = None
    follows: str | None = None
    branches: str | None = None


class StoredDocument(msgspec.Struct, frozen=True):
    """An ingested file as it was last put; without chunks it was removed."""

    id: str
    put_at: datetime
    document: PutDocument


class StoredCard(msgspec.Struct, frozen=True):
    """The card of an entity as it was last put."""

    id: str
    put_at: datetime
    card: PutCard


class Graph(msgspec.Struct, frozen=True):
    """All of it, each part in the order it was recorded."""

    entities: tuple[GraphEntity, ...] = ()
    relations: tuple[GraphRelation, ...] = ()
    reflections: tuple[Reflection, ...] = ()
    conversations: tuple[ConversationNode, ...] = ()
    documents: tuple[StoredDocument, ...] = ()
    cards: tuple[StoredCard, ...] = ()


def entity_id(name: str) -> str:
    """The id of the entity called ``name``."""
    return ids.derive("entity", name)


def relation_id(source: str, target: str, type_: str) -> str:
    """The id of a relation by the names of its ends and its type."""
    return ids.derive("relation", source, target, type_)


class _Reader:
    """Takes in events one by one."""

    def __init__(self) -> None:
        self.entities: dict[str, GraphEntity] = {}
        self.relations: dict[str, GraphRelation] = {}
        self.reflections: dict[str, Reflection] = {}
        self.conversations: dict[str, ConversationNode] = {}
        self.documents: dict[str, StoredDocument] = {}
        self.cards: dict[str, StoredCard] = {}

    def take(self, event: MemoryEvent) -> None:
        """Apply one event; what it names and is not there is passed over."""
        content, id_, at = decode_payload(event), event.memory_id, event.occurred_at
        match content:
            case SetEntity():
                old = self.entities.get(id_)
                made = GraphEntity(id_, content.name, content.type, content.status, at, at)
                if old is not None:
                    type_, status = content.type or old.type, content.status or old.status
                    made = msgspec.structs.replace(old, type=type_, status=status, updated_at=at)
                self.entities[id_] = made
            case DropEntity():
                self._drop(id_)
            case Observe() | Unobserve():
                if id_ in self.entities:
                    self.entities[id_] = _observed(self.entities[id_], event, content)
            case Relate():
                self.relations[id_] = GraphRelation(
                    id_, content.source, content.target, content.type, at, content.context
                )
            case EndRelation():
                self._end(event)
            case Reflect():
                self.reflections[event.id] = Reflection(
                    event.id, content.text, content.author, content.about, at, content.mood, content.target
                )
            case StartConversation():
                self.conversations[id_] = ConversationNode(
                    id_, at, content.title, content.project, content.follows, content.branches
                )
            case PutDocument():
                self.documents[id_] = StoredDocument(id_, at, content)
            case PutCard():
                self.cards[id_] = StoredCard(id_, at, content)

    def _drop(self, id_: str) -> None:
        gone = self.entities.pop(id_, None)
        if gone is not None:
            ends = {name: one for name, one in self.relations.items() if gone.name not in (one.source, one.target)}
            self.relations = ends

    def _end(self, event: MemoryEvent) -> None:
        held = self.relations.get(event.memory_id)
        if held is None:
            return
        if event.kind == "unrelate":
            del self.relations[event.memory_id]
        elif held.ended_at is None:
            self.relations[event.memory_id] = msgspec.structs.replace(held, ended_at=event.occurred_at)

    def graph(self) -> Graph:
        """All that was taken in."""
        parts = (self.entities, self.relations, self.reflections, self.conversations, self.documents, self.cards)
        return Graph(*(tuple(part.values()) for part in parts))  # type: ignore[arg-type]


def _observed(entity: GraphEntity, event: MemoryEvent, content: Observe | Unobserve) -> GraphEntity:
    if isinstance(content, Unobserve):
        kept = tuple(one for one in entity.observations if one.text != content.text)
    else:
        older = tuple(
            msgspec.structs.replace(one, replaced_at=event.occurred_at) if one.id == content.replaces else one
            for one in entity.observations
        )
        new = GraphObservation(event.id, content.text, content.kind, event.occurred_at, content.replaces)
        kept = (*older, new)
    return msgspec.structs.replace(entity, observations=kept, updated_at=event.occurred_at)


def fold_graph(events: Iterable[MemoryEvent], as_of: datetime | None = None, known_at: datetime | None = None) -> Graph:
    """Read graph, reflections, conversations, documents and cards from the log.

    ``as_of`` leaves out what happened later in the world, ``known_at`` what was recorded later.
    """
    reader = _Reader()
    for event in events:
        early = (as_of is None or event.occurred_at <= as_of) and (known_at is None or event.recorded_at <= known_at)
        if early and event.origin == LOCAL:
            reader.take(event)
    return reader.graph()


def search_graph(graph: Graph, query: str) -> list[GraphEntity]:
    """Entities whose name, type or active observations hold ``query``, without regard to case."""
    wanted = query.casefold()
    return [
        one
        for one in graph.entities
        if any(wanted in text.casefold() for text in (one.name, one.type, *(seen.text for seen in one.active)))
    ]
