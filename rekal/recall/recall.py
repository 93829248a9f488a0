"""Recall: one question, one verdict.

Two gates look at absolute evidence, and either may silence. *Presence*: is anything here at all. *Consistency*: does it
belong to the person and to the identifiers that the question names. What they weigh and how the weights came about
stands in :mod:`rekal.recall.gate`; what only orders (:mod:`rekal.recall.search`) never opens them.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from rekal.errors import FOUND, NOTHING_FOUND
from rekal.index import text
from rekal.index.dense import Meaning
from rekal.index.filters import Filters
from rekal.index.knowledge import FoundPassage, search_knowledge
from rekal.index.reader import IndexReader
from rekal.recall.answer import Answer, Hit, Passage, Pin, Reason
from rekal.recall.boosts import boost_named
from rekal.recall.consistency import anchor_ratio, person_claims
from rekal.recall.excerpts import excerpt_sessions
from rekal.recall.gate import Support, load_weights
from rekal.recall.mentions import NamedThing, Reach, find_mentions, list_anchors
from rekal.recall.question import Question, read_question
from rekal.recall.scores import measure_presence
from rekal.recall.search import Look, list_people, search_index

# A tracked passage answers when it holds nearly all that the question weighs: prose about everything matches anything
# a little, and nobody has labelled which passage answers what.
KNOWLEDGE_COVERAGE = 0.75
_FEWEST_TERMS = 2


# In so small a store no word is rare and no session long, which is what the weights of the gate go by. There a question
# whose every word stands together in a turn and its neighbours is answered.
SMALL_STORE = 300  # turns
_ALL = 0.99


class Options(msgspec.Struct, frozen=True):
    """Settings of one answer. ``strictness`` 0 to 1, ``budget`` in tokens, ``limit`` in sessions.

    ``now`` is the asker's clock, in their zone: dates of the question are read by it. Without it none are read.
    """

    strictness: float = 0.5
    budget: int = 600
    limit: int = 5
    explain: bool = False
    now: datetime | None = None


class Ruling(msgspec.Struct, frozen=True):
    """Verdict of the gates: support, the cut that it must reach, the features that it is made of."""

    support: Support
    cut: float
    features: dict[str, float]

    @property
    def opens(self) -> bool:
        """True if there is enough to inject."""
        return self.support.total >= self.cut


def answer_question(
    reader: IndexReader, question: str, filters: Filters, options: Options, meaning: Meaning | None = None
) -> Answer:
    """Answer ``question`` from the index, by keywords alone without ``meaning``.

    The same index, question and day give the same answer. EngineError when the model fails.
    """
    named = find_mentions(reader, question, options.now)
    asked = read_question(question, list_people(reader), [(one.start, one.stop) for one in named if one.aside])
    anchors = [(one, Reach.of(reader, one)) for one in list_anchors(asked, named)]
    reaches = [found for _, found in anchors if found and found.sessions.any()]
    answer = _answer_topic(reader, asked, filters, options, meaning, reaches)
    shown = [reader.sessions.number(hit.session_id) for hit in answer.sessions]
    return msgspec.structs.replace(answer, anchors=[_pin(*anchor, shown) for anchor in anchors])


def _pin(named: NamedThing, found: Reach | None, shown: Sequence[int | None]) -> Pin:
    if named.filters is None or found is None:
        return Pin(named.kind, named.text)
    here = sum(number is not None and bool(found.sessions[number]) for number in shown)
    since, until = (when and when.astimezone(UTC) for when in (named.filters.since, named.filters.until))
    return Pin(named.kind, named.text, since, until, int(found.sessions.sum()), here)


def _answer_topic(
    reader: IndexReader,
    asked: Question,
    filters: Filters,
    options: Options,
    meaning: Meaning | None,
    reaches: Sequence[Reach],
) -> Answer:
    if asked.thin or not asked.terms:
        return _silence(asked.text, "thin_question")
    known = _knowledge(reader, asked)
    if not len(reader.units("turn")):
        return _knows(asked.text, known) if known else _silence(asked.text, "empty_store")
    seen = search_index(reader, asked, filters, meaning)
    if not seen.lexical.allowed.any():
        return _silence(asked.text, "filtered_out")
    ruling = _judge_evidence(reader, seen, meaning, options.strictness)
    features = _explained(ruling) if options.explain else {}
    shown = _shown(reader, boost_named(reader, seen, reaches), options) if ruling.opens else []
    if shown:
        support, missing = round(ruling.support.total, 2), _uncovered(asked, shown)
        return Answer("INJECT", "", support, asked.text, shown, missing, [], FOUND, features, known)
    answer = _knows(asked.text, known) if known else _refused(seen, ruling, reaches)
    return msgspec.structs.replace(answer, features=features)


def _shown(reader: IndexReader, ordered: Look, options: Options) -> list[Hit]:
    return excerpt_sessions(reader, ordered, options.limit, options.budget)


def _judge_evidence(reader: IndexReader, seen: Look, meaning: Meaning | None, strictness: float) -> Ruling:
    gate = load_weights().gate(dense=seen.semantic, person=bool(seen.question.of_kind("person")))
    present = measure_presence(seen.found, seen.covered, seen.is_stranger)
    floor = gate.cut(strictness)
    least = _ALL if len(seen.turns) < SMALL_STORE and present["window_coverage"] >= _ALL else 0.0
    support = gate.judge(present, least=least)
    if support.total >= floor:  # reading texts for the second gate pays only when the first is open
        belongs = person_claims(reader, seen, meaning), anchor_ratio(reader, seen)
        support = gate.judge(present, *belongs, least=least)
    return Ruling(support, floor, present)


def _explained(ruling: Ruling) -> dict[str, float]:
    gates = {
        "gate.presence": ruling.support.presence,
        "gate.consistency": ruling.support.consistency,
        "gate.anchors": ruling.support.anchors,
        "gate.cut": ruling.cut,
    }
    return {name: round(float(value), 4) for name, value in (gates | ruling.features).items()}


def _knowledge(reader: IndexReader, asked: Question) -> list[Passage]:
    if len(asked.terms) < _FEWEST_TERMS:
        return []
    found = search_knowledge(reader, asked.terms)
    return [_to_passage(one) for one in found if one.coverage >= KNOWLEDGE_COVERAGE]


def _to_passage(one: FoundPassage) -> Passage:
    return Passage(one.path, one.start, one.end, one.text, round(one.coverage, 2), list(one.sessions))


def _knows(question: str, known: list[Passage]) -> Answer:
    return Answer("KNOWLEDGE", "", known[0].coverage, question, [], [], [], FOUND, {}, known)


def _refused(seen: Look, ruling: Ruling, reaches: Sequence[Reach]) -> Answer:
    """Silence, and what was found instead when it belongs to somebody or something else."""
    mismatch = ruling.support.presence >= ruling.cut > ruling.support.total
    reason: Reason = "anchor_mismatch" if mismatch else "below_gate"
    answer = _silence(seen.question.text, reason, ruling.support.total)
    known = {t for t, k in zip(seen.lexical.postings.terms, seen.lexical.postings.known, strict=True) if k}
    known.update(term for one in reaches for term in text.query_terms(one.named.text))
    unseen = [word for word in seen.question.words if not known.intersection(text.query_terms(word))]
    return msgspec.structs.replace(answer, uncovered=unseen)


def _silence(question: str, reason: Reason, support: float = 0.0) -> Answer:
    return Answer("SILENCE", reason, round(support, 2), question, [], [], [], NOTHING_FOUND)


def _uncovered(asked: Question, sessions: list[Hit]) -> list[str]:
    """Content words of the question that nothing shown contains."""
    shown = {term for hit in sessions for row in hit.rows for term in text.document_terms(row.text)}
    heads = (f"{hit.author_name} {hit.agent} {hit.branch or ''}" for hit in sessions)
    shown |= {term for head in heads for term in text.document_terms(head)}
    return [word for word in asked.words if not shown & set(text.query_terms(word))]
