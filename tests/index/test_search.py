"""Searching: what was typed is found, filters come before any cut, and the numbers are BM25's."""

from __future__ import annotations

import math
from datetime import timedelta
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekal.index import bm25 as scoring
from rekal.index.bm25 import score_kind, score_lexical
from rekal.index.filters import Filters
from rekal.index.reader import Ints, open_index
from rekal.index.text import document_terms, query_terms
from rekal.index.writer import Doc, Writer, remove_docs
from rekal.store.database import open_database
from tests.index.ledgers import START, Store, answer, calls, checkpoint, session

# Each planted turn with a question that names it, among near misses.
PLANTED = [
    ("calling foo_bar2 twice is the bug", "foo_bar2"),
    ("rustc says E0432: unresolved import", "E0432"),
    ("commit with --no-verify once", "--no-verify"),
    ("the parser lives in src/a/b.py now", "src/a/b.py"),
    ("mask it with 0x1F first", "0x1F"),
    ("the gateway answers HTTP 502 at night", "HTTP 502"),
    ("我们决定使用中文分词器", "中文分词"),
    ("検索は日本語で動く", "日本語"),
    ("한국어를 지원한다", "한국어"),
    ("le café est fermé", "café"),
    ("ship it 🚀", "🚀"),
    ("getUserName returns None", "user name"),
    ("parseHttpHeader drops the last one", '"parseHttpHeader"'),
    ("he wrote “never again” in the log", '"never again"'),
    ("naïve résumé upload", "resume naive"),
    ("pin it to v1.2.3", "1.2.3"),
    ("to be or not to be", "to be or not to be"),
]
NEAR = [
    "foo bar 2, bar2foo", "E0433 and E0431", "verify no commit", "src/b/a.py and a/b.txt", "0x1E and 1F",
    "HTTP 503 then HTTP 500", "502 lines gone", "中国的文件", "日中の本", "한글 문서", "cafeteria", "user and games",
    "header parse", "never", "again and again", "1.2.4 and v1.3.2", "be the one", "the user says so", "a plain turn",
]  # fmt: skip


@pytest.fixture(scope="module")
def planted(tmp_path_factory: pytest.TempPathFactory) -> Store:
    store = Store(tmp_path_factory.mktemp("planted"))
    noise = [f"{NEAR[n % len(NEAR)]} number {n}" for n in range(120)]
    texts = [text for text, _ in PLANTED]
    store.append(session("noise", *noise), session("planted", *texts, day=1))
    store.update()
    return store


@pytest.mark.parametrize("at", range(len(PLANTED)), ids=[question for _, question in PLANTED])
def test_what_was_typed_is_found_in_the_first_three(planted: Store, at: int) -> None:
    assert ("planted", at) in planted.find(PLANTED[at][1], limit=3)


def test_a_single_character_of_a_dense_script_is_found(planted: Store) -> None:
    assert ("planted", 6) in planted.find("词", limit=3)


def test_an_unaccented_question_finds_accents_and_the_other_way_round(planted: Store) -> None:
    assert planted.find("cafe ferme", limit=1) == planted.find("café fermé", limit=1) == [("planted", 9)]


def test_unknown_terms_are_named_and_find_nothing(planted: Store) -> None:
    with open_index(planted.index) as reader:
        found = score_lexical(reader, ["zzzunknown", "never"])
        assert found.postings.known.tolist() == [False, True]
        assert found.idf[0] > found.idf[1] > 0
        assert not score_lexical(reader, ["zzzunknown"]).turns.any()
        assert not score_lexical(reader, []).sessions.any()


@pytest.fixture(scope="module")
def filtered(tmp_path_factory: pytest.TempPathFactory) -> Store:
    """Sixty sessions say it louder than the three that the filters single out."""
    store = Store(tmp_path_factory.mktemp("filtered"))
    loud = [session(f"loud{n}", "deploy deploy deploy", "deploy deploy", day=n) for n in range(60)]
    path = calls("quiet", "src/deploy/run.py")
    quiet = session(
        "quiet", "a long aside about how we deploy", "yes", day=70, author="Bob", tool_calls=path, branch="topic"
    )
    child = session(
        "child", "deploy from below", day=71, author="Bob", agent="codex", actor="agent", parent_id=quiet.id
    )
    store.append(*loud, quiet, child, checkpoints=[checkpoint("ABCDEF12".lower(), quiet, "docs/a.md", branch="main")])
    store.update()
    return store


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (Filters(file="src/deploy/run.py"), ["quiet"]),
        (Filters(file="./src/Deploy/"), ["quiet"]),
        (Filters(file="run.py"), ["quiet"]),
        (Filters(file="docs/a.md"), ["quiet"]),
        (Filters(file="un.py"), []),
        (Filters(commit="ABCDEF"), ["quiet"]),
        (Filters(branch="topic"), ["quiet"]),
        (Filters(branch="main"), ["quiet"]),
        (Filters(author="bob@"), ["child", "quiet"]),
        (Filters(author="Bob", actor="human"), ["quiet"]),
        (Filters(agent="codex"), ["child"]),
        (Filters(since=START + timedelta(days=70)), ["child", "quiet"]),
        (Filters(since=START + timedelta(days=70), until=START + timedelta(days=70, minutes=1)), ["quiet"]),
        (Filters(since=START + timedelta(days=70), as_of=START + timedelta(days=70, hours=1)), ["quiet"]),
        (Filters(author="Nobody"), []),
    ],
)
def test_filters_apply_before_anything_is_cut(filtered: Store, filters: Filters, expected: list[str]) -> None:
    turns = filtered.find("deploy", filters, limit=2)
    assert sorted({name for name, _ in turns}) == expected
    assert sorted(filtered.find_sessions("deploy", filters)) == expected


def test_an_excluded_session_takes_its_sub_agents_along(filtered: Store) -> None:
    with open_index(filtered.index) as reader:
        quiet = next(i for i, name in filtered.names().items() if name == "quiet")
        assert quiet in reader.sessions.numbers
    assert filtered.find("deploy", Filters(author="Bob", exclude=(quiet,))) == []


def test_a_time_limit_hides_later_turns_of_the_same_session(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.append(session("s", "alpha", "beta", "alpha beta"))
    store.update()
    early = Filters(until=START + timedelta(minutes=1))
    assert store.find("alpha", early) == [("s", 0)]
    with open_index(store.index) as reader:
        assert score_lexical(reader, ["alpha"], early).sessions[0] < score_lexical(reader, ["alpha"]).sessions[0]


def test_equal_scores_are_ordered_by_session_id_then_turn(tmp_path: Path) -> None:
    store = Store(tmp_path)
    for name in ("c", "a", "b"):
        store.append(session(name, "same words", "same words"))
        store.update()
    ids = sorted(store.names())
    names = [store.names()[i] for i in ids]
    assert store.find("same", limit=5) == [(name, seq) for name in names for seq in (0, 1)][:5]
    assert store.find_sessions("same") == names


def _id(store: Store, name: str) -> str:
    return next(session_id for session_id, known in store.names().items() if known == name)


def test_a_question_of_very_many_terms_answers_like_one_of_few(planted: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    with open_index(planted.index) as reader:
        few = answer(reader, "never again E0432 user")
        monkeypatch.setattr("rekal.index.reader._MOST_SELECTS", 2)
        assert answer(reader, "never again E0432 user") == few


def test_other_kinds_of_documents_neither_answer_for_turns_nor_change_their_scores(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.append(session("s", "redis for the queue", "no redis"))
    store.update()
    before = store.answers("redis queue")
    con = open_database(store.index, read_only=False)
    writer = Writer(con)
    writer.add([Doc("memory", "never redis", key="m1"), Doc("memory", "redis is fine", key="m2")])
    writer.flush()
    con.close()
    assert store.answers("redis queue") == before
    with open_index(store.index) as reader:
        scores = score_kind(reader, reader.postings(["never"]), "memory")
        assert [text.key for text in reader.texts(reader.units("memory").doc[scores > 0].tolist())] == ["m1"]
    con = open_database(store.index, read_only=False)
    assert remove_docs(con, "memory", "key = ?", ["m1"]) == 1
    con.close()
    with open_index(store.index) as reader:
        assert not score_kind(reader, reader.postings(["never"]), "memory").any()


WORDS = st.lists(st.sampled_from(["ant", "bee", "cow", "dog", "elk"]), min_size=1, max_size=6).map(" ".join)


@settings(deadline=None, max_examples=8)
@given(st.lists(st.lists(WORDS, min_size=1, max_size=5), min_size=1, max_size=4), WORDS)
def test_scores_are_those_of_the_formula(
    tmp_path_factory: pytest.TempPathFactory, sessions: list[list[str]], question: str
) -> None:
    store = Store(tmp_path_factory.mktemp("formula"))
    store.append(*[session(f"s{n}", *texts) for n, texts in enumerate(sessions)])
    store.update()
    asked = query_terms(question)
    with open_index(store.index) as reader:
        found = score_lexical(reader, asked)
        turns = reader.units("turn")
        texts = [text.text for text in reader.texts(turns.doc.tolist())]
        split = [document_terms(text) for text in texts]
        assert found.turns == pytest.approx(_by_hand(split, asked, scoring.FEWEST_TURNS))
        groups = [document_terms("\n".join(joined)) for joined in _by_session(texts, turns.session)]
        assert found.sessions == pytest.approx(_by_hand(groups, asked, scoring.FEWEST_SESSIONS))


def _by_session(texts: list[str], session_of: Ints) -> list[list[str]]:
    return [
        [text for text, owner in zip(texts, session_of, strict=True) if owner == number]
        for number in range(session_of.max() + 1)
    ]


def _by_hand(units: list[list[str]], asked: list[str], fewest: int) -> list[float]:
    average = sum(map(len, units)) / len(units)
    scores = []
    for unit in units:
        score = 0.0
        for term in asked:
            df = sum(term in other for other in units)
            weight = math.log(1 + (max(len(units), fewest) - df + 0.5) / (df + 0.5))
            tf = unit.count(term)
            norm = scoring.K1 * (1 - scoring.B + scoring.B * len(unit) / average)
            score += weight * tf * (scoring.K1 + 1) / (tf + norm)
        scores.append(score)
    return scores
