"""From a question to what the index holds about it: the arms, and the order they put sessions and turns in.

One reading of the postings gives BM25 of turns, sessions and facets and which term stands where
(:mod:`rekal.index.bm25`); vectors add nearness in meaning where they exist. Filters have taken out what must not be
found before anything here is ranked.
"""

from __future__ import annotations

from contextlib import nullcontext

import msgspec
import numpy as np

from rekal.index.bm25 import Lexical, score_lexical
from rekal.index.dense import Meaning
from rekal.index.filters import Filters
from rekal.index.reader import Bools, IndexReader
from rekal.index.text import document_terms
from rekal.recall import scores
from rekal.recall.answer import PersonKind
from rekal.recall.question import Question, in_first_person
from rekal.recall.scores import Floats, Found, TermCoverage

# An author called like a word that this many turns have is no person in a question.
_FEW_TURNS, _FEW_SHARE = 3, 0.01

CLAIMS = 0.3
"""What a session gains that says most about the person asked. On 109 answerable questions of LoCoMo, all conversations
in one store, the right session comes first for .697 instead of .642."""

ENOUGH_VECTORS = 0.9
"""Share of the turns with a vector from which on cosines decide: the gate was trained on complete stores."""


class Look(msgspec.Struct, frozen=True):
    """Result of one search. ``sessions`` and ``turns`` are scores that order, by number and by place; a sub-agent's
    session stands under its parent and has none of its own (but in ``unfolded``). ``semantic``: cosines may decide.
    ``allowed`` is the mask of turns that may be shown. ``spoken``: all persons named are known by labels alone."""

    question: Question
    lexical: Lexical
    found: Found
    covered: TermCoverage
    sessions: Floats
    turns: Floats
    semantic: bool
    unfolded: Floats
    allowed: Bools
    spoken: bool

    def within(self, reader: IndexReader, turns: Bools) -> Look:
        """Return the same result with only ``turns`` (a mask by place) to be shown; scores stay what they were."""
        allowed = self.allowed & turns
        sessions = self.unfolded * _open_sessions(self.found, allowed)
        folded = _fold_parents(reader, sessions)
        return msgspec.structs.replace(
            self, sessions=folded, unfolded=sessions, turns=self.turns * allowed, allowed=allowed
        )

    def lift_sessions(self, reader: IndexReader, share: Floats) -> Look:
        """Return the same result with each session found lifted by its ``share`` (0 to 1, by number)."""
        best = float(self.unfolded.max(initial=0.0))
        sessions = self.unfolded + CLAIMS * best * share * (self.unfolded > 0)
        return msgspec.structs.replace(self, sessions=_fold_parents(reader, sessions), unfolded=sessions)

    @property
    def is_stranger(self) -> bool:
        """True if the question uses a proper name that this store has never seen, and names nobody it knows."""
        question = self.question
        if question.of_kind("person"):
            return False
        postings = self.lexical.postings
        known = {term for term, is_known in zip(postings.terms, postings.known, strict=True) if is_known}
        return any(not known.intersection(anchor.terms) for anchor in question.of_kind("name"))


def list_people(reader: IndexReader) -> dict[str, PersonKind]:
    """Names and addresses of the store's authors, then names of those who speak in its turns, each in order."""
    people: dict[str, PersonKind] = {name: "author" for name in list_authors(reader) if not _is_common(reader, name)}
    for name in reader.speakers.names:
        people.setdefault(name, "speaker")
    return people


def list_authors(reader: IndexReader) -> list[str]:
    """Names and addresses of the store's authors, in order."""
    rows = reader.cached_rows("SELECT DISTINCT author_name, author_email FROM facets ORDER BY ALL")
    return list(dict.fromkeys(str(value) for row in rows for value in row if value))


def _is_common(reader: IndexReader, name: str) -> bool:
    """True for a user.name such as "dev": written like a word, and a word of many turns here."""
    if not name.isalpha() or not name.islower():
        return False
    turns = reader.turn_counts(document_terms(name)[:1])
    return sum(turns.values()) >= max(_FEW_TURNS, len(reader.units("turn")) * _FEW_SHARE)


def is_about_speakers(reader: IndexReader, question: Question) -> bool:
    """True if the question names people, and all of them are known from the names before turns alone."""
    persons = {anchor.text for anchor in question.of_kind("person")}
    return bool(persons) and persons <= set(reader.speakers.names) - set(list_authors(reader))


def _spoken_sessions(reader: IndexReader, question: Question) -> Bools | None:
    """Mask by session number: sessions in which a person named speaks; None unless all named are speakers only."""
    if not is_about_speakers(reader, question):
        return None
    persons, speakers = [anchor.text for anchor in question.of_kind("person")], reader.speakers
    return speakers.sessions_of(reader.units("turn").session, persons, len(reader.sessions))


def _restrict(reader: IndexReader, lexical: Lexical, sessions: Bools) -> Lexical:
    """Leave only what stands in ``sessions``, as a filter does, but for the weights of words."""
    mask = sessions[reader.units("turn").session]
    found = lexical.occurrences
    kept = mask[found.place]
    return msgspec.structs.replace(
        lexical,
        turns=lexical.turns * mask,
        sessions=lexical.sessions * sessions,
        facets=lexical.facets * sessions,
        allowed=lexical.allowed & mask,
        occurrences=msgspec.structs.replace(found, term=found.term[kept], place=found.place[kept], tf=found.tf[kept]),
    )


def search_index(reader: IndexReader, question: Question, filters: Filters, meaning: Meaning | None) -> Look:
    """Ask all arms. EngineError when the model fails."""
    # Reading the postings and making the question's vector take about as long, and different processors.
    with meaning.ahead(dense_text(question)) if meaning else nullcontext():
        lexical = score_lexical(reader, list(question.terms), filters)
    # Another person's evidence is none: without this, ten conversations in one store answer .76 instead of .92.
    spoken = _spoken_sessions(reader, question)
    if spoken is not None:
        lexical = _restrict(reader, lexical, spoken)
    found = _found(reader, question, lexical, meaning)
    if spoken is not None and found.centroid is not None:
        found = msgspec.structs.replace(found, centroid=found.centroid * spoken)
    covered = scores.measure_coverage(found)
    sessions = scores.rank_sessions(found, covered)
    sessions *= _open_sessions(found, lexical.allowed)
    turns = scores.rank_turns(found, covered, sessions) * lexical.allowed
    semantic = meaning is not None and meaning.dense.share >= ENOUGH_VECTORS
    folded = _fold_parents(reader, sessions)
    return Look(
        question, lexical, found, covered, folded, turns, semantic, sessions, lexical.allowed, spoken is not None
    )


def gather_arms(
    reader: IndexReader,
    lexical: Lexical,
    *,
    cosine: Floats | None = None,
    centroid: Floats | None = None,
) -> Found:
    """The arms of one question.

    ``lexical`` is of the terms of :func:`rekal.recall.question.read_question`: without grammar and without people's
    names. ``cosine`` is by place of the turn, ``centroid`` by session number; None without a model.
    """
    return Found(
        term=lexical.occurrences.term,
        place=lexical.occurrences.place,
        idf=lexical.idf,
        session=reader.units("turn").session,
        sessions=len(reader.sessions),
        turns=lexical.turns,
        whole=lexical.sessions,
        facets=lexical.facets,
        cosine=cosine,
        centroid=centroid,
    )


def _found(reader: IndexReader, question: Question, lexical: Lexical, meaning: Meaning | None) -> Found:
    if meaning is None:
        return gather_arms(reader, lexical)
    near = meaning.near(dense_text(question))
    return gather_arms(reader, lexical, cosine=near.cosine * lexical.allowed, centroid=near.centroid)


def dense_text(question: Question) -> str:
    """The question as the model gets it: names of people and dates would drown what is asked about them."""
    named = [anchor.text for anchor in question.of_kind("person")]
    return in_first_person(question.plain, named[0], named[1:]) if named else question.plain


def _open_sessions(found: Found, allowed: Bools) -> Bools:
    """Sessions of which a filter lets any turn through."""
    return np.bincount(found.session[allowed], minlength=found.sessions) > 0


def _fold_parents(reader: IndexReader, scores: Floats) -> Floats:
    """A parent gets the better of its own and its sub-agents' scores."""
    out = scores.copy()
    for number, parent in enumerate(reader.sessions.parents):
        above = reader.sessions.number(parent) if parent else None
        if above is not None and scores[number] > 0 and scores[above] > 0:
            out[above] = max(out[above], scores[number])
            out[number] = 0.0
    return out
