"""Questions in other languages and scripts than the store's sessions."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from rekal.index.filters import NO_FILTERS
from rekal.index.reader import IndexReader, open_index
from rekal.recall.recall import Options, answer_question
from tests.index.ledgers import Store, session

ENGLISH = session("english", "Why is the job queue in Postgres and not in Redis?", "Jobs must survive a restart.")
CHINESE = session("chinese", "重试队列为什么放在数据库里？", "任务必须在重启之后继续，所以重试队列放在数据库里。")
JAPANESE = session("japanese", "再試行キューをデータベースに置いた理由", "再起動しても仕事が失われないからです。")
KOREAN = session("korean", "재시도 대기열을 데이터베이스에 둔 이유", "재시작해도 작업이 사라지지 않습니다.")
OTHERS = [session(f"other{n}", "The worker is slow today.", "It is faster now.", day=n) for n in range(1, 8)]


@pytest.fixture
def reader(tmp_path: Path) -> Iterator[IndexReader]:
    store = Store(tmp_path)
    store.append(ENGLISH, CHINESE, JAPANESE, KOREAN, *OTHERS)
    store.update()
    with open_index(store.index) as opened:
        yield opened


@pytest.mark.parametrize(
    ("question", "right"),
    [
        ("为什么重试队列放在数据库里", CHINESE.id),
        ("再試行キューをデータベースに置いたのはなぜですか", JAPANESE.id),
        ("재시도 대기열을 데이터베이스에 둔 이유", KOREAN.id),
    ],
)
def test_a_question_without_a_latin_word_is_answered(reader: IndexReader, question: str, right: str) -> None:
    answer = answer_question(reader, question, NO_FILTERS, Options())
    assert (answer.verdict, answer.sessions[0].session_id) == ("INJECT", right)


@pytest.mark.parametrize(
    "question", ["为什么登录按钮是蓝色的", "ログインボタンはなぜ青いのですか", "로그인 버튼은 왜 파란색입니까"]
)
def test_a_question_of_such_a_script_is_never_thin(reader: IndexReader, question: str) -> None:
    answer = answer_question(reader, question, NO_FILTERS, Options())
    assert (answer.verdict, answer.reason) == ("SILENCE", "below_gate")


@pytest.mark.parametrize(
    ("question", "language"),
    [
        ("Warum haben wir die Postgres queue statt Redis genommen?", "German"),
        ("¿Por qué decidimos que la queue está en Postgres y no en Redis?", "Spanish"),
    ],
)
def test_the_language_of_a_question_is_said(reader: IndexReader, question: str, language: str) -> None:
    answer = answer_question(reader, question, NO_FILTERS, Options())
    assert f"read as {language}" in answer.notes
    assert answer.reason != "thin_question"
