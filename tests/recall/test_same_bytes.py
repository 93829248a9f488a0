"""The same store and question give the same bytes: whatever way the index came about, in any process."""

from __future__ import annotations

import hashlib
import os
import random
import subprocess
import sys
from pathlib import Path

import msgspec
import numpy as np
import pytest

from rekal.index.dense import Dense, Meaning
from rekal.index.filters import NO_FILTERS
from rekal.index.reader import open_index
from rekal.index.vectors import VectorFile, embed_missing, path_for
from rekal.model import Session
from rekal.recall.recall import Options, answer_question
from tests.fake_embedder import FakeEmbedder
from tests.index.ledgers import Store, session

_TOPICS = "cache worker upload chunk disk retry queue token login cookie parser tabs ingress proxy index vector"
WORDS = f"{_TOPICS} shard replica lock timeout batch stream header schema column trigger hook commit merge".split()
QUESTIONS = [
    "why does the cache worker retry the upload of a chunk",
    "how was the login cookie of the proxy changed",
    "token timeout in the stream parser",
    "what do we know about schema triggers and hooks on merge",
    "shard",
    "what did Rosa say about the cache of the worker",
    "did Grace change the token of the login cookie",
]


def _sentence(rng: random.Random) -> str:
    """A few words, or so many that only an excerpt of them is shown."""
    return " ".join(rng.choices(WORDS, k=rng.randint(3, 60) if rng.random() < 0.6 else rng.randint(90, 260)))


class Said(msgspec.Struct, frozen=True):
    """A session: its turns, and after how many of them it is captured for the first time."""

    name: str
    texts: tuple[str, ...]
    day: int
    author: str
    first: int

    def session(self, turns: int) -> Session:
        return session(self.name, *self.texts[:turns], day=self.day, author=self.author)


def _history(seed: int) -> list[Said]:
    rng = random.Random(seed)
    made = []
    for _ in range(rng.randint(3, 12)):
        texts = [_sentence(rng) for _ in range(rng.randint(1, 7))]
        if rng.random() < 0.25:
            texts = [f"{('Rosa', 'Ines')[at % 2]}: {text}" for at, text in enumerate(texts)]
        who = rng.choice(["Ada", "Grace", "Alan"])
        made.append(Said(f"s{rng.randrange(10**9)}", tuple(texts), rng.randrange(30), who, rng.randint(1, len(texts))))
    return made


def answers(directory: Path, seed: int, *, steps: int, semantic: bool) -> str:
    """Digest of the answers of a store whose index was brought up to date after every ``steps`` captures.

    Each session is captured twice: a part of it, and all of it once the next ones have begun.
    """
    store, history = Store(directory), _history(seed)
    directory.mkdir(parents=True, exist_ok=True)
    (directory / "vectors").mkdir(exist_ok=True)
    embedder = FakeEmbedder(dim=48)
    captures = [one.session(one.first) for one in history]
    for at, one in enumerate(history):
        captures.insert(min(len(captures), 2 * at + 3), one.session(len(one.texts)))
    for start in range(0, len(captures), steps):
        store.append(*captures[start : start + steps])
        store.update()
        if semantic:
            embed_missing(store.index, directory / "vectors", embedder)
    with open_index(store.index) as reader:
        vectors = path_for(directory / "vectors", embedder.model_id)
        meaning = Meaning(Dense(reader, VectorFile(vectors)), lambda: embedder) if semantic else None
        found = [
            answer_question(reader, question, NO_FILTERS, Options(strictness=0.0, explain=True, limit=9), meaning)
            for question in QUESTIONS
        ]
    assert sum(one.verdict == "INJECT" for one in found) > 2
    assert any(row.cut for one in found for hit in one.sessions for row in hit.rows)
    return hashlib.sha256(msgspec.json.encode(found)).hexdigest()


@pytest.mark.parametrize("semantic", [False, True])
@pytest.mark.parametrize("seed", range(3))
def test_a_grown_index_answers_as_one_built_at_once(tmp_path: Path, seed: int, semantic: bool) -> None:
    whole = answers(tmp_path / "whole", seed, steps=1000, semantic=semantic)
    assert answers(tmp_path / "grown", seed, steps=1, semantic=semantic) == whole
    assert answers(tmp_path / "some", seed, steps=4, semantic=semantic) == whole


def test_answers_do_not_depend_on_the_seed_of_hashes(tmp_path: Path) -> None:
    program = (
        "import sys; from pathlib import Path; from tests.recall.test_same_bytes import answers\n"
        "print(answers(Path(sys.argv[1]), 7, steps=3, semantic=True))\n"
    )
    found = {
        subprocess.run(
            [sys.executable, "-c", program, str(tmp_path / seed)],
            env={**os.environ, "PYTHONHASHSEED": seed, "OPENBLAS_NUM_THREADS": "1"},
            capture_output=True,
            text=True,
            timeout=120,
            check=True,
        ).stdout
        for seed in ("0", "1", "4242")
    }
    assert len(found) == 1


def test_a_cosine_has_the_same_bits_wherever_its_vector_stands() -> None:
    from rekal.index.dense import _products

    rng = np.random.default_rng(3)
    query = rng.standard_normal(384).astype(np.float32)
    for count in (1, 3, 6, 35, 777):
        matrix = rng.standard_normal((count, 386)).astype(np.float32)
        order = rng.permutation(count)
        moved = np.ascontiguousarray(matrix[order])
        assert (_products(matrix[:, 2:], query)[order] == _products(moved[:, 2:], query)).all()
