"""Opening a session moves it a little; showing it moves nothing; neither opens a gate."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import numpy as np
import pytest

from rekal.index.filters import NO_FILTERS
from rekal.index.reader import open_index
from rekal.recall.answer import Answer
from rekal.recall.excerpts import OPENED
from rekal.recall.recall import Options, answer_question
from rekal.store.ledger import open_ledger
from tests.index.ledgers import START, Store, session

TALK = ("The upload worker drops chunks when the disk is full.", "It retries them now, with a pause that doubles.")
# Not at one moment: then they would be copies of one conversation.
TWINS = [session(name, *TALK, day=n / 1000) for n, name in enumerate(("one", "two", "three"))]
BEST = session("best", *TALK, "The upload worker also logs the dropped chunks of a full disk.", day=0.01)
OTHERS = [session("login", "The login cookie expires too early.", "It lasts a week now.")]
QUESTION = "does the upload worker retry dropped chunks"
ABSENT = "how are the ingress certificates rotated"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path)
    made.append(*TWINS, *OTHERS)
    made.update()
    return made


def note(store: Store, kind: str, session_id: str, times: int) -> None:
    with open_ledger(store.data, read_only=False) as ledger, ledger.transaction():
        for minute in range(times):
            ledger.add_recall_edge(kind, session_id, QUESTION, START + timedelta(minutes=minute))
    store.update()


def ask(store: Store, question: str = QUESTION) -> Answer:
    with open_index(store.index) as reader:
        return answer_question(reader, question, NO_FILTERS, Options(explain=True))


def order(answer: Answer) -> list[str]:
    return [hit.session_id for hit in answer.sessions]


def test_being_shown_a_hundred_times_moves_nothing(store: Store) -> None:
    before = ask(store)
    note(store, "surfaced", order(before)[-1], 100)
    assert ask(store) == before


def test_being_opened_moves_a_session_above_its_equals(store: Store) -> None:
    before = ask(store)
    last = order(before)[-1]
    note(store, "opened", last, 1)
    after = ask(store)
    assert order(after) == [last, *order(before)[:-1]]
    assert (after.support, after.features) == (before.support, before.features)


def test_more_openings_add_ever_less_and_never_much(store: Store) -> None:
    (one, two, _), scores = order(ask(store)), [ask(store).sessions[0].score]
    for times in (1, 3, 100):
        note(store, "opened", one, times)
        scores.append(ask(store).sessions[0].score)
    steps = np.diff(scores)
    assert all(steps > 0)
    assert scores[-1] <= scores[0] * (1 + OPENED)
    assert order(ask(store))[0] == one
    assert two in order(ask(store))


def test_a_better_session_stays_before_one_opened_often(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.append(BEST, *TWINS, *OTHERS)
    store.update()
    question = "which dropped chunks of a full disk does the upload worker log"
    assert order(ask(store, question))[0] == BEST.id
    note(store, "opened", TWINS[0].id, 100)
    assert order(ask(store, question))[0] == BEST.id


def test_a_sub_agents_openings_count_for_what_it_stands_under(store: Store) -> None:
    parent = TWINS[1]
    child = session("child", "Look at the disk.", "Full.", parent_id=parent.id)
    store.append(child)
    store.update()
    note(store, "opened", child.id, 1)
    assert order(ask(store))[0] == parent.id


def test_being_opened_opens_no_gate(store: Store) -> None:
    before = ask(store, ABSENT)
    assert before.verdict == "SILENCE"
    for one in (*TWINS, *OTHERS):
        note(store, "opened", one.id, 50)
    assert ask(store, ABSENT) == before


def test_a_rebuilt_index_counts_the_same(store: Store) -> None:
    note(store, "opened", TWINS[2].id, 2)
    before = ask(store)
    store.update(full=True)
    assert ask(store) == before
