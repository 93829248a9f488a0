"""Model files: what is pinned, what is missing, what is damaged."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekal.embed.gguf import GgufHead
from rekal.embed.profiles import DEFAULT, PROFILES, find_profile, from_gguf, verify_weights
from rekal.errors import EngineError, UsageError


def test_the_packaged_model_is_the_pinned_one() -> None:
    assert verify_weights(DEFAULT) == DEFAULT.sha256
    assert DEFAULT.sha256 in (DEFAULT.path.parent / "NOTICE").read_text(encoding="utf-8")


def test_the_header_of_the_packaged_model() -> None:
    head = GgufHead.read(DEFAULT.path)
    assert (head.architecture, head.name, head.context, head.dim, head.pooling) == (
        "bert",
        "all-MiniLM-L6-v2",
        512,
        384,
        1,
    )


def test_any_gguf_describes_its_own_profile() -> None:
    profile = from_gguf(DEFAULT.path)
    assert (profile.dim, profile.stored_dim, profile.max_tokens, profile.pooling) == (384, 384, 512, "mean")
    assert find_profile(str(DEFAULT.path)) == profile
    assert verify_weights(profile) == DEFAULT.sha256


def test_a_named_profile_takes_the_users_file(tmp_path: Path) -> None:
    file = tmp_path / "mine.gguf"
    assert find_profile("nomic-embed-text-v1.5", file).path == file
    assert find_profile("all-MiniLM-L6-v2") is DEFAULT


def test_an_unknown_model_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"'word2vec'.*nomic-embed-text-v1\.5"):
        find_profile("word2vec")


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES.keys())
def test_every_profile_is_coherent(profile: object) -> None:
    profile = find_profile(str(getattr(profile, "name", "")))
    assert 0 < profile.stored_dim <= profile.dim
    assert bool(profile.query_prefix) == bool(profile.document_prefix)


def test_a_missing_file_is_one_sentence(tmp_path: Path) -> None:
    with pytest.raises(EngineError, match="is missing; say where the file is"):
        verify_weights(find_profile("nomic-embed-text-v1.5", tmp_path / "none.gguf"))


def test_a_missing_packaged_file_asks_for_a_reinstall(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr("rekal.embed.profiles.PACKAGED", tmp_path)
    with pytest.raises(EngineError, match="is missing; reinstall rekal"):
        verify_weights(DEFAULT)


def test_a_flipped_byte_is_found(tmp_path: Path) -> None:
    data = bytearray(DEFAULT.path.read_bytes())
    data[-1000] ^= 1
    file = tmp_path / "model.gguf"
    file.write_bytes(data)
    with pytest.raises(EngineError, match="is damaged: its sha256 is"):
        verify_weights(DEFAULT.at(file))


def test_another_models_file_is_refused() -> None:
    with pytest.raises(EngineError, match="has 384 dimensions"):
        verify_weights(find_profile("nomic-embed-text-v1.5", DEFAULT.path))


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"GGUF",
        b"PK\3\4 not a model",
        b"GGUF" + struct.pack("<IQQ", 3, 0, 1 << 40),
        DEFAULT.path.read_bytes()[:100],
    ],
    ids=["empty", "magic only", "zip", "absurd count", "cut short"],
)
def test_a_file_that_is_no_model(tmp_path: Path, data: bytes) -> None:
    file = tmp_path / "model.gguf"
    file.write_bytes(data)
    with pytest.raises(EngineError, match="is not a GGUF model, or is damaged"):
        GgufHead.read(file)


@settings(deadline=None, max_examples=150)
@given(tail=st.binary(max_size=200), start=st.sampled_from([b"", b"GGUF\3\0\0\0", DEFAULT.path.read_bytes()[:300]]))
def test_no_bytes_escape_as_another_error(tmp_path_factory: pytest.TempPathFactory, start: bytes, tail: bytes) -> None:
    file = tmp_path_factory.getbasetemp() / "any.gguf"
    file.write_bytes(start + tail)
    with pytest.raises(EngineError):
        GgufHead.read(file)
