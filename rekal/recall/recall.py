"""Recall: one question, one verdict.

A question that only names something (a file, a time, a person) is answered by the sessions that it names. One with a
topic is judged by absolute evidence from the whole store (:mod:`rekal.recall.readings`); filters, names and openings
only choose and order what is shown once the gates have opened.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec
import numpy as np

from rekal.errors import FOUND, NOTHING_FOUND
from rekal.index import text
from rekal.index.dense import Meaning
from rekal.index.filters import Filters, filtered_turns
from rekal.index.knowledge import FoundPassage, search_knowledge
from rekal.index.reader import IndexReader
from rekal.recall import readings
from rekal.recall.answer import Answer, Hit, Passage, Pin, Reason, StorePerson
from rekal.recall.excerpts import boost_named, excerpt_sessions, list_shown_sessions
from rekal.recall.mentions import NamedThing, Reach
from rekal.recall.question import Question, is_long, split_prompt
from rekal.recall.readings import GateRuling, Judged, NamedSessions, Reading, WordUse
from rekal.recall.search import Look, list_people

# A tracked passage answers when it holds nearly all that the question weighs: prose about everything matches anything
# a little, and nobody has labelled which passage answers what.
KNOWLEDGE_COVERAGE = 0.75
_FEWEST_TERMS = 2

# Sessions that a filter lets through are shown when the best of them is as good as this beside the store's best: the
# evidence that opened the gate may be elsewhere. Of devrecall's answered questions .8 % lose their session by it, and
# of all sessions .64 fall below it for another project's question that opened the gate (at .35: .5 %, .48).
FILTERED_WITHIN = 0.45


# One session is named under silence when its support is this near the cut (log-odds) and its score this far ahead of
# the next one's: on development data right in 91 %, shown for 1.3 % of other projects' questions.
PERHAPS_WITHIN, PERHAPS_AHEAD = 1.0, 0.15
_PERHAPS_TOKENS = 60


class Options(msgspec.Struct, frozen=True):
    """Settings of one answer. ``strictness`` 0 to 1, ``budget`` in tokens, ``limit`` in sessions.

    ``senders`` says that the names before turns are those of people who sent them, not a guess at labels.
    ``now`` is the asker's clock, in their zone: dates of the question are read by it. Without it none are read.
    """

    strictness: float = 0.4
    budget: int = 390
    limit: int = 5
    explain: bool = False
    now: datetime | None = None
    senders: bool = False


def answer_question(
    reader: IndexReader, question: str, filters: Filters, options: Options, meaning: Meaning | None = None
) -> Answer:
    """Answer ``question`` from the index, by keywords alone without ``meaning``.

    The same index, question and day give the same answer. EngineError when the model fails.
    """
    reading = readings.read_in_store(reader, question, options.now)
    answer = _answer_named(reader, reading, filters, options)
    if answer is None:
        reading, answer = _answer_topic(reader, reading, filters, options, meaning)
    shown = [reader.sessions.number(hit.session_id) for hit in answer.sessions]
    anchors = zip(reading.anchors, reading.reaches, strict=True)
    pins = [_pin(named, reach, shown) for named, reach in anchors]
    people = _name_people(reader) if options.explain else msgspec.UNSET
    notes = [*answer.notes, *_reading_notes(reading)]
    return msgspec.structs.replace(answer, question=question, anchors=pins, notes=notes, people=people)


def _name_people(reader: IndexReader) -> list[StorePerson]:
    """People whom a question can name; an address stands for nobody beside the name."""
    return [StorePerson(name, kind) for name, kind in list_people(reader).items() if "@" not in name]


def _reading_notes(reading: Reading) -> list[str]:
    """Notes on how the question was understood, where that is not what was typed."""
    notes = [f'read "{typed}" as "{read}"' for typed, read in reading.corrected]
    if reading.question.language != "English":
        notes.append(f"read as {reading.question.language}")
    return notes


def _pin(named: NamedThing, found: Reach | None, shown: Sequence[int | None]) -> Pin:
    if named.filters is None or found is None:
        return Pin(named.kind, named.text)
    here = sum(number is not None and bool(found.sessions[number]) for number in shown)
    since, until = (when and when.astimezone(UTC) for when in (named.filters.since, named.filters.until))
    return Pin(named.kind, named.text, since, until, int(found.sessions.sum()), here)


def _answer_named(reader: IndexReader, reading: Reading, filters: Filters, options: Options) -> Answer | None:
    """Answer a question without a topic by what it names; None for one with a topic, and for one without either."""
    if not len(reader.units("turn")):
        return None
    listing = readings.list_named(reader, reading, filters)
    if listing is not None:
        return _answer_list(reader, reading.question, listing, options)
    use = readings.find_word_use(reader, reading, filters)
    return _answer_word(reader, reading, use, options) if use is not None else None


def _answer_list(reader: IndexReader, asked: Question, listing: NamedSessions, options: Options) -> Answer:
    if not listing.numbers:
        return _silence(asked.text, "nothing_named")
    shown = list_shown_sessions(reader, listing.numbers[: options.limit], listing.turns, options.budget)
    return Answer("INJECT", "", 1.0, asked.text, shown, [], [], FOUND, listed=len(listing.numbers))


def _answer_word(reader: IndexReader, reading: Reading, use: WordUse, options: Options) -> Answer | None:
    """Answer one word by the sessions that have it; None when no session has, so that the search may find its parts."""
    asked, every = reading.question, len(reader.sessions)
    if not use.sessions:
        return None
    if not use.is_telling(every):
        note = f'"{use.word}" stands in {use.sessions} of {every} sessions: `rekal find "{use.word}"` lists them'
        return msgspec.structs.replace(_silence(asked.text, "common_word"), notes=[note])
    shown = excerpt_sessions(reader, readings.weigh_word(reader, reading, use), options.limit, options.budget)
    return Answer("INJECT", "", 1.0, asked.text, shown, [], [], FOUND, listed=use.sessions)


def _answer_topic(
    reader: IndexReader, reading: Reading, filters: Filters, options: Options, meaning: Meaning | None
) -> tuple[Reading, Answer]:
    """Answer a question with a topic, or one of the sentences of a long prompt, whichever has the best evidence."""
    asked = reading.question
    if not is_long(asked.text) and (asked.thin or not asked.terms):
        return reading, _silence(asked.text, "thin_question")
    known = _knowledge(reader, asked, filters)
    if not len(reader.units("turn")):
        return reading, _knows(asked.text, known) if known else _silence(asked.text, "empty_store")
    allowed = filtered_turns(reader, filters)
    if not allowed.any():
        return reading, _silence(asked.text, "filtered_out")
    judged = _judge_best(reader, reading, filters, options, meaning)
    if judged is None:
        return reading, _silence(asked.text, "thin_question")
    seen, ruling = judged.seen.within(reader, allowed), judged.ruling
    features = _explained(judged) if options.explain else {}
    fits = float(seen.sessions.max(initial=0.0)) >= FILTERED_WITHIN * float(judged.seen.sessions.max(initial=0.0))
    ordered = boost_named(reader, seen, judged.reading.found)
    shown = excerpt_sessions(reader, ordered, options.limit, options.budget) if ruling.opens and fits else []
    if shown:
        support, missing = round(ruling.support.total, 2), _uncovered(judged.reading.question, shown)
        answer = Answer("INJECT", "", support, asked.text, shown, missing, [], FOUND, features, known)
        return judged.reading, answer
    if ruling.opens:
        answer = _knows(asked.text, known) if known else _silence(asked.text, "filtered_out", ruling.support.total)
    else:
        answer = _knows(asked.text, known) if known else _refused(judged)
        if not known and answer.reason == "below_gate" and _falls_just_short(seen, ruling):
            best = int(np.argmax(seen.sessions))
            (perhaps,) = list_shown_sessions(reader, [best], allowed, _PERHAPS_TOKENS)
            answer = msgspec.structs.replace(answer, perhaps=perhaps)
    return judged.reading, msgspec.structs.replace(answer, features=features)


def _falls_just_short(seen: Look, ruling: GateRuling) -> bool:
    """True if the evidence is near the cut and one session stands out: right in nine of ten such cases."""
    best, second = np.sort(seen.sessions)[::-1][:2] if len(seen.sessions) > 1 else (*seen.sessions, 0.0)
    return bool(ruling.margin >= -PERHAPS_WITHIN and best > 0 and (best - second) / best >= PERHAPS_AHEAD)


def _judge_best(
    reader: IndexReader, whole: Reading, filters: Filters, options: Options, meaning: Meaning | None
) -> Judged | None:
    """The reading with the best evidence: the whole question, or a part of a long one. None when all are thin."""
    parts = [readings.read_in_store(reader, part, options.now) for part in split_prompt(whole.question.text)]
    worth = [one for one in (whole, *parts) if one.question.terms and not one.question.thin]
    judged = [
        readings.judge_reading(reader, one, filters.view, meaning, options.strictness, senders=options.senders)
        for one in worth
    ]
    return max(judged, key=lambda one: one.ruling.margin, default=None)


def _explained(judged: Judged) -> dict[str, float]:
    support = judged.ruling.support
    gates = {
        "gate.presence": support.presence,
        "gate.consistency": support.consistency,
        "gate.anchors": support.anchors,
        "gate.cut": judged.ruling.cut,
        "gate.turns": float(judged.seen.allowed.sum()),
    }
    return {name: round(float(value), 4) for name, value in (gates | judged.ruling.features).items()}


def _knowledge(reader: IndexReader, asked: Question, filters: Filters) -> list[Passage]:
    if len(asked.terms) < _FEWEST_TERMS:
        return []
    found = search_knowledge(reader, asked.terms)
    return [_to_passage(one) for one in found if one.coverage >= KNOWLEDGE_COVERAGE and filters.lets_path(one.path)]


def _to_passage(one: FoundPassage) -> Passage:
    return Passage(one.path, one.start, one.end, one.text, round(one.coverage, 2), list(one.sessions))


def _knows(question: str, known: list[Passage]) -> Answer:
    return Answer("KNOWLEDGE", "", known[0].coverage, question, [], [], [], FOUND, {}, known)


def _refused(judged: Judged) -> Answer:
    """Silence, and what was found instead when it belongs to somebody or something else."""
    seen, ruling = judged.seen, judged.ruling
    mismatch = ruling.support.presence >= ruling.cut > ruling.support.total
    reason: Reason = "anchor_mismatch" if mismatch else "below_gate"
    answer = _silence(seen.question.text, reason, ruling.support.total)
    postings = seen.lexical.postings
    known = {term for term, is_known in zip(postings.terms, postings.known, strict=True) if is_known}
    known.update(term for one in judged.reading.found for term in text.query_terms(one.named.text))
    unseen = [word for word in seen.question.words if _is_unseen(word, known)]
    return msgspec.structs.replace(answer, uncovered=unseen)


def _is_unseen(word: str, known: set[str]) -> bool:
    """True if no term of the word is known; of a name made of parts (``getUserName``) the whole counts."""
    terms = text.query_terms(word)
    return terms[0] not in known if len(terms) > 1 and word.isidentifier() else not known.intersection(terms)


def _silence(question: str, reason: Reason, support: float = 0.0) -> Answer:
    return Answer("SILENCE", reason, round(support, 2), question, [], [], [], NOTHING_FOUND)


def _uncovered(asked: Question, sessions: list[Hit]) -> list[str]:
    """Content words of the question that nothing shown contains."""
    shown = {term for hit in sessions for row in hit.rows for term in text.document_terms(row.text)}
    heads = (f"{hit.author_name} {hit.agent} {hit.branch or ''}" for hit in sessions)
    shown |= {term for head in heads for term in text.document_terms(head)}
    return [word for word in asked.words if not shown & set(text.query_terms(word))]
