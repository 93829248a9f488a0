"""Names that turns begin with: who speaks becomes a person that a question can name."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest

from rekal.index.facets import NOBODY
from rekal.index.filters import NO_FILTERS
from rekal.index.reader import IndexReader, open_index
from rekal.recall.claims import OWNERSHIP, Claims
from rekal.recall.gate import Attention
from rekal.recall.readings import read_in_store
from rekal.recall.recall import Options, answer_question
from rekal.recall.search import list_people
from tests.index.ledgers import START, Store, session

PETS = session(
    "pets", "Rosa: My dog is called Biscuit.", "Yusuf: I have a parrot.", "Rosa: Lovely!", "Yusuf: It talks."
)
TRIPS = session("trips", "Rosa: We drove to the lake.", "Ines: I flew to Lisbon.", "Rosa: Oh.", "Ines: For a week.")
NOTES = session("notes", "Note: the cache is slow.", "Note: the cache is fast now.", "Plan: measure", "Plan: ship")
CODE = session("code", "Fix the cache.", "Summary: the cache holds an hour now.")


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[IndexReader]:
    store = Store(tmp_path)
    store.append(PETS, NOTES, CODE)
    store.update()
    store.append(TRIPS)
    store.update()
    with open_index(store.index) as opened:
        yield opened


def test_names_that_open_most_turns_of_a_session_are_its_speakers(reader: IndexReader) -> None:
    assert reader.speakers.names == ("Ines", "Rosa", "Yusuf")
    turns, ids = reader.units("turn"), reader.sessions.ids
    pets = [at for at in range(len(turns)) if ids[turns.session[at]] == PETS.id]
    names = reader.speakers.names
    assert [names[reader.speakers.says[at]] for at in pets] == ["Rosa", "Yusuf", "Rosa", "Yusuf"]
    assert [names[reader.speakers.hears[at]] for at in pets] == ["Yusuf", "Rosa", "Yusuf", "Rosa"]
    notes = [at for at in range(len(turns)) if ids[turns.session[at]] in (NOTES.id, CODE.id)]
    assert {int(reader.speakers.says[at]) for at in notes} == {NOBODY}


def test_speakers_are_people_after_the_authors(reader: IndexReader) -> None:
    assert list(list_people(reader)) == ["Ada", "ada@example.com", "Ines", "Rosa", "Yusuf"]
    reading = read_in_store(reader, "what did Yusuf say about his parrot", None)
    assert [anchor.text for anchor in reading.question.of_kind("person")] == ["Yusuf"]


def test_it_is_said_who_is_an_author_and_who_speaks(reader: IndexReader) -> None:
    people = answer_question(reader, "parrot", NO_FILTERS, Options(explain=True)).people
    assert people
    assert [(one.name, one.kind) for one in people][:2] == [("Ada", "author"), ("Ines", "speaker")]


def test_a_speaker_reaches_the_sessions_in_which_they_speak(reader: IndexReader) -> None:
    answer = answer_question(reader, "what did Ines do", NO_FILTERS, Options())
    assert [hit.session_id for hit in answer.sessions] == [TRIPS.id]
    pin = next(pin for pin in answer.anchors if pin.kind == "person")
    assert (pin.text, pin.sessions, pin.shown) == ("Ines", 1, 1)
    both = answer_question(reader, "what did Rosa do on March 1, 2026", NO_FILTERS, Options(now=START))
    assert {hit.session_id for hit in both.sessions} == {PETS.id, TRIPS.id}


def test_an_author_called_like_a_word_of_the_store_is_no_person(tmp_path: Path) -> None:
    store = Store(tmp_path)
    said = ("the dev server restarts in dev mode", "dev mode reloads the worker now")
    store.append(
        session("one", *said, author="dev"), session("two", *said, day=1, author="dev"), session("ada", "the cache")
    )
    store.update()
    with open_index(store.index) as opened:
        assert "dev" not in list_people(opened)
        assert "Ada" in list_people(opened)
        question = "why does the dev server restart the worker"
        assert read_in_store(opened, question, None).question.of_kind("person") == ()
        assert answer_question(opened, question, NO_FILTERS, Options()).verdict == "INJECT"


def test_evidence_about_a_speaker_comes_from_their_sessions(reader: IndexReader) -> None:
    answer = answer_question(reader, "what animal does Yusuf have, a parrot?", NO_FILTERS, Options())
    assert [hit.session_id for hit in answer.sessions] == [PETS.id]
    other = answer_question(reader, "did Ines say her parrot talks", NO_FILTERS, Options())
    assert PETS.id not in [hit.session_id for hit in other.sessions]


def test_one_word_about_a_speaker_is_not_every_session_that_has_the_word(reader: IndexReader) -> None:
    # By the word alone the parrot's session would answer, whoever has the parrot there.
    answer = answer_question(reader, "what is Ines's parrot", NO_FILTERS, Options())
    assert PETS.id not in [hit.session_id for hit in answer.sessions]
    assert answer_question(reader, "parrot", NO_FILTERS, Options()).sessions[0].session_id == PETS.id


def test_a_session_that_loses_its_labels_loses_its_speakers(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.append(session("talk", "Rosa: Hello.", "Rosa: Hello again."))
    store.update()
    store.append(session("talk", "Rosa: Hello.", "Rosa: Hello again.", "so", "it", "goes", "on"))
    store.update()
    with open_index(store.index) as reader:
        assert reader.speakers.names == ()


def test_the_session_that_says_most_about_the_one_asked_comes_first() -> None:
    attention = Attention({"covered": 4.0}, dict.fromkeys(OWNERSHIP, 0.0), 0.0)
    covered = np.zeros((4, 1))
    covered[:, 0] = (1.0, 0.5, 1.0, 0.2)
    says, hears = np.array([True, True, False, True]), np.array([False, False, False, False])
    claims = Claims(covered, np.zeros((4, len(OWNERSHIP))), says, hears, np.array([2, 0, 1, 0]))
    share = attention.weigh_sessions(claims, 4)
    assert share[2] == 1.0
    assert 0 < share[0] < 1
    # What another person says is nobody's evidence here, and a session without any gains nothing.
    assert share[1] == share[3] == 0.0


def test_no_claim_lifts_nothing() -> None:
    attention = Attention({"covered": 4.0}, dict.fromkeys(OWNERSHIP, 0.0), 0.0)
    nothing = Claims(np.zeros((0, 1)), np.zeros((0, len(OWNERSHIP))), np.zeros(0, np.bool_), np.zeros(0, np.bool_))
    assert attention.weigh_sessions(nothing, 3).tolist() == [0, 0, 0]
