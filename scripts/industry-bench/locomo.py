"""LoCoMo: ten long conversations of two people, 1,986 questions, 446 of them unanswerable ("adversarial").

Two row sets. An audit lists questions whose key is wrong, numbered from 0; the reference's normaliser numbers from 1,
so its 1,888 rows leave out the question before each bad one. ``reference`` repeats that, ``corrected`` (1,887) does
not. Both keep questions whose only fault is a wrong citation.
"""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
from rows import Packed, Ranked, Row, in_time, measure, window
from stores import Bools, Lexicon, Store, Vectors
from vectors import VectorCache

from rekal.recall.claims import Claims
from rekal.recall.dates import read_periods
from rekal.recall.question import Question, in_first_person, read_question
from rekal.recall.sentences import CANDIDATE_TURNS, Sentences, find_owner, read_signs, split_sentences

CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop", 5: "adversarial"}
BUDGETS = (150, 300, 600, 1200, 2400)
TOKENS_A_WORD = 1.35  # word pieces; what a window costs is estimated from its words
SEED = 20


class Conversation:
    """One conversation as a store, with whom each sentence is about."""

    def __init__(self, number: int, record: dict[str, Any], vectors: VectorCache) -> None:
        talk = record["conversation"]
        self.number, self.name = number, str(record["sample_id"])
        self.people = (str(talk["speaker_a"]), str(talk["speaker_b"]))
        self.questions: list[dict[str, Any]] = record["qa"]
        self.ids: dict[str, int] = {}
        texts: list[str] = []
        session: list[int] = []
        self.speaker: list[int] = []
        self.times: list[datetime] = []
        for turn, number_of_session, time in talk_turns(talk):
            if number_of_session == len(self.times):
                self.times.append(time)
            caption = f" {turn['blip_caption']}" if turn.get("blip_caption") else ""
            self.ids[turn["dia_id"]] = len(texts)
            texts.append(turn["text"] + caption)
            session.append(number_of_session)
            self.speaker.append(self.people.index(turn["speaker"]))
        self.store = Store(texts, session, vectors(texts))
        self.lengths = [int(len(text.split()) * TOKENS_A_WORD) + 3 for text in texts]
        self._cut_sentences(vectors)

    def read(self, text: str) -> tuple[Question, Bools]:
        """The question, asked a day after the last session, and by session whether it names that session's time."""
        named = read_periods(text, self.times[-1] + timedelta(days=1))
        question = read_question(text, self.people, [(one.start, one.stop) for one in named])
        return question, in_time(named, self.times)

    def _cut_sentences(self, vectors: VectorCache) -> None:
        pieces = [(place, piece) for place, text in enumerate(self.store.texts) for piece in split_sentences(text)]
        self.sentence_turn = np.array([place for place, _ in pieces])
        self.sentence_text = [piece for _, piece in pieces]
        speaker = [self.speaker[place] for place, _ in pieces]
        self.sentence_speaker = np.array(speaker)
        owners = [find_owner(text, who, 1 - who) for text, who in zip(self.sentence_text, speaker, strict=True)]
        self.sentence_owner = np.array(owners)
        self.sentence_signs = np.array([read_signs(piece) for piece in self.sentence_text])
        self.sentences = Lexicon(self.sentence_text)
        self.sentence_vectors = vectors(self.sentence_text)


def talk_turns(talk: dict[str, Any]) -> Iterator[tuple[dict[str, Any], int, datetime]]:
    session = 0
    for key in sorted((k for k in talk if re.fullmatch(r"session_\d+", k)), key=lambda k: int(k[8:])):
        if talk[key]:
            time = datetime.strptime(talk[f"{key}_date_time"], "%I:%M %p on %d %B, %Y").replace(tzinfo=UTC)
            yield from ((turn, session, time) for turn in talk[key])
            session += 1


def evidence(question: dict[str, Any], ids: dict[str, int]) -> list[int]:
    """Places of the cited turns; ids that do not exist are left out."""
    cited = re.sub(r"D:(\d+):", r"D\1:", " ".join(str(item) for item in question.get("evidence") or []))
    found = {f"D{int(a)}:{int(b)}" for a, b in re.findall(r"D(\d+):(\d+)", cited)}
    return sorted(ids[name] for name in found if name in ids)


def left_out(audit: list[dict[str, Any]], first_number: int) -> set[tuple[int, int]]:
    """(conversation, question from 0) that the audit faults, if its numbers begin at ``first_number``."""
    numbers = (
        re.fullmatch(r"locomo_(\d+)_qa(\d+)", a["question_id"]) for a in audit if a["error_type"] != "WRONG_CITATION"
    )
    return {(int(m[1]), int(m[2]) - first_number) for m in numbers if m}


def renamed(text: str, old: tuple[str, str], new: tuple[str, str]) -> str:
    """``text`` with each of two names replaced by the other list's, both at once."""
    table = dict(zip(old, new, strict=True))
    return re.sub("|".join(rf"\b{re.escape(name)}\b" for name in old), lambda match: table[match[0]], text)


def person_claims(talk: Conversation, question: Question, ranked: Ranked, dense: Vectors | None) -> Packed | None:
    """What the best turns and their neighbours claim; None unless one person is named. ``dense`` as in the shipped
    code's use of a model.
    """
    persons = [anchor.text for anchor in question.of_kind("person")]
    if len(persons) != 1:
        return None
    asked = talk.people.index(persons[0])
    best = np.argsort(-ranked.by_turn, kind="stable")[:CANDIDATE_TURNS]
    near = np.unique(np.clip(np.concatenate([best - 1, best, best + 1]), 0, len(ranked.by_turn) - 1))
    rows = np.flatnonzero(np.isin(talk.sentence_turn, near))
    turn, speaker = talk.sentence_turn[rows], talk.sentence_speaker[rows]
    found = Sentences(
        turn=turn,
        session=talk.store.session[turn],
        length=talk.sentences.length[rows],
        speaker=speaker,
        listener=1 - speaker,
        owner=talk.sentence_owner[rows],
        signs=talk.sentence_signs[rows],
        standing=ranked.standing[turn],
        tf=talk.sentences.counts(talk.sentences.ids(question.terms))[:, rows],
    )
    chosen = found.candidates(ranked.found.idf, asked)
    cosine = None if dense is None else (talk.sentence_vectors[rows[chosen]] @ dense).astype(np.float64)
    return Packed.of(Claims.of(found, ranked.found.idf, asked, question.text, chosen, cosine))


def first_person(question: Question, people: tuple[str, ...]) -> str:
    persons = [anchor.text for anchor in question.of_kind("person")]
    asked = persons[0] if persons else None
    return in_first_person(question.plain, asked, [name for name in people if name != asked])


class LoCoMo:
    """The whole set, as rows."""

    def __init__(self, folder: Path, vectors: VectorCache) -> None:
        self.vectors = vectors
        records = json.loads((folder / "locomo10.json").read_text())
        audit = json.loads((folder / "locomo-audit-errors.json").read_text())
        self.talks = [Conversation(number, record, vectors) for number, record in enumerate(records)]
        self.reference, self.corrected = left_out(audit, 1), left_out(audit, 0)

    def rows(self) -> list[Row]:
        """Every question in its own conversation, and the negatives made of the answerable ones."""
        rng = random.Random(SEED)
        plan = list(self._plan(rng))
        self.vectors.fill(first_person(talk.read(text)[0], talk.people) for _, talk, text, _ in plan)
        return [self._row(row, talk, text, gold) for row, talk, text, gold in plan]

    def _plan(self, rng: random.Random) -> Iterator[tuple[Row, Conversation, str, list[int]]]:
        for talk in self.talks:
            for number, record in enumerate(talk.questions):
                text, category = record["question"], CATEGORIES[record["category"]]
                name = f"{talk.name}:q{number}"
                sets = [
                    s
                    for s, out in (("reference", self.reference), ("corrected", self.corrected))
                    if (talk.number, number) not in out
                ]
                own = Row(id=name, group=talk.name, kind="answerable", part=category)
                own.sets = sum({"reference": 1, "corrected": 2}[s] for s in sets)
                gold = evidence(record, talk.ids)
                if category == "adversarial":
                    own.kind = "adversarial"
                    own.part = self._trap(talk, text, gold)
                yield own, talk, text, gold
                if category != "adversarial":
                    yield from self._negatives(rng, talk, name, text, own.sets)

    @staticmethod
    def _trap(talk: Conversation, text: str, cited: list[int]) -> str:
        """An adversarial row is a swap when what it cites is all said by somebody the question does not name."""
        named = [talk.people.index(a.text) for a in read_question(text, talk.people).of_kind("person")]
        speakers = {talk.speaker[place] for place in cited}
        return "swap" if len(named) == 1 and speakers == {1 - named[0]} else "detail"

    def _negatives(
        self, rng: random.Random, talk: Conversation, name: str, text: str, sets: int
    ) -> Iterator[tuple[Row, Conversation, str, list[int]]]:
        swapped = renamed(text, talk.people, talk.people[::-1])
        if swapped != text:
            yield Row(id=f"{name}:swap", group=talk.name, kind="swap", sets=sets), talk, swapped, []
        others = [other for other in self.talks if other is not talk]
        for part, pool in (("any", others), ("parity", [o for o in others if o.number % 2 == talk.number % 2])):
            other = rng.choice(pool)
            for kind, asked in (("kept", text), ("mapped", renamed(text, talk.people, other.people))):
                row = Row(
                    id=f"{name}:{kind}:{part}", group=f"{talk.name}>{other.name}", kind=kind, part=part, sets=sets
                )
                yield row, other, asked, []

    def _row(self, row: Row, talk: Conversation, text: str, gold: list[int]) -> Row:
        question, times = talk.read(text)
        dense = self.vectors([first_person(question, talk.people)])[0]
        sessions = sorted({int(talk.store.session[place]) for place in gold})
        full, plain, shown_by = measure(row, talk.store, question, dense, sessions, gold, times)
        row.person = person_claims(talk, question, full, dense)
        row.person_lexical = person_claims(talk, question, plain, None)
        if row.kind == "answerable" and gold:
            for budget in BUDGETS:
                shown, _ = window(talk.store, shown_by, talk.lengths, budget)
                row.in_window[f"any@{budget}"] = bool(shown & set(gold))
                row.in_window[f"all@{budget}"] = set(gold) <= shown
        return row
