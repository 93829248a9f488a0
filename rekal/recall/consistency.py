"""Does what was found belong to whom and to what the question names? Reads the texts that the gate's second half needs.

Evidence about a person is what stands in that person's sessions, whoever said it there: what somebody's agent did is
theirs. Evidence about an identifier is a passage that has it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from rekal.index import text
from rekal.index.dense import Meaning
from rekal.index.facets import NOBODY
from rekal.index.reader import IndexReader
from rekal.recall.claims import Claims
from rekal.recall.question import AnchorKind
from rekal.recall.scores import Floats
from rekal.recall.search import Look, dense_text
from rekal.recall.sentences import CANDIDATE_TURNS, SIGNS, Sentences, find_owner, read_signs, split_sentences

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]

SLOTS: tuple[AnchorKind, ...] = ("path", "symbol", "number", "acronym", "name")
PASSAGE = 800  # characters
ASKED = 0  # number of the person asked about
_TURNS_READ = 60
_LONGEST_TURN = 12_000  # characters: beyond it a turn is a paste
_AUTHORS = "SELECT session_id, author_name, author_email FROM facets"
_BREAK = re.compile(r"\n\s*\n|(?<=[.!?])\s+(?=[A-Z])|\n")


def person_claims(reader: IndexReader, look: Look, meaning: Meaning | None) -> Claims | None:
    """Return the claims of the best turns about the person asked. EngineError.

    None when the question names nobody, or several people: the owner of a sentence does not tell the one who gave
    from the one who was given.
    """
    persons = [anchor.text for anchor in look.question.of_kind("person")]
    if len(persons) != 1:
        return None
    best = np.argsort(-look.turns, kind="stable")[:CANDIDATE_TURNS]
    places = np.unique(np.clip(np.concatenate([best - 1, best, best + 1]), 0, len(look.turns) - 1))
    authors = _authors(reader, persons[0])
    if ASKED in authors.values():
        asked = ASKED
        found, texts = _sentences(reader, look, places, authors)
    elif persons[0] in reader.speakers.names:
        asked = reader.speakers.names.index(persons[0])
        found, texts = _spoken_sentences(reader, look, places[look.allowed[places]])
    else:
        return None
    chosen = found.candidates(look.found.idf, asked)
    cosine = None
    if meaning is not None and look.semantic:
        vectors = meaning.embedder.embed_documents([texts[int(i)] for i in chosen])
        cosine = (vectors @ meaning.vector(dense_text(look.question))).astype(np.float64)
    return Claims.of(found, look.found.idf, asked, look.question.text, chosen, cosine)


def _authors(reader: IndexReader, person: str) -> dict[int, int]:
    """The author's number by session number: ``ASKED`` for that person, under whatever name and address."""
    numbers = reader.sessions.numbers
    rows = [(numbers[str(one)], str(name), str(email)) for one, name, email in reader.cached_rows(_AUTHORS)]
    others = sorted({(name, email) for _, name, email in rows if person not in (name, email)})
    return {n: ASKED if person in (name, email) else 1 + others.index((name, email)) for n, name, email in rows}


def _sentences(reader: IndexReader, look: Look, places: Ints, authors: dict[int, int]) -> tuple[Sentences, list[str]]:
    session = look.found.session
    turn, who, texts = [], [], []
    for place, said in zip(places, _read_texts(reader, places), strict=True):
        for sentence in split_sentences(said):
            turn.append(int(place))
            who.append(authors[int(session[place])])
            texts.append(sentence)
    tf, length = _count_in_texts(look, texts)
    at, author = np.array(turn, np.int64), np.array(who, np.int64)
    shown = np.array([read_signs(text) for text in texts], np.bool_).reshape(len(texts), len(SIGNS))
    standings = look.found.place_features(look.covered)[at]
    found = Sentences(at, session[at].astype(np.int64), length, author, author, author, shown, standings, tf)
    return found, texts


def _spoken_sentences(reader: IndexReader, look: Look, places: Ints) -> tuple[Sentences, list[str]]:
    """Sentences of turns that begin with their speaker's name, the name cut off."""
    speakers, turn, texts, owner = reader.speakers, [], [], []
    for place, said in zip(places, _read_texts(reader, places), strict=True):
        says, hears = int(speakers.says[place]), int(speakers.hears[place])
        for sentence in split_sentences(said.partition(":")[2] if says != NOBODY else said):
            turn.append(int(place))
            texts.append(sentence)
            owner.append(find_owner(sentence, says, hears))
    tf, length = _count_in_texts(look, texts)
    at = np.array(turn, np.int64)
    shown = np.array([read_signs(text) for text in texts], np.bool_).reshape(len(texts), len(SIGNS))
    features = look.found.place_features(look.covered)[at]
    session = look.found.session[at].astype(np.int64)
    says_at, hears_at, owners = speakers.says[at], speakers.hears[at], np.array(owner, np.int64)
    return Sentences(at, session, length, says_at, hears_at, owners, shown, features, tf), texts


def _read_texts(reader: IndexReader, places: Ints) -> list[str]:
    docs = reader.units("turn").doc[places]
    said = {one.doc_id: one.text for one in reader.texts([int(doc) for doc in docs])}
    return [said[int(doc)][:_LONGEST_TURN] for doc in docs]


def _count_in_texts(look: Look, texts: Sequence[str]) -> tuple[Floats, Floats]:
    """Count each term of the question in each text, ``[T, P]``; and the length of each text in terms."""
    column = {term: row for row, term in enumerate(look.lexical.postings.terms)}
    tf = np.zeros((len(column), len(texts)))
    length = np.zeros(len(texts))
    for at, said in enumerate(texts):
        found = text.document_terms(said)
        length[at] = len(found)
        for term in found:
            if (row := column.get(term)) is not None:
                tf[row, at] += 1
    return tf, length


def anchor_ratio(reader: IndexReader, look: Look) -> float | None:
    """The lowest ratio of any identifier, number or name of the question; None when it has none that can tell.

    Read from passages of the best turns of the whole store and of the best that have the anchor, neighbours included.
    """
    slots = look.question.of_kind(*SLOTS)
    if not slots:
        return None
    terms = look.lexical.postings.terms
    holders = [_best_with(look, terms.index(slot.term)) for slot in slots if slot.term in terms]
    places = np.unique(np.concatenate([np.argsort(-look.lexical.turns, kind="stable")[:_TURNS_READ], *holders]))
    places = places[look.lexical.turns[places] > 0]
    near = np.unique(np.clip(np.concatenate([places - 1, places, places + 1]), 0, len(look.turns) - 1))
    passages = [piece for talk in _talks(reader, look, near) for piece in cut_passages(talk)]
    present = _terms_in_texts(look, passages)
    ratios = []
    for slot in slots:
        if slot.term in terms:
            own = np.array([term in slot.terms for term in terms], np.bool_)
            ratios.append(anchored_share(present, look.found.idf, own, present[terms.index(slot.term)]))
    return min((ratio for ratio in ratios if ratio is not None), default=None)


def anchored_share(present: Bools, idf: Floats, own: Bools, has: Bools) -> float | None:
    """Best passage with an anchor ÷ best passage at all, both measured on the rest of the question: 0 to 1.

    ``present`` is ``[T, P]`` (term in passage), ``own`` says which terms are the anchor's, ``has`` which passages
    contain it whole. None when it cannot tell: fewer than two other terms, none of them anywhere, or an anchor that
    no passage has (a commit's new function is not in the talk that led to it; coverage is for that).
    """
    rest = ~own
    if int(rest.sum()) < 2 or not has.any():
        return None
    held = (idf[rest, None] * present[rest]).sum(axis=0)
    best = float(held.max(initial=0.0))
    return float(held[has].max()) / best if best > 0 else None


def _terms_in_texts(look: Look, texts: Sequence[str]) -> Bools:
    """Flags ``[T, P]``: term of the question occurs in text."""
    column = {term: row for row, term in enumerate(look.lexical.postings.terms)}
    finder = text.TermFinder(column)
    found = np.zeros((len(column), len(texts)), np.bool_)
    for at, said in enumerate(texts):
        found[[column[term] for term in set(finder.find_terms(said))], at] = True
    return found


def _best_with(look: Look, term: int) -> Ints:
    """Places of the best turns that contain a term."""
    having = np.unique(look.found.place[look.found.term == term]).astype(np.int64)
    order = np.argsort(-look.lexical.turns[having], kind="stable")[: _TURNS_READ // 2]
    return having[order]


def _talks(reader: IndexReader, look: Look, places: Ints) -> list[str]:
    """Texts of adjacent turns of a session joined: what is named in one turn may be told in the next."""
    talks: list[list[str]] = []
    last = -2
    for place, said in zip(places.tolist(), _read_texts(reader, places), strict=True):
        if place != last + 1 or look.found.session[place] != look.found.session[last]:
            talks.append([])
        talks[-1].append(said)
        last = place
    return ["\n\n".join(talk) for talk in talks]


def cut_passages(said: str) -> Iterator[str]:
    """Paragraphs and sentences, joined up to :data:`PASSAGE` characters."""
    passage = ""
    for piece in _BREAK.split(said):
        if passage and len(passage) + len(piece) > PASSAGE:
            yield passage
            passage = piece
        else:
            passage = f"{passage} {piece}" if passage else piece
    if passage.strip():
        yield passage
