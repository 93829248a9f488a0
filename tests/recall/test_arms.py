"""From a real index to a verdict: what the shipped gate says of a small store."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rekal.index.bm25 import score_lexical
from rekal.index.reader import IndexReader, open_index
from rekal.recall.gate import load_weights
from rekal.recall.question import read_question
from rekal.recall.scores import Found, measure_coverage, measure_presence, rank_sessions, rank_turns
from rekal.recall.search import gather_arms
from tests.index.ledgers import Store, session

QUEUE = session(
    "queue",
    "Why do the job queue workers lose jobs when Redis restarts? We should move the queue to Postgres.",
    "I moved the job queue from Redis to Postgres with SKIP LOCKED, so a restart of Redis loses no job any more.",
)
OTHERS = [
    session("login", "The login cookie expires too early.", "The session cookie now lasts a week."),
    session("parser", "The config parser fails on tabs.", "Tabs are expanded before the parser sees them."),
    session("ci", "Build the wheels on every tag.", "The release workflow builds and uploads the wheels."),
    session("docs", "Document the exit codes.", "Every exit code is in the reference now."),
]


PRESENT = "how do queue workers lose jobs when redis restarts"
ABSENT = "which colour palette do the marketing banners use"


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[IndexReader]:
    store = Store(tmp_path)
    store.append(QUEUE, *OTHERS)
    store.update()
    with open_index(store.index) as opened:
        yield opened


def found(reader: IndexReader, question: str) -> Found:
    return gather_arms(reader, score_lexical(reader, list(read_question(question).terms)))


def test_the_index_and_the_evidence_agree_on_the_best(reader: IndexReader) -> None:
    hits = found(reader, PRESENT)
    covered = measure_coverage(hits)
    by_session = rank_sessions(hits, covered)
    assert reader.sessions.ids[int(by_session.argmax())] == QUEUE.id
    place = int(rank_turns(hits, covered, by_session).argmax())
    units = reader.units("turn")
    assert (reader.sessions.ids[units.session[place]], int(units.seq[place])) == (QUEUE.id, 0)
    assert covered.turn.max() == pytest.approx(1.0)


def test_the_shipped_gate_tells_present_from_absent(reader: IndexReader) -> None:
    gate = load_weights().gate(dense=False, person=False)
    support = [
        gate.judge(measure_presence(hits, measure_coverage(hits), stranger=False)).total
        for hits in (found(reader, PRESENT), found(reader, ABSENT))
    ]
    assert support[1] < gate.cut(0.25) < support[0]


def test_vectors_join_by_place(reader: IndexReader) -> None:
    question = read_question(PRESENT)
    lexical = score_lexical(reader, list(question.terms))
    near = np.zeros(len(lexical.turns))
    near[-1] = 0.9
    hits = gather_arms(reader, lexical, cosine=near, centroid=np.zeros(len(reader.sessions)))
    assert measure_presence(hits, measure_coverage(hits), stranger=False)["cosine"] == pytest.approx(0.9)
