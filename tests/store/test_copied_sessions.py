"""A conversation that was copied under new ids is stored once; what was said after the two parted comes in."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from rekal.model import Session, ToolCall, Turn
from rekal.store.copied_sessions import read_same_beginnings
from rekal.store.ledger import Ledger, open_ledger


@pytest.fixture
def ledger(tmp_path: Path) -> Iterator[Ledger]:
    with open_ledger(tmp_path / "data.db", read_only=False, create=True) as opened:
        yield opened


START = datetime(2026, 3, 1, 9, 0, tzinfo=UTC)


def talk(name: str, *said: str, start: datetime = START) -> Session:
    """A session whose ids are all of its own; a person and an agent take turns."""
    turns = tuple(
        Turn(n, f"{name}-{n}", "assistant" if n % 2 else "human", text, start + timedelta(seconds=n))
        for n, text in enumerate(said)
    )
    calls = (ToolCall(0, f"{name}-call", 1, "Bash", None, "make test", "ok", None, start + timedelta(seconds=1)),)
    return Session(f"id-{name}", "claude", name, "Ada", "ada@example.com", turns=turns, tool_calls=calls)


def stored(ledger: Ledger, sql: str) -> list[tuple[object, ...]]:
    return ledger.con.execute(sql).fetchall()


def test_a_whole_copy_leaves_nothing(ledger: Ledger) -> None:
    with ledger.transaction():
        ledger.append_all([talk("one", "why", "since"), talk("two", "why", "since")])
    with ledger.transaction():
        ledger.append_all([talk("three", "why", "since")])

    assert stored(ledger, "SELECT id FROM sessions") == [("id-one",)]
    assert stored(ledger, "SELECT count(*) FROM tool_calls") == [(1,)]


def test_a_copy_that_goes_on_keeps_what_is_new_and_names_its_origin(ledger: Ledger) -> None:
    with ledger.transaction():
        ledger.append_all([talk("one", "why", "since", "and then", "so")])
    with ledger.transaction():
        ledger.append_all([talk("two", "why", "since", "what else", "nothing")])

    assert stored(ledger, "SELECT content FROM turns WHERE session_id = 'id-two' ORDER BY seq") == [
        ("what else",),
        ("nothing",),
    ]
    assert stored(ledger, "SELECT forked_from FROM sessions WHERE id = 'id-two'") == [("id-one",)]
    assert stored(ledger, "SELECT count(*) FROM tool_calls") == [(1,)]


def test_the_same_words_at_another_time_or_the_prompt_alone_are_no_copy(ledger: Ledger) -> None:
    with ledger.transaction():
        ledger.append_all(
            [
                talk("one", "why", "since"),
                talk("later", "why", "since", start=START + timedelta(microseconds=1)),
                talk("parallel", "why", "because"),
            ]
        )

    assert stored(ledger, "SELECT count(*) FROM turns") == [(6,)]


def test_mails_of_one_minute_are_not_held_against_each_other(ledger: Ledger) -> None:
    def mail(name: str) -> Session:
        turns = tuple(Turn(n, f"{name}-{n}", "human", f"part {n} of {name}", START) for n in range(3))
        return Session(f"id-{name}", "mailbox", name, "Ada", "", turns=turns)

    with ledger.transaction():
        ledger.append_all([mail("first"), talk("one", "why", "since")])

    assert not read_same_beginnings(ledger.con, [mail("second")]).turns
    assert set(read_same_beginnings(ledger.con, [talk("two", "why", "since")]).turns) == {"id-first", "id-one"}
