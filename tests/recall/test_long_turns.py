"""A turn of megabytes: its excerpt is found without analysing all of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rekal.index import text
from rekal.index.filters import NO_FILTERS
from rekal.index.reader import open_index
from rekal.recall.recall import Options, answer_question
from tests.index.ledgers import Store, session

NEEDLE = "The upload worker retries a chunk three times before it gives up."


def test_the_excerpt_of_a_very_long_turn_is_found_by_reading_little(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filler = "Lorem ipsum dolor sit amet, a worker of another kind.\n" * 20_000
    store = Store(tmp_path)
    store.append(session("long", "Look at this log.", f"{filler}{NEEDLE}\n{filler}"), session("other", "Hi.", "Hello."))
    store.update()
    read: list[int] = []
    analyse = text.document_terms

    def counted(said: str) -> list[str]:
        read.append(len(said))
        return analyse(said)

    monkeypatch.setattr(text, "document_terms", counted)
    with open_index(store.index) as reader:
        question = "how often does the upload worker retry a chunk before it gives up"
        answer = answer_question(reader, question, NO_FILTERS, Options(strictness=0.0))
    assert any(NEEDLE in row.text for hit in answer.sessions for row in hit.rows)
    assert 0 < sum(read) < 100_000


def test_every_session_that_is_worth_showing_keeps_room_for_its_row(tmp_path: Path) -> None:
    store = Store(tmp_path)
    long = "so we looked at what it does when the bucket is closed and wrote that down as well " * 9
    names = [f"one{at}" for at in range(5)]
    store.append(
        *(session(name, f"{name}: {NEEDLE} {long}", f"{NEEDLE} {long}", day=at) for at, name in enumerate(names))
    )
    store.update()
    with open_index(store.index) as reader:
        for budget in (600, 300, 120):
            asked = "how often does the upload worker retry a chunk before it gives up"
            answer = answer_question(reader, asked, NO_FILTERS, Options(strictness=0.0, budget=budget))
            rows = [row for hit in answer.sessions for row in hit.rows]
            assert len(answer.sessions) == len(names)
            assert sum(len(row.text) for row in rows) <= budget * 4
            assert all(row.cut for row in rows)


def test_an_excerpt_of_a_text_without_spaces_is_no_longer_than_others(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.append(
        session("blob", f"{'QUJD' * 3000}retry", f"{NEEDLE} {'QUJD' * 3000}"), session("other", "Hi.", "Hello.")
    )
    store.update()
    with open_index(store.index) as reader:
        answer = answer_question(reader, "upload worker retries chunk", NO_FILTERS, Options(strictness=0.0))
    assert answer.sessions
    assert all(len(row.text) <= 480 for hit in answer.sessions for row in hit.rows)
