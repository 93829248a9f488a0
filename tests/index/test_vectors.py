"""Vectors of turns: each text once, people's first, kept through rebuilds, gone with what is forgotten."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pytest

from rekal.embed.base import Vectors
from rekal.embed.open import open_local
from rekal.errors import EngineError, StoreBusy, StoreDamaged
from rekal.index.dense import Dense, Meaning
from rekal.index.reader import IndexReader, open_index
from rekal.index.vectors import (
    BITE,
    HEAD,
    Progress,
    VectorFile,
    count_vectors,
    embed_missing,
    find_or_embed,
    open_vectors,
    path_for,
    prune_vectors,
)
from rekal.store.locks import hold_lock
from tests.fake_embedder import FakeEmbedder
from tests.index.ledgers import Store, session

QUEUE = "the retry queue lives in postgres so that it survives a restart"


@pytest.fixture
def store(tmp_path: Path) -> Store:
    made = Store(tmp_path)
    made.append(
        session("one", QUEUE, "agreed, redis loses jobs", day=0),
        session("two", "paint the shed green", "green it is", "yes", "done", day=1),
        session("three", "yes", "which one?", day=2),
    )
    made.update()
    return made


def filled(store: Store, embedder: FakeEmbedder | None = None) -> FakeEmbedder:
    embedder = embedder or FakeEmbedder()
    embed_missing(store.index, store.index.parent / "vectors", embedder)
    return embedder


def stored(store: Store, model_id: str = "fake:64") -> VectorFile:
    found = open_vectors(store.index.parent / "vectors", model_id)
    assert found is not None
    return found


def cosines(store: Store, question: str) -> dict[str, float]:
    with open_index(store.index) as reader:
        scores = Dense(reader, stored(store)).cosine(FakeEmbedder().embed_query(question))
        texts = reader.texts(reader.units("turn").doc.tolist())
        return {text.text: float(score) for text, score in zip(texts, scores, strict=True)}


def test_every_turn_is_scored_by_its_own_vector(store: Store) -> None:
    filled(store)
    scores = cosines(store, QUEUE)
    assert scores[QUEUE] == pytest.approx(1.0, abs=1e-6)
    assert max(scores, key=lambda text: scores[text]) == QUEUE
    assert scores["paint the shed green"] < 0.5


def test_the_same_text_is_embedded_once(store: Store) -> None:
    embedder = filled(store)
    assert embedder.calls == 7  # "yes" was said twice
    assert filled(store, embedder).calls == 7


def test_nothing_is_embedded_again_after_a_full_build(store: Store) -> None:
    embedder = filled(store)
    before = cosines(store, QUEUE)
    store.update(full=True)
    assert filled(store, embedder).calls == 7
    assert cosines(store, QUEUE) == before


def test_only_the_head_of_a_long_turn_is_embedded(store: Store) -> None:
    store.append(session("long", "a" * HEAD + " tail one"), session("longer", "a" * HEAD + " tail two"))
    store.update()
    embedder = filled(store)
    assert embedder.calls == 8


class Watched(FakeEmbedder):
    """Remembers what it was given, in order."""

    def __init__(self) -> None:
        super().__init__()
        self.given: list[str] = []

    def embed_documents(self, texts: object) -> Vectors:
        assert isinstance(texts, list)
        self.given += texts
        return super().embed_documents(texts)


def test_people_come_first_and_the_newest_of_them_before_the_others(store: Store) -> None:
    embedder = Watched()
    filled(store, embedder)
    assert embedder.given[:3] == ["yes", "paint the shed green", QUEUE]
    assert embedder.given[3] == "which one?"


def test_filling_stops_when_told_and_goes_on_where_it_was(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.append(session("many", *(f"turn number {n}" for n in range(BITE + 10))))
    store.update()
    reports: list[Progress] = []
    answers: Iterator[bool] = iter([True, False])
    embedder = FakeEmbedder()
    stopped = embed_missing(store.index, tmp_path / "vectors", embedder, reports.append, lambda: next(answers))
    assert stopped == Progress(BITE, BITE + 10) == count_vectors(store.index, path_for(tmp_path / "vectors", "fake:64"))
    with open_index(store.index) as reader:
        assert Dense(reader, stored(store)).share == pytest.approx(BITE / (BITE + 10))
    assert embed_missing(store.index, tmp_path / "vectors", embedder) == Progress(BITE + 10, BITE + 10)
    assert embedder.calls == BITE + 10
    assert reports == [Progress(0, BITE + 10), Progress(BITE, BITE + 10)]


def test_turns_without_a_vector_or_not_allowed_score_nothing(store: Store) -> None:
    filled(store)
    store.append(session("new", "the retry queue again"))
    store.update()
    assert cosines(store, QUEUE)["the retry queue again"] == 0.0
    with open_index(store.index) as reader:
        dense = Dense(reader, stored(store))
        nothing = np.zeros(len(reader.units("turn")), np.bool_)
        assert not dense.cosine(FakeEmbedder().embed_query(QUEUE), nothing).any()


def test_a_session_is_scored_by_the_mean_of_its_turns(store: Store) -> None:
    filled(store)
    query = FakeEmbedder().embed_query("green shed")
    with open_index(store.index) as reader:
        dense = Dense(reader, stored(store))
        by_session = dense.centroid(dense.cosine(query))
        turns = reader.units("turn")
        for number in range(len(reader.sessions)):
            mean = stored(store).matrix[dense.row[turns.session == number]].mean(axis=0)
            assert by_session[number] == pytest.approx(float(mean @ query / np.linalg.norm(mean)), abs=1e-5)


class Asked(FakeEmbedder):
    """Says which questions it was asked; the first ``failures`` of them fail."""

    def __init__(self, failures: int = 0) -> None:
        super().__init__()
        self.failures, self.questions = failures, list[str]()

    def embed_query(self, text: str) -> Vectors:
        self.questions.append(text)
        if len(self.questions) <= self.failures:
            raise EngineError("the model failed")
        return super().embed_query(text)


def test_a_questions_vector_is_made_ahead_once_and_nothing_is_left_running(store: Store) -> None:
    filled(store, embedder := Asked())
    with open_index(store.index) as reader:
        meaning = Meaning(Dense(reader, stored(store)), lambda: embedder)
        with pytest.raises(StoreDamaged), meaning.ahead(QUEUE):
            raise StoreDamaged("while it was made")
        assert np.array_equal(meaning.vector(QUEUE), FakeEmbedder().embed_query(QUEUE))
        assert embedder.questions == [QUEUE]


def test_a_model_that_fails_ahead_fails_whoever_asks(store: Store) -> None:
    filled(store)
    with open_index(store.index) as reader:
        meaning = Meaning(Dense(reader, stored(store)), lambda: Asked(2))
        with pytest.raises(EngineError, match="the model failed"), meaning.ahead(QUEUE):
            meaning.near(QUEUE)


def test_models_never_mix(store: Store) -> None:
    filled(store)
    other = filled(store, FakeEmbedder(32, "fake:32"))
    assert other.calls == 7
    assert stored(store).dim == 64
    assert stored(store, "fake:32").dim == 32
    assert path_for(store.index.parent, "a/b") != path_for(store.index.parent, "a:b")


def forget(store: Store, text: str) -> None:
    """What forgetting does to a ledger, in short: the turn leaves, a tombstone stays."""
    from rekal.store.ledger import open_ledger

    with open_ledger(store.data, read_only=False) as ledger, ledger.transaction():
        ledger.con.execute("DELETE FROM turns WHERE content = ?", [text])
        ledger.con.execute(
            "INSERT INTO tombstones SELECT 'x', 'test', 'ada', now()::TIMESTAMP, 'local', ?", [ledger.pos]
        )


def test_forgotten_text_leaves_no_vector(store: Store) -> None:
    filled(store)
    key = stored(store).keys[cosine_row(store, QUEUE)]
    forget(store, QUEUE)
    assert store.update().full
    assert prune_vectors(store.index, store.index.parent / "vectors") == 1
    assert key not in stored(store).keys
    assert len(stored(store)) == 6
    assert prune_vectors(store.index, store.index.parent / "vectors") == 0


def cosine_row(store: Store, text: str) -> int:
    return int((stored(store).matrix @ FakeEmbedder().embed_query(text)).argmax())


class Meanwhile(FakeEmbedder):
    """Something happens while the first bite is being embedded."""

    def __init__(self, happens: Callable[[], object]) -> None:
        super().__init__()
        self._happens: Callable[[], object] | None = happens

    def embed_documents(self, texts: object) -> Vectors:
        if self._happens:
            self._happens()
            self._happens = None
        assert isinstance(texts, list)
        return super().embed_documents(texts)


def test_what_is_forgotten_while_it_is_embedded_is_not_stored(store: Store) -> None:
    def happens() -> None:
        forget(store, QUEUE)
        store.update()

    filled(store, Meanwhile(happens))
    assert len(stored(store)) == 6


def test_texts_that_are_no_turns_get_their_own_vectors_once(store: Store) -> None:
    embedder = filled(store)
    texts = ["prefer tabs", "the office is in Kiel", "prefer tabs"]
    first = find_or_embed(store.index.parent / "vectors", embedder, texts, 10)
    assert np.allclose(first, embedder.embed_documents(texts))
    size = len(stored(store))
    more = [*texts, "invoices are kept for ten years", "staging is reset on Mondays"]
    second = find_or_embed(store.index.parent / "vectors", embedder, more, 1)
    assert np.array_equal(second[:3], first)
    assert sum(bool(row.any()) for row in second) == 4, "one more was allowed to be made"
    assert len(stored(store)) == size + 1


def test_a_torn_record_is_neither_read_nor_kept(store: Store) -> None:
    filled(store)
    path = path_for(store.index.parent / "vectors", "fake:64")
    path.write_bytes(path.read_bytes()[:-100])
    assert len(stored(store)) == 6
    filled(store)
    assert len(stored(store)) == 7
    assert cosines(store, QUEUE)[QUEUE] == pytest.approx(1.0, abs=1e-6)


def test_a_foreign_file_is_named(store: Store) -> None:
    filled(store)
    path = path_for(store.index.parent / "vectors", "fake:64")
    path.write_bytes(b"something else" * 100)
    with pytest.raises(StoreDamaged, match=r"no file of vectors"):
        stored(store)


def test_two_never_fill_at_once(store: Store) -> None:
    (store.index.parent / "vectors").mkdir(exist_ok=True)
    with hold_lock(store.index.parent / "vectors" / "filling.lock", wait=0, purpose="test"), pytest.raises(StoreBusy):
        filled(store)


def test_an_open_file_stays_as_it_was(store: Store) -> None:
    filled(store)
    before = stored(store)
    kept = before.matrix.copy()
    forget(store, QUEUE)
    store.update()
    prune_vectors(store.index, store.index.parent / "vectors")
    assert np.array_equal(before.matrix, kept)


def test_incremental_and_full_indexes_agree(store: Store, tmp_path: Path) -> None:
    store.append(session("one", QUEUE, "agreed, redis loses jobs", "and another thing", day=0))
    store.update()
    filled(store)

    def scores(reader: IndexReader) -> dict[tuple[str, int], float]:
        turns = reader.units("turn")
        found = Dense(reader, stored(store)).cosine(FakeEmbedder().embed_query("postgres queue")).tolist()
        names = [reader.sessions.ids[number] for number in turns.session]
        return dict(zip(zip(names, turns.seq.tolist(), strict=True), found, strict=True))

    with open_index(store.index) as reader:
        grown = scores(reader)
    store.update(full=True)
    with open_index(store.index) as reader:
        assert scores(reader) == grown


def test_the_packaged_model_finds_what_shares_no_word(tmp_path: Path) -> None:
    store = Store(tmp_path)
    store.append(session("db", "we moved the job queue into the database"), session("css", "centre the button"))
    store.update()
    embedder = open_local()
    try:
        embed_missing(store.index, tmp_path / "vectors", embedder)
        with open_index(store.index) as reader:
            scores = Dense(reader, stored(store, embedder.model_id)).cosine(
                embedder.embed_query("where do background tasks wait?")
            )
            texts = [text.text for text in reader.texts(reader.units("turn").doc.tolist())]
        assert scores[texts.index("we moved the job queue into the database")] > 0.25
        assert scores[texts.index("centre the button")] < 0.15
    finally:
        embedder.close()
