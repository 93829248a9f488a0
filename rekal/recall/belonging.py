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
from rekal.index.reader import IndexReader
from rekal.recall.evidence import Floats
from rekal.recall.ownership import (
    CANDIDATE_TURNS,
    Sentences,
    about,
    anchored,
    margins,
    split_sentences,
    worth_a_vector,
)
from rekal.recall.question import AnchorKind
from rekal.recall.search import Look, dense_text

Ints = NDArray[np.int64]

SLOTS: tuple[AnchorKind, ...] = ("path", "symbol", "number", "acronym", "name")
PASSAGE = 800  # characters
_TURNS_READ = 60
_LONGEST_TURN = 12_000  # characters: beyond it a turn is a paste
_BREAK = re.compile(r"\n\s*\n|(?<=[.!?])\s+(?=[A-Z])|\n")


def person_margins(reader: IndexReader, look: Look, meaning: Meaning | None) -> dict[str, float] | None:
    """Evidence about the person asked less evidence about others; None when the question names nobody. EngineError."""
    persons = [anchor.text for anchor in look.question.of_kind("person")]
    if not persons:
        return None
    authors = _authors(reader)
    asked = next((n for n, (name, email) in enumerate(authors) if persons[0] in (name, email)), None)
    if asked is None:
        return None
    best = np.argsort(-look.turns, kind="stable")[:CANDIDATE_TURNS]
    places = np.unique(np.clip(np.concatenate([best - 1, best, best + 1]), 0, len(look.turns) - 1))
    plain, texts = _sentences(reader, look, places, authors)
    cosine = None
    if meaning is not None and look.semantic:
        near = look.found.cosine if look.found.cosine is not None else np.zeros(len(look.turns))
        chosen = worth_a_vector(plain, look.found.idf, asked, near[plain.turn])
        cosine = np.full(len(texts), np.nan)
        if len(chosen):
            vectors = meaning.embedder.embed_documents([texts[int(i)] for i in chosen])
            cosine[chosen] = vectors @ meaning.embedder.embed_query(dense_text(look.question))
    parts = (plain.turn, plain.session, plain.length, plain.speaker, plain.owner, plain.tf)
    return margins(Sentences(*parts, cosine), look.found.idf, asked, len(persons))


def _authors(reader: IndexReader) -> list[tuple[str, str]]:
    rows = reader.rows("SELECT DISTINCT author_name, author_email FROM facets ORDER BY ALL")
    return [(str(name), str(email)) for name, email in rows]


def _sentences(
    reader: IndexReader, look: Look, places: Ints, authors: Sequence[tuple[str, str]]
) -> tuple[Sentences, list[str]]:
    rows = reader.rows("SELECT session_ord, author_name, author_email FROM facets")
    author_of = {int(number): authors.index((str(name), str(email))) for number, name, email in rows}
    session = look.found.session
    turn, owner, speaker, texts = [], [], [], []
    for place, said in zip(places, _texts(reader, places), strict=True):
        who = author_of[int(session[place])]
        for sentence in split_sentences(said):
            turn.append(int(place))
            speaker.append(who)
            owner.append(about(sentence, who, who))
            texts.append(sentence)
    tf, length = _counts(look, texts)
    at = np.array(turn, np.int64)
    numbers = (np.array(speaker, np.int64), np.array(owner, np.int64))
    return Sentences(at, session[at].astype(np.int64), length, *numbers, tf), texts


def _texts(reader: IndexReader, places: Ints) -> list[str]:
    docs = reader.units("turn").doc[places]
    said = {one.doc_id: one.text for one in reader.texts([int(doc) for doc in docs])}
    return [said[int(doc)][:_LONGEST_TURN] for doc in docs]


def _counts(look: Look, texts: Sequence[str]) -> tuple[Floats, Floats]:
    """How often each term of the question occurs in each text, ``[T, P]``, and each text's length in terms."""
    column = {term: row for row, term in enumerate(look.lexical.postings.terms)}
    tf = np.zeros((len(column), len(texts)))
    length = np.zeros(len(texts))
    for at, said in enumerate(texts):
        found = text.tokens(said)
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
    present = _counts(look, passages)[0] > 0
    ratios = []
    for slot in slots:
        if slot.term in terms:
            own = np.array([term in slot.terms for term in terms], np.bool_)
            ratios.append(anchored(present, look.found.idf, own, present[terms.index(slot.term)]))
    return min((ratio for ratio in ratios if ratio is not None), default=None)


def _best_with(look: Look, term: int) -> Ints:
    """Places of the best turns that contain a term."""
    having = np.unique(look.found.place[look.found.term == term]).astype(np.int64)
    order = np.argsort(-look.lexical.turns[having], kind="stable")[: _TURNS_READ // 2]
    return having[order]


def _talks(reader: IndexReader, look: Look, places: Ints) -> list[str]:
    """Texts of adjacent turns of a session joined: what is named in one turn may be told in the next."""
    talks: list[list[str]] = []
    last = -2
    for place, said in zip(places.tolist(), _texts(reader, places), strict=True):
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
