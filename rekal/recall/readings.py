"""One reading of a question held against the store: what it names, what the arms find, and what the gates say of it."""

from __future__ import annotations

from datetime import datetime
from functools import reduce

import msgspec
import numpy as np

from rekal.index.dense import Meaning
from rekal.index.filters import NO_FILTERS, Filters, filtered_turns
from rekal.index.reader import Bools, IndexReader
from rekal.index.text import query_terms
from rekal.recall import search
from rekal.recall.claims import Claims
from rekal.recall.consistency import anchor_ratio, person_claims
from rekal.recall.gate import Gate, Support, load_weights, log_odds
from rekal.recall.mentions import NamedThing, Reach, correct_spelling, find_mentions, list_anchors
from rekal.recall.question import Question, bare_word, cut_spans, read_question
from rekal.recall.scores import measure_presence
from rekal.recall.search import Look, list_people, search_index
from rekal.recall.word_lists import ORDERS, SUBJECTS

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


class GateRuling(msgspec.Struct, frozen=True):
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
    ruling: GateRuling


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
) -> tuple[GateRuling, Claims | None]:
    """Return the ruling, and the claims about the person asked where it took any."""
    gate = _gate_of(seen)
    present = measure_presence(seen.found, seen.covered, seen.is_stranger)
    floor = gate.cut(strictness, int(seen.allowed.sum()), spoken=guessed)
    least = _ALL if len(seen.turns) < SMALL_STORE and present["window_coverage"] >= _ALL else 0.0
    support, claims = gate.judge(present, least=least), None
    if support.total >= floor:  # reading texts for the second gate pays only when the first is open
        claims = person_claims(reader, seen, meaning)
        support = gate.judge(present, claims, anchor_ratio(reader, seen), least=least)
    return GateRuling(support, floor, present), claims


# Questions answered by what they name: a file, a time, a person, an agent, a commit, a branch, or one word.
#
# "What did we do in May" has no topic that evidence could be weighed for; the sessions of May are its answer, newest
# first. A single word is answered by the sessions that have it, as long as they are few.

# A word in more sessions than this tells nothing about any of them.
FEW_SESSIONS = 5
FEW_SHARE = 1 / 3
_POLITE = frozenset(
    ["please", "now", "ok", "okay", "and", "then", "so", "great", "yes", "can", "could", "you", "lets", "let's"]
)


class NamedSessions(msgspec.Struct, frozen=True):
    """Sessions that a question names: ``numbers`` newest first, ``turns`` the mask of what is meant in them."""

    numbers: list[int]
    turns: Bools


class WordUse(msgspec.Struct, frozen=True):
    """Use of one word in the store: ``turns`` by place, and the number of sessions and turns that have it."""

    word: str
    turns: Bools
    sessions: int

    def is_telling(self, sessions: int) -> bool:
        """True if the word tells its sessions from the store's others, of which there are ``sessions`` in all."""
        return 0 < self.sessions <= max(FEW_SESSIONS, int(sessions * FEW_SHARE))


def list_named(reader: IndexReader, reading: Reading, filters: Filters) -> NamedSessions | None:
    """Sessions of all that the question and its filters name; None when it has a topic, or names nothing.

    The listing is empty when nothing answers to all of it.
    """
    if reading.rest.topics or not (any(reading.reaches) or filters.any_given):
        return None
    if not filters.any_given and _is_order(reading.rest.text):
        return None
    turns = filtered_turns(reader, filters)
    for kind in dict.fromkeys(one.kind for one in reading.anchors):
        # Two files are asked about both; a file and a month are asked about that file in that month.
        alike = [reach.turns for reach in reading.reaches if reach and reach.named.kind == kind]
        if alike:
            turns = turns & reduce(np.logical_or, alike)
    return NamedSessions(_newest_first(reader, turns), turns)


def _is_order(text: str) -> bool:
    """True for "push to main" and "then run the tests": nobody asks a memory to do something."""
    words = [bare_word(word).casefold() for word in text.split()]
    first = next((word for word in words if word not in _POLITE), "")
    return first in ORDERS


def _newest_first(reader: IndexReader, turns: Bools) -> list[int]:
    units = reader.units("turn")
    places = np.flatnonzero(turns)
    latest = np.full(len(reader.sessions), np.iinfo(np.int64).min)
    np.maximum.at(latest, units.session[places], reader.turn_times[places])
    numbers = np.unique(units.session[places])
    order = np.lexsort((reader.sessions.rank[numbers], -latest[numbers]))
    return [int(number) for number in numbers[order]]


def find_word_use(reader: IndexReader, reading: Reading, filters: Filters) -> WordUse | None:
    """The turns that have the question's only word; None when it is another kind of question."""
    if len(reading.rest.words) != 1 or not (reading.rest.topics or reading.rest.words[0].casefold() in SUBJECTS):
        return None
    # "What is Ines's hobby" asks about Ines, not about hobbies: who has the word beside her is for the gate to tell.
    if search.is_about_speakers(reader, reading.question):
        return None
    word = reading.rest.words[0]
    terms = query_terms(word)
    if not terms:
        return None
    units = reader.units("turn")
    found = reader.postings(terms[:1])
    places = units.place[found.doc]
    turns = np.zeros(len(units), np.bool_)
    turns[places[places >= 0]] = True
    turns &= filtered_turns(reader, filters)
    return WordUse(word, turns, len(np.unique(units.session[turns])))


def weigh_word(reader: IndexReader, reading: Reading, use: WordUse) -> Look:
    """Return what is found for one word: sessions by how much they are about it, the turns that have it."""
    seen = search_index(reader, reading.rest, NO_FILTERS, None)
    session = reader.units("turn").session
    counts = np.bincount(session[use.turns], minlength=len(reader.sessions)).astype(np.float64)
    lengths = np.bincount(session, minlength=len(reader.sessions))
    # Two thirds of the score for how often, one for how much of the session: a long one mentions many things.
    unfolded = counts / (counts + 1) + counts / np.maximum(lengths, 1) / 2
    return msgspec.structs.replace(seen, unfolded=unfolded).within(reader, use.turns)
