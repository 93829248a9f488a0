"""Cards of people and things from the facts of both stores, rebuilt only when the facts changed."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from rekal.app.desk import Desk
from rekal.app.documents.extract_facts import DATED_TAG, is_extracted, name_subject
from rekal.app.documents.ingest_documents import documents_layout
from rekal.documents import cards
from rekal.documents.cards import Card, CardFact
from rekal.files import read_or_empty, write_atomically
from rekal.ids import content_hash
from rekal.memory.state import Memory
from rekal.store.layout import Layout


class DreamAnswer(msgspec.Struct, frozen=True):
    """The result of ``dream --json``: ``facts`` is the number that the cards are made of, ``rebuilt`` false if they are
    those that were kept.
    """

    cards: list[Card]
    facts: int
    rebuilt: bool
    dry_run: bool = False


class _KeptCards(msgspec.Struct, frozen=True):
    inputs: str
    cards: list[Card]


def make_cards(desk: Desk, *, dry_run: bool = False) -> DreamAnswer:
    """Build the cards, or return those that are kept when no fact changed. With ``dry_run`` nothing is written."""
    facts = [_card_fact(one) for one in desk.memories(datetime.now(UTC)).all if _counts(one)]
    facts.sort(key=lambda fact: fact.id)
    inputs = content_hash(msgspec.json.encode(facts).decode())
    path = _layout(desk).cards
    kept = _read_kept(read_or_empty(path))
    if kept is not None and kept.inputs == inputs:
        return DreamAnswer(kept.cards, len(facts), rebuilt=False, dry_run=dry_run)
    built = cards.build_cards(facts)
    if not dry_run:
        layout = _layout(desk)
        layout.create()
        write_atomically(layout.cards, msgspec.json.encode(_KeptCards(inputs, built)))
    return DreamAnswer(built, len(facts), rebuilt=True, dry_run=dry_run)


def _layout(desk: Desk) -> Layout:
    return documents_layout(desk, personal=desk.app is None)


def _read_kept(data: bytes) -> _KeptCards | None:
    try:
        return msgspec.json.decode(data, type=_KeptCards) if data else None
    except (msgspec.DecodeError, UnicodeDecodeError):  # of another version, or damaged: built again
        return None


def _counts(memory: Memory) -> bool:
    """True for facts that a person accepted or said, and for those that a model took out of a document."""
    return memory.type == "fact" and (
        memory.state == "accepted" or (memory.state == "proposed" and is_extracted(memory))
    )


def _card_fact(memory: Memory) -> CardFact:
    held_from = f"{memory.valid_from:%Y-%m-%d}" if memory.valid_from else None
    days = next((tag.removeprefix(DATED_TAG) for tag in memory.tags if tag.startswith(DATED_TAG)), held_from)
    return CardFact(memory.id, memory.text, memory.occurred_at, memory.source, days, name_subject(memory))
