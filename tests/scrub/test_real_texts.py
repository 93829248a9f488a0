"""On real transcripts: hardly a word goes, and no hash, UUID or path of a repository."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from rekal.scrub import Rules, Scrubber, report

SHARE = 0.001
SAMPLE = 6  # every sixth text of a file: enough words, and seconds instead of a minute
UNTOUCHABLE = re.compile(
    r"\b(?:[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?:src|cmd|docs|tests?)/[\w./-]+\.\w+)\b"
)
SCRUBBER = Scrubber(Rules(homes=("/home/zelda",), username="zelda"))


def _strings(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for inner in value.values():
            yield from _strings(inner)
    elif isinstance(value, list):
        for inner in value:
            yield from _strings(inner)


def _texts(file: Path) -> list[str]:
    out: list[str] = []
    for line in file.read_text(encoding="utf-8", errors="replace").split("\n"):
        try:
            out.extend(_strings(json.loads(line)))
        except ValueError:
            continue
    return [text for text in out if " " in text][::SAMPLE]


@pytest.fixture(scope="module")
def texts() -> list[str]:
    fixtures = Path(__file__).resolve().parents[3] / "shared" / "fixtures"
    if not fixtures.is_dir():
        pytest.skip("the shared fixtures are not beside this checkout")
    return [text for file in sorted(fixtures.rglob("*.jsonl")) for text in _texts(file)]


@pytest.mark.shared
def test_hardly_a_word_is_redacted(texts: list[str]) -> None:
    made = report(SCRUBBER, texts)
    assert made.words > 100_000
    assert made.share <= SHARE, made.lines()


@pytest.mark.shared
def test_hashes_uuids_and_paths_stay(texts: list[str]) -> None:
    for text in texts:
        for _, start, end in SCRUBBER.find(text):
            assert not UNTOUCHABLE.fullmatch(text[start:end])


@pytest.mark.shared
def test_scrubbed_text_is_stable(texts: list[str]) -> None:
    for text in texts[::5]:
        once = SCRUBBER.text(text)
        assert SCRUBBER.text(once) == once
