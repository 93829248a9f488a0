"""Questions that only name something: the sessions of a file, a time, a person, a commit, or a single word."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from rekal.index.filters import Filters
from rekal.index.reader import IndexReader, open_index
from rekal.recall.answer import Answer
from rekal.recall.recall import Options, answer_question
from tests.index.ledgers import Store, calls, checkpoint, session

NOW = datetime(2026, 3, 12, 15, 30, tzinfo=UTC)  # sessions are of 1 March and days after it
CACHE = "The cache forgets its entries after a restart."
DISK = session("disk", CACHE, "It writes them to disk now.", day=1, tool_calls=calls("disk", "src/cache.py"))
TTL = session(
    "ttl",
    "yes",
    "Entries of the cache live an hour now, see --cache-ttl.",
    day=9,
    tool_calls=calls("ttl", "src/cache.py"),
)
LOGIN = session(
    "login", "The login cookie expires too early.", "It lasts a week.", day=10, author="Grace", agent="codex"
)
CHAT = [session(f"chat{n}", "The worker is slow.", "The worker is faster now.", day=2 + n / 1000) for n in range(12)]
ALL = (DISK, TTL, LOGIN, *CHAT)
SHA = "bbb2222" + "0" * 33


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[IndexReader]:
    store = Store(tmp_path)
    store.append(*ALL, checkpoints=[checkpoint(SHA, TTL, "src/cache.py", subject="Expire", branch="fix/ttl")])
    store.update()
    with open_index(store.index) as opened:
        yield opened


def ask(reader: IndexReader, question: str, **where: object) -> Answer:
    return answer_question(reader, question, Filters(**where), Options(now=NOW))  # type: ignore[arg-type]


def shown(answer: Answer) -> list[str]:
    names = {one.id: one.native_id for one in ALL}
    return [names[hit.session_id] for hit in answer.sessions]


@pytest.mark.parametrize(
    "question", ["what was changed here and why", "what should I know before changing this", "what was tried", ""]
)
def test_a_filter_without_a_topic_lists_its_sessions_newest_first(reader: IndexReader, question: str) -> None:
    answer = ask(reader, question, file="src/cache.py")
    assert (answer.verdict, shown(answer), answer.listed) == ("INJECT", ["ttl", "disk"], 2)


@pytest.mark.parametrize(
    ("question", "sessions"),
    [
        ("what do I need to know before editing src/cache.py", ["ttl", "disk"]),
        ("what happened yesterday", ["login"]),
        ("what did we do in the last 3 days?", ["login", "ttl"]),
        ("what did we do on March 2?", ["disk"]),
        ("did we change anything between March 9 and March 10", ["ttl"]),
        ("what did Grace do last week?", []),
        ("what did Grace do this week?", ["login"]),
        ("what did codex change?", ["login"]),
        ("commit bbb2222", ["ttl"]),
        ("what happened on branch fix/ttl", ["ttl"]),
    ],
)
def test_what_a_question_names_is_its_answer(reader: IndexReader, question: str, sessions: list[str]) -> None:
    answer = ask(reader, question)
    assert shown(answer) == sessions
    assert answer.reason == ("" if sessions else "nothing_named")


def test_a_month_is_answered_by_its_sessions_newest_first(reader: IndexReader) -> None:
    answer = ask(reader, "what did we do in March")
    assert (answer.verdict, answer.listed, shown(answer)[:2]) == ("INJECT", len(ALL), ["login", "ttl"])
    empty = ask(reader, "what did we do in February")
    assert (empty.verdict, empty.reason) == ("SILENCE", "nothing_named")


def test_a_listed_session_shows_its_prompt_and_its_outcome(reader: IndexReader) -> None:
    disk = ask(reader, "what happened to src/cache.py").sessions[1]
    assert [(row.role, row.text) for row in disk.rows] == [
        ("human", CACHE),
        ("assistant", "It writes them to disk now."),
    ]


@pytest.mark.parametrize(
    "question", ["commit and push on fix/ttl", "merge branch fix/ttl", "delete src/cache.py", "yes"]
)
def test_an_order_asks_for_no_sessions(reader: IndexReader, question: str) -> None:
    assert ask(reader, question).verdict == "SILENCE"


@pytest.mark.parametrize("question", ["cookie", "what about the cookie?", "--cache-ttl"])
def test_one_rare_word_is_answered_by_its_sessions(reader: IndexReader, question: str) -> None:
    assert shown(ask(reader, question)) == [("login" if "cookie" in question else "ttl")]


def test_one_common_word_is_counted(reader: IndexReader) -> None:
    answer = ask(reader, "worker")
    assert (answer.verdict, answer.reason) == ("SILENCE", "common_word")
    assert answer.notes == ['"worker" stands in 12 of 15 sessions: `rekal find "worker"` lists them']


def test_a_filter_chooses_what_is_shown_and_judges_nothing(reader: IndexReader) -> None:
    question = "why does the cache forget its entries after a restart"
    assert shown(ask(reader, question))[0] == "disk"
    assert shown(ask(reader, question, file="src/cache.py"))[0] == "disk"
    answer = ask(reader, question, author="Grace")
    assert (answer.verdict, answer.reason) == ("SILENCE", "filtered_out")
    assert ask(reader, "how are the ingress certificates rotated", file="src/cache.py").reason == "below_gate"
