"""Questions that are not a full clean sentence: framed, with a pasted trace, misspelled, in another language."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rekal.index.filters import NO_FILTERS
from rekal.index.reader import IndexReader, open_index
from rekal.recall import mentions
from rekal.recall.mentions import correct_spelling
from rekal.recall.question import read_question, split_prompt
from rekal.recall.recall import Options, answer_question
from tests.index.ledgers import Store, session

TRACE = """Traceback (most recent call last):
  File "/srv/app/run.py", line 214, in main
    worker.dispatch(batch, timeout=30)
TimeoutError: no heartbeat from node 7 within 30s"""
SESSIONS = [
    session("upload", "The upload worker drops chunks when the disk is full.", "It retries them on a full disk."),
    session("retry", "How often does the worker retry a chunk?", "The worker tries three times."),
    session("login", "The login cookie expires too early.", "It lasts a week now.", day=3),
    session("redis", "为什么任务队列用数据库而不用缓存服务", "任务队列放在数据库里，少维护一个服务。", day=4),
]


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[IndexReader]:
    store = Store(tmp_path)
    store.append(*SESSIONS)
    store.update()
    with open_index(store.index) as opened:
        yield opened


@pytest.mark.parametrize(
    "frame",
    [
        "what broke last time we touched {}",
        "did we ever try {}?",
        "do you remember why we decided {}",
        "hi, weird problem: {}",
    ],
)
def test_a_frame_is_grammar(frame: str) -> None:
    subject = "upload worker disk full"
    assert read_question(frame.format(subject)).terms == read_question(subject).terms


@pytest.mark.parametrize(
    "question", ["what broke last time", "did we ever try this before?", "what was changed and why"]
)
def test_a_frame_around_nothing_has_no_topic(question: str) -> None:
    assert read_question(question).topics == ()
    assert read_question(question).thin == "chatter"


def test_a_word_in_back_ticks_is_a_name() -> None:
    assert "with" in read_question("why is `with` forbidden in handlers").terms
    assert "with" not in read_question("why is with forbidden in handlers").terms


def test_a_question_beside_a_pasted_trace_is_answered(reader: IndexReader) -> None:
    prompt = (
        f"Hi, I am stuck here and would like some help. The upload worker drops chunks when the disk is full.\n{TRACE}"
    )
    answer = answer_question(reader, prompt, NO_FILTERS, Options())
    assert answer.verdict == "INJECT"
    assert answer.sessions[0].session_id == SESSIONS[0].id
    assert answer.question == prompt
    elsewhere = f"Hi, I am stuck here and would like some help. How are certificates rotated at night?\n{TRACE}"
    other = answer_question(reader, elsewhere, NO_FILTERS, Options())
    assert other.verdict == "SILENCE"


def test_output_is_no_part_of_a_prompt() -> None:
    prompt = "The upload fails again. " + "Please have a look at it. " * 6 + f"\n{TRACE}\n$ make all\n+++ b/src/x.py"
    assert split_prompt(prompt)[0] == "The upload fails again."
    assert not any("heartbeat" in part or "line 214" in part or "make all" in part for part in split_prompt(prompt))
    assert split_prompt("why does the upload fail") == []


@pytest.mark.parametrize("typed", ["chunsk", "chunnks", "chuks", "chunjs"])
def test_one_wrong_letter_is_corrected_and_said(reader: IndexReader, typed: str) -> None:
    text, pairs = correct_spelling(reader, f"upload worker drops {typed}")
    assert text == f"upload worker drops {pairs[0][1]}"
    assert pairs[0][0] == typed
    assert pairs[0][1].startswith("chunk")
    answer = answer_question(reader, f"why does the upload worker drop {typed}", NO_FILTERS, Options())
    assert f'read "{typed}" as "{pairs[0][1]}"' in answer.notes


@pytest.mark.parametrize(
    "question",
    [
        "the worker retries",  # known words
        "why does the wrker fail in Chunsk",  # a name; and `wrker` becomes `worker`
        "src/chunsk.py chunsk_of chunsk-x",  # parts of names
        "the cooky xyzzyq",  # once in the store; nothing near
    ],
)
def test_names_and_known_words_stay_as_typed(reader: IndexReader, question: str) -> None:
    assert correct_spelling(reader, question)[0] == question.replace("wrker", "worker")


@pytest.mark.parametrize(
    "word",
    ["porker", "workers", "backend", "deserialize", "handlers", "caching", "timeouts", "worktrees", "dropped"],
)
def test_a_word_that_is_spelled_right_stays_whatever_the_store_has(word: str) -> None:
    assert mentions.is_spelled_right(word)


@pytest.mark.parametrize("typed", ["chunsk", "regeister", "retyr", "wrker", "temporaly", "addventure", "prompte"])
def test_a_slip_is_no_word(typed: str) -> None:
    assert not mentions.is_spelled_right(typed)


def test_a_word_of_the_language_is_not_read_as_a_similar_one_of_the_store(tmp_path: Path) -> None:
    store = Store(tmp_path)
    said = "the scope of the core config gates every cell"
    store.append(session("one", said, said), session("two", said, said))
    store.update()
    with open_index(store.index) as reader:
        for question in ("score the chore of the gales in each cello", "does the scorn of a shell matter"):
            assert correct_spelling(reader, question) == (question, [])
        assert correct_spelling(reader, "the cpnfig of the gaets")[1] == [("cpnfig", "config"), ("gaets", "gates")]
        # Keys that lie far apart are not hit for each other, and the stem of a word is no word.
        assert correct_spelling(reader, "the cxnfig of gatee")[1] == []


def test_a_question_without_spaces_is_never_thin_for_its_script(reader: IndexReader) -> None:
    question = read_question("为什么任务队列用数据库")
    assert question.thin is None
    assert "为什" not in question.terms
    answer = answer_question(reader, "任务队列为什么放在数据库里？", NO_FILTERS, Options())
    assert [hit.session_id for hit in answer.sessions] == [SESSIONS[3].id]
    assert answer_question(reader, "如何配置负载均衡证书", NO_FILTERS, Options()).verdict == "SILENCE"


@pytest.mark.parametrize(
    ("question", "language", "words"),
    [
        ("Warum haben wir uns für Postgres statt Redis entschieden?", "German", ("Postgres", "statt", "Redis")),
        ("¿Por qué decidimos usar Postgres en la cola?", "Spanish", ("usar", "Postgres", "cola")),
        (
            "Pourquoi est-ce que nous avons choisi Postgres pour la file ?",
            "French",
            ("est-ce", "choisi", "Postgres", "file"),
        ),
        ("Por que nós decidimos a fila em Postgres?", "Portuguese", ("fila", "Postgres")),
        ("why did the war in the die cache end", "English", ("war", "die", "cache", "end")),
    ],
)
def test_the_grammar_of_other_languages_is_no_topic(question: str, language: str, words: tuple[str, ...]) -> None:
    found = read_question(question)
    assert (found.language, found.words) == (language, words)
