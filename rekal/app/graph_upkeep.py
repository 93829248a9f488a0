"""Upkeep of the graph: entities that grew too large, observations that say the same, and parts cut from an entity.

Nothing here decides: analyses are readings, and a split moves what its caller names.
"""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from rekal.app.desk import Desk
from rekal.app.hosts.memory_search import Floats, embed_texts
from rekal.app.memory_graph import GraphChange
from rekal.errors import UsageError
from rekal.index.text import document_terms
from rekal.memory.events import Observe, Relate, SetEntity, Unobserve
from rekal.memory.graph import GraphEntity, entity_id, relation_id
from rekal.store.ledger import Ledger

# Names of types and relations as the tools of mcp-memory have them: they are its contract.
_THRESHOLDS: Mapping[str, int] = {"Sesion": 15, "Proyecto": 25}
_THRESHOLD = 20  # observations of an entity of any other type
_SAME_TOPIC = 0.5  # mean cosine of two groups by their vectors
_SAME_TOPIC_BY_WORDS = 0.12  # the same by words alone, of which two sentences on one thing share few
_MOST_CLUSTERED = 400  # observations: grouping them costs their number to the third power
_LONGER = 2.0  # a text so many times as long may hold another one whole
_WORD = re.compile(r"[^\W\d_]{3,}")
CONTAINS, PART_OF = "contiene", "parte_de"


class SplitAnalysis(msgspec.Struct, frozen=True):
    """The size of an entity against the threshold of its type. ``topics`` are its observations by topic, if it is over.

    ``score`` is above 1 for an entity that should be split.
    """

    entity: GraphEntity
    threshold: int
    topics: Mapping[str, Sequence[str]]
    score: float

    @property
    def is_over(self) -> bool:
        """True if it has grown too large."""
        return self.score > 1.0


class NearPair(msgspec.Struct, frozen=True):
    """Two observations by their places that say nearly the same, and by which measure."""

    one: int
    other: int
    score: float
    measure: str


class EntityPart(msgspec.Struct, frozen=True):
    """A new entity and the observations that move to it."""

    name: str
    type: str
    observations: tuple[str, ...]


class SplitDone(msgspec.Struct, frozen=True):
    """The outcome of a split, as counts and the names of the new entities."""

    names: tuple[str, ...]
    moved: int
    relations: int
    left: int


def analyse_entity(desk: Desk, entity: GraphEntity) -> SplitAnalysis:
    """Measure one entity; its topics are looked for when it is over its threshold alone."""
    texts = [one.text for one in entity.active]
    threshold = _THRESHOLDS.get(entity.type, _THRESHOLD)
    if len(texts) <= threshold:
        return SplitAnalysis(entity, threshold, {}, len(texts) / threshold)
    topics = _find_topics(desk, texts[:_MOST_CLUSTERED])
    return SplitAnalysis(entity, threshold, topics, len(texts) / threshold + min(len(topics) / len(texts), 0.5))


def find_near(
    desk: Desk, texts: Sequence[str], cosine: float = 0.85, containment: float = 0.7, *, meaning: bool = True
) -> list[NearPair]:
    """Pairs of texts that say nearly the same: by cosine, or the words of a much shorter one stand in the longer.

    Without ``meaning`` no model is loaded: words alone decide.
    """
    by_words, by_meaning = _similarities(desk, texts, meaning=meaning)
    near = by_words if by_meaning is None else np.maximum(by_words, by_meaning)
    words = [frozenset(document_terms(text)) for text in texts]
    found = []
    for one in range(len(texts)):
        for other in range(one + 1, len(texts)):
            score = float(near[one, other])
            if score >= cosine:
                found.append(NearPair(one, other, round(score, 4), "cosine"))
                continue
            short, long = sorted((one, other), key=lambda at: len(texts[at]))
            held = len(words[short] & words[long]) / max(1, len(words[short]))
            if len(texts[long]) >= _LONGER * len(texts[short]) and held >= containment:
                found.append(NearPair(one, other, round(score, 4), "containment"))
    return found


def split_entity(
    desk: Desk, name: str, parts: Sequence[EntityPart], parent: str | None = None, *, personal: bool = False
) -> SplitDone:
    """Move observations of an entity to new ones, which become parts of ``parent``, all or nothing.

    They keep their kinds. UsageError for an unknown entity and for an observation that it does not have.
    """
    with desk.writing(personal=personal) as ledger:
        return _split(desk, ledger, name, parts, parent or name)


def _split(desk: Desk, ledger: Ledger, name: str, parts: Sequence[EntityPart], parent: str) -> SplitDone:
    change = GraphChange(desk, ledger)
    held = change.need(name)
    change.need(parent)
    left = {one.text: one.kind for one in held.active}
    moved = relations = 0
    names: list[str] = []
    for part in parts:
        new = change.name(part.name, "the name of an entity")
        if new in change.entities or new in names:
            raise UsageError(f"there is an entity {new} already", "give each part a name of its own")
        names.append(new)
        change.add(entity_id(new), "entity", SetEntity(name=new, type=desk.scrub(part.type), status=held.status))
        for text in dict.fromkeys(part.observations):
            if text not in left:
                raise UsageError(f"{name} has no such observation: {text[:80]}", "name those that it has, each once")
            change.add(entity_id(new), "observe", Observe(text=text, kind=left.pop(text)))
            change.add(held.id, "unobserve", Unobserve(text=text))
            moved += 1
        for source, target, kind in ((parent, new, CONTAINS), (new, parent, PART_OF)):
            made = Relate(source=source, target=target, type=kind)
            change.add(relation_id(source, target, kind), "relate", made)
            relations += 1
    change.write()
    return SplitDone(tuple(names), moved, relations, len(left))


def _similarities(desk: Desk, texts: Sequence[str], *, meaning: bool = True) -> tuple[Floats, Floats | None]:
    """Cosines of every two texts, by their words and by their vectors where there is a model."""
    terms = [Counter(document_terms(text)) for text in texts]
    frequency = Counter(term for bag in terms for term in bag)
    columns = {term: at for at, term in enumerate(frequency)}
    rows = np.zeros((len(texts), max(1, len(columns))))
    for at, bag in enumerate(terms):
        for term, count in bag.items():
            rows[at, columns[term]] = (1 + math.log(count)) * math.log(1 + len(texts) / frequency[term])
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    vectors = embed_texts(desk, texts) if meaning else None
    return rows @ rows.T, None if vectors is None else np.asarray(vectors @ vectors.T, np.float64)


def _find_topics(desk: Desk, texts: Sequence[str]) -> dict[str, list[str]]:
    by_words, by_meaning = _similarities(desk, texts)
    near, least = (by_words, _SAME_TOPIC_BY_WORDS) if by_meaning is None else (by_meaning, _SAME_TOPIC)
    groups = [[texts[at] for at in sorted(group)] for group in _group(near, least)]
    out: dict[str, list[str]] = {}
    for group, name in zip(groups, _name_groups(groups), strict=True):
        # Two groups of one name are told apart by their number.
        out[f"{name} {len(out) + 1}" if name in out else name] = group
    return out


def _group(near: Floats, least: float) -> list[list[int]]:
    """Average linkage: the two nearest groups become one, as long as their mean similarity is ``least``."""
    links = near.copy()
    np.fill_diagonal(links, -1.0)
    groups: dict[int, list[int]] = {at: [at] for at in range(len(links))}
    while len(groups) > 1:
        one, other = divmod(int(np.argmax(links)), len(links))
        if links[one, other] < least:
            break
        sizes = len(groups[one]), len(groups[other])
        merged = (links[one] * sizes[0] + links[other] * sizes[1]) / sum(sizes)
        merged[[at for at in range(len(links)) if at not in groups or at in (one, other)]] = -1.0
        links[one], links[:, one] = merged, merged
        links[other], links[:, other] = -1.0, -1.0
        groups[one] += groups.pop(other)
    return list(groups.values())


def _name_groups(groups: Sequence[Sequence[str]]) -> list[str]:
    """Two words for each group that the others have least of."""
    bags = [Counter(_WORD.findall(" ".join(group).casefold())) for group in groups]
    spread = Counter(word for bag in bags for word in bag)
    names = []
    for bag in bags:
        best = sorted(bag, key=lambda word: (-bag[word] * math.log(1 + len(bags) / spread[word]), -len(word), word))
        names.append(" ".join(word.capitalize() for word in best[:2]) or "Other")
    return names
