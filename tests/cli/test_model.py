"""Choosing the model: listed, switched only to one that is there and whole, verified by using it."""

from __future__ import annotations

from pathlib import Path

import pytest

from rekal.embed.profiles import DEFAULT
from tests.support.app import Rekal


@pytest.fixture(autouse=True)
def _models_on(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RECALL_EMBED_ENGINE")


def chosen(rekal: Rekal) -> list[str]:
    return [row["name"] for row in rekal("model", "--json").json["models"] if row["chosen"]]


def test_the_packaged_model_is_in_use_and_others_are_known(rekal: Rekal) -> None:
    listed = rekal("model", "list").out
    assert listed.startswith("* all-MiniLM-L6-v2")
    [nomic] = [line for line in listed.splitlines() if "nomic-embed-text-v1.5" in line]
    assert "256 of 768 dimensions, 2048 tokens" in nomic
    assert nomic.endswith("its file is not here")
    assert chosen(rekal) == [DEFAULT.name]


def test_verify_checks_the_weights_and_uses_them(rekal: Rekal) -> None:
    answer = rekal("model", "verify", "--json").json
    assert (answer["sha256"], answer["dim"]) == (DEFAULT.sha256, 384)
    assert answer["milliseconds"] > 0


def test_a_model_whose_file_is_missing_is_not_switched_to(rekal: Rekal) -> None:
    done = rekal("model", "use", "nomic-embed-text-v1.5")
    assert done.code == 1
    assert "is missing" in done.err
    assert chosen(rekal) == [DEFAULT.name]
    assert rekal("model", "use", "no-such-model").code == 2
    assert rekal("model", "use").code == 2


def test_any_gguf_can_be_used_in_one_clone(rekal: Rekal, tmp_path: Path) -> None:
    path = tmp_path / "mine.gguf"
    path.write_bytes(DEFAULT.path.read_bytes())
    assert rekal("model", "use", str(path)).code == 0
    [row] = [row for row in rekal("model", "--json").json["models"] if row["chosen"]]
    assert (row["file"], row["present"], row["dim"]) == (str(path), True, 384)
    assert rekal("model", "verify", "--json").json["sha256"] == DEFAULT.sha256
    assert not (rekal.home / "rekal" / "config.yml").exists()
    path.write_bytes(path.read_bytes()[:1000])
    assert rekal("model", "verify").code == 1


def test_a_profile_is_used_with_a_file_of_ones_own_everywhere(rekal: Rekal, tmp_path: Path) -> None:
    path = tmp_path / "weights.gguf"
    path.write_bytes(DEFAULT.path.read_bytes())
    settings = rekal.home / "rekal" / "config.yml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text("recall:\n  limit: 3\n", encoding="utf-8")
    assert rekal("model", "use", DEFAULT.name, "--file", str(path), "--user").code == 0
    assert settings.read_text("utf-8") == f"embed:\n  file: {path}\n  model: {DEFAULT.name}\nrecall:\n  limit: 3\n"
    assert rekal("model", "use", DEFAULT.name, "--user").code == 0
    assert "file:" not in settings.read_text("utf-8")
    path.write_bytes(b"x" + path.read_bytes()[1:])
    assert rekal("model", "use", DEFAULT.name, "--file", str(path), "--user").code == 1


def test_comments_in_the_users_settings_are_not_lost(rekal: Rekal) -> None:
    settings = rekal.home / "rekal" / "config.yml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text("# mine\nrecall: {limit: 3}\n", encoding="utf-8")
    done = rekal("model", "use", DEFAULT.name, "--user")
    assert done.code == 5
    assert f"embed: {{model: {DEFAULT.name}}}" in done.err
    assert settings.read_text("utf-8") == "# mine\nrecall: {limit: 3}\n"
