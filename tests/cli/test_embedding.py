"""Vectors from capture to recall: made in the background, counted by status, named on the answer's first line."""

from __future__ import annotations

from pathlib import Path

import pytest

from rekal.errors import EngineError, StoreBusy
from rekal.store.locks import hold_lock
from tests.fake_embedder import FakeEmbedder
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession

ASKED = "where does the retry queue live"


@pytest.fixture
def embedder(monkeypatch: pytest.MonkeyPatch) -> FakeEmbedder:
    """The model of the settings is a fake one that goes by the packaged model's id."""
    from rekal.config import Embed
    from rekal.embed.open import chosen_model_id

    monkeypatch.delenv("RECALL_EMBED_ENGINE")
    monkeypatch.setattr("os.nice", lambda by: 0)  # this process runs other tests, too
    fake = FakeEmbedder(384, chosen_model_id(Embed()))
    monkeypatch.setattr("rekal.embed.open.open_chosen", lambda chosen, api_key=None: fake)
    return fake


def talk(rekal: Rekal, name: str, *said: str) -> None:
    session = ClaudeSession(rekal.home, rekal.root, name)
    for text in said:
        session.human(text)
        session.says(f"As for {text}: agreed.")


def first_line(rekal: Rekal) -> str:
    return rekal("recall", ASKED).out.splitlines()[0]


def test_the_worker_makes_vectors_and_recall_uses_them(rekal: Rekal, embedder: FakeEmbedder) -> None:
    talk(rekal, "one", "the retry queue must live in postgres", "paint the shed")
    rekal("checkpoint", "--all")
    assert rekal("status", "--json").json["vectors"] == {"done": 0, "total": 4}
    assert "semantic: warming 0 %" in first_line(rekal)
    rekal("_worker")
    assert rekal("status", "--json").json["vectors"] == {"done": 4, "total": 4}
    assert "vectors    4 of 4" in rekal("status").out
    assert "semantic: on" in first_line(rekal)


def test_recall_says_how_much_is_still_to_come(rekal: Rekal, embedder: FakeEmbedder) -> None:
    talk(rekal, "one", "the retry queue must live in postgres")
    rekal("_worker")
    talk(rekal, "two", "paint the shed", "and the fence")
    rekal("checkpoint", "--all")
    assert "semantic: warming 33 %" in first_line(rekal)
    answer = rekal("embed", "--json").json
    assert answer == {"done": 6, "total": 6, "added": 4}
    assert "semantic: on" in first_line(rekal)
    assert rekal("embed").out == "vectors 6 of 6 (0 new)\n"


def test_a_full_index_needs_no_new_vectors(rekal: Rekal, embedder: FakeEmbedder) -> None:
    talk(rekal, "one", "the retry queue must live in postgres")
    rekal("_worker")
    before = rekal("recall", "--json", ASKED).out
    rekal("index", "--full")
    assert rekal("recall", "--json", ASKED).out == before
    assert embedder.calls == 2


def test_without_a_model_recall_goes_by_keywords_and_says_so(
    rekal: Rekal, embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(rekal, "one", "the retry queue must live in postgres")
    rekal("_worker")

    def fails(text: str) -> None:
        raise EngineError("the model broke")

    monkeypatch.setattr(embedder, "embed_query", fails)
    assert first_line(rekal).endswith("semantic: off (the model broke)")
    monkeypatch.setenv("RECALL_EMBED_ENGINE", "off")
    assert first_line(rekal).endswith("semantic: off (embedding is switched off)")
    assert rekal("status", "--json").json["vectors"] is None


def test_the_model_is_not_opened_for_a_question_that_asks_nothing(
    rekal: Rekal, embedder: FakeEmbedder, monkeypatch: pytest.MonkeyPatch
) -> None:
    talk(rekal, "one", "the retry queue must live in postgres")
    rekal("_worker")

    def fails(chosen: object, api_key: object) -> None:
        raise EngineError("the model broke")

    monkeypatch.setattr("rekal.embed.open.open_chosen", fails)
    asked = rekal("recall", "yes do it")
    assert (asked.code, "the model broke" in asked.out + asked.err) == (1, False)
    assert "semantic: off (the model broke)" in first_line(rekal)


def test_vectors_of_another_model_are_not_compared(rekal: Rekal, embedder: FakeEmbedder) -> None:
    talk(rekal, "one", "the retry queue must live in postgres")
    rekal("_worker")
    embedder.model_id = "another"
    assert "semantic: off (the vectors are of another model)" in first_line(rekal)


def test_a_damaged_file_of_vectors_is_named(rekal: Rekal, embedder: FakeEmbedder) -> None:
    talk(rekal, "one", "the retry queue must live in postgres")
    rekal("_worker")
    [path] = rekal.layout.vectors.glob("*.vec")
    path.write_bytes(b"x" * 2000)
    assert "semantic: off" in first_line(rekal)
    assert path.name in first_line(rekal)


def test_a_second_embedder_gives_way(rekal: Rekal, embedder: FakeEmbedder) -> None:
    talk(rekal, "one", "the retry queue must live in postgres")
    rekal.layout.vectors.mkdir(exist_ok=True)
    with hold_lock(rekal.layout.vectors / "filling.lock", wait=0, purpose="embedding"):
        assert rekal("_worker").code == 0
        assert rekal("embed").code == StoreBusy.exit_code
    assert embedder.calls == 0
    assert not rekal.layout.log.exists()


def test_a_committed_file_cannot_choose_who_reads_the_texts(rekal: Rekal, embedder: FakeEmbedder) -> None:
    rekal.layout.config.write_text("embed: {engine: remote, url: 'http://example.com/v1'}\n", encoding="utf-8")
    shown = rekal("config", "--json").json
    assert {s["key"]: s["value"] for s in shown["settings"]}["embed.url"] is None
    assert any("embed.engine, embed.url, which a shared file may not decide" in said for said in shown["warnings"])


def test_off_may_be_written_as_yaml_reads_it(rekal: Rekal, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RECALL_DAEMON")
    (home / "rekal").mkdir(exist_ok=True)
    (home / "rekal" / "config.yml").write_text("recall: {daemon: off}\nembed: {engine: off}\n", encoding="utf-8")
    values = {s["key"]: s["value"] for s in rekal("config", "--json").json["settings"]}
    assert (values["recall.daemon"], values["embed.engine"]) == ("off", "off")
