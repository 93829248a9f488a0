"""Questions answered by what they name: a file, a time, a person, an agent, a commit, a branch, or one word.

"What did we do in May" has no topic that evidence could be weighed for; the sessions of May are its answer, newest
first. A single word is answered by the sessions that have it, as long as they are few.
"""

from __future__ import annotations

from functools import reduce

import msgspec
import numpy as np

from rekal.index.filters import NO_FILTERS, Filters, filtered_turns
from rekal.index.reader import Bools, IndexReader
from rekal.index.text import query_terms
from rekal.recall.judge import Reading
from rekal.recall.question import bare_word
from rekal.recall.search import Look, search_index
from rekal.recall.word_lists import ORDERS, SUBJECTS

# A word in more sessions than this tells nothing about any of them.
FEW_SESSIONS = 5
FEW_SHARE = 1 / 3
_POLITE = frozenset(
    ["please", "now", "ok", "okay", "and", "then", "so", "great", "yes", "can", "could", "you", "lets", "let's"]
)


class Listing(msgspec.Struct, frozen=True):
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


def list_named(reader: IndexReader, reading: Reading, filters: Filters) -> Listing | None:
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
    return Listing(_newest_first(reader, turns), turns)


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
