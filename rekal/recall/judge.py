"""One reading of a question held against the store: what the arms find, and what the gates say of it."""

from __future__ import annotations

from datetime import datetime

import msgspec

from rekal.index.dense import Meaning
from rekal.index.filters import Filters
from rekal.index.reader import IndexReader
from rekal.recall.claims import Claims
from rekal.recall.consistency import anchor_ratio, person_claims
from rekal.recall.corrections import correct_spelling
from rekal.recall.gate import Gate, Support, load_weights, log_odds
from rekal.recall.mentions import NamedThing, Reach, find_mentions, list_anchors
from rekal.recall.question import Question, cut_spans, read_question
from rekal.recall.scores import measure_presence
from rekal.recall.search import Look, list_people, search_index

# In so small a store no word is rare and no session long, which is what the weights of the gate go by. There a question
# whose every word stands together in a turn and its neighbours is answered.
SMALL_STORE = 300  # turns
_ALL = 0.99


class Reading(msgspec.Struct, frozen=True):
    """A question as understood in one store.

    ``rest`` is the question without anything that it names, ``reaches`` are parallel to ``anchors``, ``corrected`` are
    pairs of a word as typed and as read.
    """

    question: Question
    rest: Question
    anchors: list[NamedThing]
    reaches: list[Reach | None]
    corrected: list[tuple[str, str]]

    @property
    def found(self) -> list[Reach]:
        """Reaches of the names that any session answers to."""
        return [reach for reach in self.reaches if reach and reach.sessions.any()]


def read_in_store(reader: IndexReader, typed: str, now: datetime | None) -> Reading:
    """Understand ``typed``: its spelling, what it names here, and what remains as its topic."""
    text, corrected = correct_spelling(reader, typed)
    named = find_mentions(reader, text, now)
    people = list(list_people(reader))
    asked = read_question(text, people, [(one.start, one.stop) for one in named if one.aside])
    rest = read_question(cut_spans(text, [(one.start, one.stop) for one in named]), people) if named else asked
    anchors = list_anchors(asked, named)
    return Reading(asked, rest, anchors, [Reach.of(reader, one) for one in anchors], corrected)


class Ruling(msgspec.Struct, frozen=True):
    """Verdict of the gates: support, the cut that it must reach, the features that it is made of."""

    support: Support
    cut: float
    features: dict[str, float]

    @property
    def opens(self) -> bool:
        """True if there is enough to inject."""
        return self.support.total >= self.cut

    @property
    def margin(self) -> float:
        """Distance of the support from the cut, in log-odds."""
        support, cut = log_odds([self.support.total, self.cut])
        return float(support - cut)


class Judged(msgspec.Struct, frozen=True):
    """A reading with what was found for it and the ruling on that."""

    reading: Reading
    seen: Look
    ruling: Ruling


def judge_reading(
    reader: IndexReader,
    reading: Reading,
    view: Filters,
    meaning: Meaning | None,
    strictness: float,
    *,
    senders: bool = False,
) -> Judged:
    """Search the whole store as ``view`` shows it, and judge what is there. EngineError.

    With ``senders`` the names before turns are certain, and a question about one needs no more evidence than others.
    """
    seen = search_index(reader, reading.question, view, meaning)
    ruling, claims = _judge_evidence(reader, seen, meaning, strictness, guessed=seen.spoken and not senders)
    attention = _gate_of(seen).consistency
    if claims is not None and attention is not None and seen.spoken and ruling.opens:
        # In talk a name stands everywhere and tells no session from another; what is said about its owner does.
        seen = seen.lift_sessions(reader, attention.weigh_sessions(claims, len(reader.sessions)))
    return Judged(reading, seen, ruling)


def _gate_of(seen: Look) -> Gate:
    return load_weights().gate(dense=seen.semantic, person=bool(seen.question.of_kind("person")))


def _judge_evidence(
    reader: IndexReader, seen: Look, meaning: Meaning | None, strictness: float, *, guessed: bool
) -> tuple[Ruling, Claims | None]:
    """Return the ruling, and the claims about the person asked where it took any."""
    gate = _gate_of(seen)
    present = measure_presence(seen.found, seen.covered, seen.is_stranger)
    floor = gate.cut(strictness, int(seen.allowed.sum()), spoken=guessed)
    least = _ALL if len(seen.turns) < SMALL_STORE and present["window_coverage"] >= _ALL else 0.0
    support, claims = gate.judge(present, least=least), None
    if support.total >= floor:  # reading texts for the second gate pays only when the first is open
        claims = person_claims(reader, seen, meaning)
        support = gate.judge(present, claims, anchor_ratio(reader, seen), least=least)
    return Ruling(support, floor, present), claims
