"""Environment variables begin with REKAL_; those of 0.1.0 are read where the new one is not set."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from rekal.config import ENVIRONMENT, OTHER_VARIABLES, read_settings, read_variable

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("env", "engine"),
    [
        ({"REKAL_EMBED_ENGINE": "off"}, "off"),
        ({"RECALL_EMBED_ENGINE": "off"}, "off"),
        ({"RECALL_EMBED_ENGINE": "off", "REKAL_EMBED_ENGINE": "remote"}, "remote"),
    ],
)
def test_the_new_name_goes_before_the_old_one(env: dict[str, str], engine: str, tmp_path: Path) -> None:
    assert read_settings(tmp_path / "none.yml", env, tmp_path).config.embed.engine == engine


def test_a_key_is_read_under_either_name() -> None:
    assert read_variable({"RECALL_EMBED_API_KEY": "k"}, "REKAL_EMBED_API_KEY") == "k"
    assert read_variable({}, "REKAL_EMBED_API_KEY") is None


def test_every_variable_that_the_program_reads_is_in_the_docs() -> None:
    sources = "\n".join(path.read_text(encoding="utf-8") for path in (ROOT / "rekal").rglob("*.py"))
    used = set(re.findall(r"\bREKAL_[A-Z_]+[A-Z]\b", sources)) - {"REKAL_INTERNAL"}  # between our own hooks
    assert used == {*ENVIRONMENT, *OTHER_VARIABLES}
    text = (ROOT / "docs" / "settings.md").read_text(encoding="utf-8")
    assert not [name for name in used if f"| `{name}` |" not in text]
