"""Cards: what is known of a person or thing that occurs often, from facts alone.

Deterministic: the same facts give the same cards. A card is no source: it is built from facts, never from cards, it is
kept beside the index and opens no gate. Contradictions between its facts are listed, not resolved.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime

import msgspec

MOST_FACTS = 40
FEWEST_FACTS = 3
"""Facts about somebody from which on there is a card."""

# Two capitalised words, or one that is not the first of its sentence: a name. Kept apart from the words that begin
# sentences by counting those that also occur inside.
_UPPER, _LETTER = "A-ZÀ-ÖØ-Þ", "A-Za-zÀ-ÖØ-öø-ÿ"
_NAME = re.compile(rf"(?<![\w.])[{_UPPER}][{_LETTER}'’-]+(?: [{_UPPER}][{_LETTER}'’-]+){{0,5}}")
_NOT_NAMES = frozenset(
    """a an the this that these those he she it they we you i in on at by for from to with and but or if when as is
    january february march april may june july august september october november december monday tuesday wednesday
    thursday friday saturday sunday""".split()  # noqa: SIM905 - a list of words reads as one
)
_NEGATION = re.compile(r"\b(?:not|no|never|without|n't|cannot)\b|n['’]t\b", re.IGNORECASE)
_WORDS = re.compile(r"[^\W_]{3,}")
_ALIKE = 0.8


class CardFact(msgspec.Struct, frozen=True):
    """One fact as a card has it. ``cite`` is the chunk or turn it rests on, ``about`` whom its writer named."""

    id: str
    text: str
    said_at: datetime
    cite: str | None = None
    date: str | None = None
    about: str | None = None


class Card(msgspec.Struct, frozen=True):
    """Facts about one name: the newest of ``total``, oldest first. ``contradictions`` are pairs of ids."""

    name: str
    total: int
    facts: tuple[CardFact, ...]
    contradictions: tuple[tuple[str, str], ...] = ()


def build_cards(facts: Sequence[CardFact], least: int = FEWEST_FACTS) -> list[Card]:
    """Build a card for each name of at least ``least`` facts, the most frequent first. Every fact is considered."""
    by_name: dict[str, dict[str, CardFact]] = defaultdict(dict)
    inside = _names_inside(facts)
    for fact in facts:
        for name in _names_of(fact, inside):
            by_name[name][fact.id] = fact
    cards = [_make_card(name, list(held.values())) for name, held in by_name.items() if len(held) >= least]
    return sorted(cards, key=lambda card: (-card.total, card.name))


def _names_of(fact: CardFact, inside: frozenset[str]) -> set[str]:
    named = {" ".join(fact.about.split())} if fact.about else set()
    return named | {name for name, _ in _found_names(fact.text) if name in inside}


def _found_names(text: str) -> Iterator[tuple[str, int]]:
    """Yield names with where they begin: capitalised words, but for those that are always written so."""
    for found in _NAME.finditer(text):
        start, words = found.start(), found[0].split(" ")
        while words and words[0].casefold() in _NOT_NAMES:
            start += len(words.pop(0)) + 1
        if words:
            yield " ".join(words[:3]), start


def _names_inside(facts: Iterable[CardFact]) -> frozenset[str]:
    """Names that stand somewhere else than at the beginning of a sentence, where every word is capitalised."""
    inside = {" ".join(fact.about.split()) for fact in facts if fact.about}
    for fact in facts:
        for name, start in _found_names(fact.text):
            before = fact.text[:start].rstrip()
            if before and before[-1] not in ".!?:":
                inside.add(name)
    return frozenset(inside)


def _make_card(name: str, facts: list[CardFact]) -> Card:
    ordered = sorted(facts, key=lambda fact: (fact.date or "", fact.said_at, fact.id))
    shown = tuple(ordered[-MOST_FACTS:])
    return Card(name, len(facts), shown, tuple(_find_contradictions(shown)))


def _find_contradictions(facts: Sequence[CardFact]) -> list[tuple[str, str]]:
    """Pairs that say nearly the same, but one of them with a no, or with other numbers."""
    words = [frozenset(word.casefold() for word in _WORDS.findall(fact.text) if not word.isdigit()) for fact in facts]
    found = []
    for at, first in enumerate(facts):
        for other in range(at + 1, len(facts)):
            second = facts[other]
            shorter = min(len(words[at]), len(words[other]))
            if shorter < 3 or len(words[at] & words[other]) < _ALIKE * shorter:
                continue
            differ = bool(_NEGATION.search(first.text)) != bool(_NEGATION.search(second.text))
            if differ or _numbers_in(first.text) != _numbers_in(second.text):
                found.append((first.id, second.id))
    return found


def _numbers_in(text: str) -> set[str]:
    return set(re.findall(r"\d[\d.,]*", text))


def describe_card(card: Card) -> list[str]:
    """The card as lines: the name, its facts with dates and what they rest on, contradictions."""
    lines = [f"{card.name}: {card.total} facts"]
    lines += [f"  {fact.date or f'{fact.said_at:%Y-%m-%d}'}  {fact.text}  [{fact.id[:10]}]" for fact in card.facts]
    lines += [f"  these contradict each other: {one[:10]} and {other[:10]}" for one, other in card.contradictions]
    return lines
