"""The engines on the packaged model: what the vectors are like, and that no text breaks them."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator

import numpy as np
import pytest

from rekal.embed.local_model import LocalEmbedder
from rekal.embed.open import available_engines, open_local
from rekal.embed.profiles import DEFAULT
from rekal.errors import EngineError

LONG = "retry the upload when the token has expired " * 2000
TEXTS = [
    "Why did we move the job queue from Redis to Postgres?",
    "def parse(line: str) -> list[str]:\n    return line.split(',')",
    "Le cache est vidé à chaque déploiement.",
    "トークンの有効期限が切れたら再試行する",
    LONG,
    "x",
]


@pytest.fixture(scope="module")
def embedder() -> Iterator[LocalEmbedder]:
    opened = open_local(engine="xllamacpp", threads=1)
    yield opened
    opened.close()


def test_vectors_have_the_promised_shape(embedder: LocalEmbedder) -> None:
    rows = embedder.embed_documents(TEXTS)
    assert rows.shape == (len(TEXTS), embedder.dim) == (6, 384)
    assert rows.dtype == np.float32
    np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)
    assert embedder.embed_query("why?").shape == (384,)
    assert embedder.embed_documents([]).shape == (0, 384)
    assert embedder.model_id == f"all-MiniLM-L6-v2:384:{DEFAULT.sha256[:12] if DEFAULT.sha256 else ''}"


def test_near_in_meaning_is_near_in_space(embedder: LocalEmbedder) -> None:
    cat, kitten, tax = embedder.embed_documents(
        ["the cat sat on the mat", "a kitten was sitting on a rug", "the tax office sent another letter"]
    )
    # 0.65 is what the published float32 weights give for this pair.
    assert cat @ kitten == pytest.approx(0.65, abs=0.03)
    assert cat @ tax < 0.25


def test_a_query_finds_its_answer(embedder: LocalEmbedder) -> None:
    answers = [
        "We retry three times with exponential backoff and then give up.",
        "The login page sets a session cookie that lasts a week.",
        "Migrations run in one transaction, in order of their number.",
    ]
    questions = ["how often is a failed call repeated?", "how long do I stay signed in?", "how is the schema upgraded?"]
    rows = embedder.embed_documents(answers)
    assert [int(np.argmax(rows @ embedder.embed_query(question))) for question in questions] == [0, 1, 2]


@pytest.mark.parametrize(
    "text", ["", " ", "\0", "a\0b", "\ud800 lone", "\U0001f600" * 900, "a" * 50_000, "日本語" * 999]
)
def test_no_text_is_refused(embedder: LocalEmbedder, text: str) -> None:
    rows = embedder.embed_documents([text, "plain"])
    assert np.isfinite(rows).all()
    np.testing.assert_allclose(rows[1], embedder.embed_documents(["plain"])[0], atol=1e-3)


def test_a_long_text_is_cut_to_the_window(embedder: LocalEmbedder) -> None:
    whole, begun = embedder.embed_documents([LONG, LONG[: len(LONG) // 2]])
    np.testing.assert_allclose(whole, begun, atol=1e-5)
    assert whole @ embedder.embed_query("retry the upload when the token has expired") > 0.5


def test_a_closed_engine_says_so() -> None:
    opened = open_local(engine="xllamacpp", threads=1)
    opened.close()
    opened.close()
    with pytest.raises(EngineError, match="was closed"):
        opened.embed_query("anything")


def test_the_process_ends_quietly_and_well() -> None:
    program = (
        "from rekal.embed.open import open_local\n"
        "print(open_local(engine='xllamacpp', threads=1).embed_documents(['x ' * 3000]).shape)\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "(1, 384)\n", "")


def test_choosing_a_model_imports_no_engine() -> None:
    program = (
        "import sys\n"
        "from rekal.embed.open import available_engines, open_local\n"
        "from rekal.embed.profiles import find_profile\n"
        "find_profile('all-MiniLM-L6-v2'), available_engines()\n"
        "print(sorted({'xllamacpp', 'llama_cpp'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60, check=True)
    assert done.stdout == "[]\n"


def test_an_engine_that_is_not_installed_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert available_engines() == []
    with pytest.raises(EngineError, match="xllamacpp is not installed; reinstall rekal"):
        open_local()


@pytest.mark.skipif(importlib.util.find_spec("llama_cpp") is None, reason="llama-cpp-python is not installed")
def test_both_local_engines_give_the_same_vectors(embedder: LocalEmbedder) -> None:
    other = open_local(engine="llama-cpp-python", threads=1)
    try:
        assert other.model_id == embedder.model_id
        cosines = (embedder.embed_documents(TEXTS) * other.embed_documents(TEXTS)).sum(axis=1)
        assert cosines.min() > 0.999
    finally:
        other.close()
