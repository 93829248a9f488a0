"""What a question names that the store knows, and how that orders the answer without deciding on it."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rekal.index.filters import NO_FILTERS
from rekal.index.reader import IndexReader, open_index
from rekal.recall.answer import Answer, Pin
from rekal.recall.mentions import Reach, find_mentions
from rekal.recall.question import read_question
from rekal.recall.recall import Options, answer_question
from tests.index.ledgers import Store, calls, checkpoint, session

NOW = datetime(2026, 3, 12, 15, 30, tzinfo=UTC)  # sessions are of 1 March and days after it

ASKED = "The upload worker drops chunks when the disk is full."
FIXED = "The upload worker now retries chunks when the disk is full."
OLD = session("old", ASKED, FIXED, day=1, branch="main", tool_calls=calls("old", "src/upload/worker.py"))
NEW = session("new", ASKED, FIXED, day=10, branch="fix/disk-full", author="Grace", agent="codex")
LOGS = session("logs", "Rotate the logs every night.", "They rotate now.", day=4, branch="logging")
OTHERS = [
    session("login", "The login cookie expires too early.", "It lasts a week now."),
    session("parser", "The parser of 2026-03-05 fails on tabs.", "Tabs are expanded before parsing.", day=8),
]
COMMITS = [
    checkpoint("aaa1111" + "0" * 33, OLD, "src/upload/worker.py", subject="Retry"),
    checkpoint("bbb2222" + "0" * 33, NEW, "src/upload/chunks.py", subject="Retry again", branch="fix/disk-full"),
]
PIECES = [
    "on",
    "the",
    "branch",
    "main",
    "disk",
    "full",
    "fix/disk-full",
    "aaa1111",
    "codex",
    "session",
    "by",
    "did",
    "say",
]
PIECES += ["src/upload", "worker.py", "/", "//", "a/../b", "%_", "yesterday", "2026-03-02", "in", "March"]
QUESTION = "why does the upload worker retry chunks"


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[IndexReader]:
    store = Store(tmp_path)
    store.append(OLD, NEW, LOGS, *OTHERS, checkpoints=COMMITS)
    store.update()
    with open_index(store.index) as opened:
        yield opened


def ask(reader: IndexReader, question: str, **options: object) -> Answer:
    return answer_question(reader, question, NO_FILTERS, Options(now=NOW, **options))  # type: ignore[arg-type]


def shown(answer: Answer) -> list[str]:
    known = {one.id: one.native_id for one in (OLD, NEW, LOGS, *OTHERS)}
    return [known[hit.session_id] for hit in answer.sessions]


def pins(answer: Answer) -> dict[str, Pin]:
    return {pin.kind: pin for pin in answer.anchors}


@pytest.mark.parametrize(
    ("more", "first"),
    [
        ("on 2026-03-02", "old"),
        ("on 2026-03-11", "new"),
        ("on March 2", "old"),
        ("yesterday", "new"),
        ("last week", "old"),
        ("since Tuesday", "new"),
        ("10 days ago", "old"),
        ("in commit aaa1111", "old"),
        ("in bbb22220", "new"),
        ("on main", "old"),
        ("on fix/disk-full", "new"),
        ("on the disk full branch", "new"),
        ("on branch main", "old"),
        ("with Codex", "new"),
        ("in the codex session", "new"),
        ("in the claude session", "old"),
        ("for Ada", "old"),
        ("for Grace", "new"),
        ("by grace", "new"),
    ],
)
def test_what_the_question_names_comes_first(reader: IndexReader, more: str, first: str) -> None:
    answer = ask(reader, f"{QUESTION} {more}")
    assert answer.verdict == "INJECT"
    assert shown(answer)[0] == first
    assert answer.uncovered == []


@pytest.mark.parametrize("path", ["src/upload/chunks.py", "chunks.py", "`src/upload/chunks.py`", "src/upload"])
def test_a_file_that_nobody_mentioned_is_no_word_never_seen(reader: IndexReader, path: str) -> None:
    answer = ask(reader, f"{QUESTION} in {path}?")
    assert sorted(shown(answer)) == ["new", "old"]
    assert pins(answer)["path"].sessions == (2 if path == "src/upload" else 1)
    assert answer.uncovered == []


def test_a_file_that_no_session_touched_is_a_word_never_seen(reader: IndexReader) -> None:
    answer = ask(reader, f"{QUESTION} in download.py", strictness=0.5)
    assert answer.verdict == "SILENCE"
    assert pins(answer)["path"].sessions is None


def test_what_it_does_not_name_is_still_shown_behind(reader: IndexReader) -> None:
    assert sorted(shown(ask(reader, f"{QUESTION} yesterday"))) == ["new", "old"]


@pytest.mark.parametrize("more", ["two months ago", "in May", "on 2026-03-09", "this morning"])
def test_a_time_of_which_nothing_is_known_silences_nothing(reader: IndexReader, more: str) -> None:
    answer = ask(reader, f"{QUESTION} {more}")
    assert sorted(shown(answer)) == ["new", "old"]
    assert pins(answer)["date"].shown == 0


def test_an_anchor_changes_neither_verdict_nor_support(reader: IndexReader) -> None:
    plain = ask(reader, QUESTION, explain=True)
    for more in ("yesterday", "last week", "in aaa1111", "on fix/disk-full"):
        named = ask(reader, f"{QUESTION} {more}", explain=True)
        assert (named.support, named.features) == (plain.support, plain.features)


@pytest.mark.parametrize("more", ["yesterday", "on 2026-03-11", "in bbb2222", "on fix/disk-full", "with Codex"])
def test_an_anchor_opens_no_gate(reader: IndexReader, more: str) -> None:
    question = f"how are the ingress certificates rotated {more}"
    answer = ask(reader, question)
    assert (answer.verdict, answer.sessions) == ("SILENCE", [])
    assert answer.anchors  # named all the same, for who asks why


def test_a_commit_nobody_knows_stays_a_word_never_seen(reader: IndexReader) -> None:
    answer = ask(reader, f"{QUESTION} in ccc3333", strictness=0)
    assert pins(answer).keys() == {"symbol"}
    assert "ccc3333" in answer.uncovered


def test_a_date_that_somebody_wrote_down_stays_a_topic(reader: IndexReader) -> None:
    answer = ask(reader, "why does the parser of 2026-03-05 fail on tabs")
    assert shown(answer) == ["parser"]
    assert answer.uncovered == []
    (named,) = find_mentions(reader, "the parser of 2026-03-05", NOW)
    assert (named.kind, named.aside) == ("date", False)


@pytest.mark.parametrize(
    "question",
    [
        "how does logging rotate the logs",
        "is main the entry point",
        "the cursor by which pages are read",
        "why is the codex of colours out of date",
        "the deadbeef marker and port 20260301",
        "in the 2024 edition",
    ],
)
def test_words_that_only_look_like_names(reader: IndexReader, question: str) -> None:
    assert find_mentions(reader, question, NOW) == []


def test_names_do_not_overlap_and_stand_in_order(reader: IndexReader) -> None:
    text = "did codex say yesterday on fix/disk-full why commit aaa1111 of March 2 broke"
    found = find_mentions(reader, text, NOW)
    assert [one.kind for one in found] == ["agent", "date", "branch", "commit", "date"]
    assert all(a.stop <= b.start for a, b in pairwise(found))


def test_without_a_clock_no_date_is_read(reader: IndexReader) -> None:
    assert find_mentions(reader, "yesterday, on 2026-03-02", None) == []


def test_a_date_reaches_the_turns_of_that_time(reader: IndexReader) -> None:
    (named,) = find_mentions(reader, "what about 2026-03-02", NOW)
    found = Reach.of(reader, named)
    assert found is not None
    turns = reader.units("turn")
    assert {reader.sessions.ids[n] for n in turns.session[found.turns]} == {OLD.id}
    assert found.sessions.sum() == 1


def test_a_parent_answers_for_its_sub_agents(tmp_path: Path) -> None:
    store = Store(tmp_path)
    parent = session("parent", "Split the work.", "Done.")
    child = session("child", "Index the shards.", "Indexed.", branch="shards-2", parent_id=parent.id)
    store.append(parent, child)
    store.update()
    with open_index(store.index) as reader:
        (named,) = find_mentions(reader, "what came of shards-2", NOW)
        found = Reach.of(reader, named)
        assert found is not None
        assert found.sessions.all()


def test_aside_words_stay_when_nothing_else_would() -> None:
    assert read_question("why redis failed yesterday", aside=[(17, 26)]).words == ("redis", "failed")
    kept = read_question("what about yesterday's outage", aside=[(11, 22)])
    assert kept.plain == kept.text


def test_mailboxes_name_people_only_as_people() -> None:
    people = ["Ada Byron", "ada.b@example.com", "12+turing@users.example.com", "test@example.com", "Will Test"]
    named = {
        "did turing write this": ["12+turing@users.example.com"],
        "turing's parser": ["12+turing@users.example.com"],
        "is it turing complete": [],
        "what ada.b said": ["ada.b@example.com"],
        "Ada's parser": ["Ada Byron"],
        "did test fail": [],
        "Will it fail": [],
        "what Will Test said": ["Will Test"],
    }
    for text, who in named.items():
        assert [anchor.text for anchor in read_question(text, people).of_kind("person")] == who, text


def test_who_made_what_is_shown_is_not_uncovered(reader: IndexReader) -> None:
    answer = ask(reader, f"{QUESTION}, codex, disk-full", strictness=0)
    assert "new" in shown(answer)
    assert answer.uncovered == []


@settings(deadline=None, max_examples=150, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=st.lists(st.sampled_from(PIECES) | st.text(max_size=8), max_size=10).map(" ".join))
def test_no_question_is_too_strange(reader: IndexReader, text: str) -> None:
    found = find_mentions(reader, text, NOW)
    assert all(a.stop <= b.start for a, b in pairwise(found))
    assert all(0 <= one.start < one.stop <= len(text) for one in found)
    assert all(Reach.of(reader, one) for one in found)
    read_question(text, aside=[(one.start, one.stop) for one in found if one.aside])
