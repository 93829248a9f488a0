"""On real transcripts of every agent: hardly a word goes, and no hash, UUID or path of a repository."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from benchmarks.fixture_home import lay_out
from rekal.agents import registry
from rekal.agents.contract import Where
from rekal.errors import SourceError
from rekal.model import Transcript
from rekal.scrub import Rules, Scrubber, count_secrets

SHARE = 0.001
UNTOUCHABLE = re.compile(
    r"\b(?:[0-9a-f]{40}|[0-9a-f]{64}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|(?:src|cmd|docs|tests?)/[\w./-]+\.\w+)\b"
)
ALARMS = 3  # in a million characters
AROUND = 100
SCRUBBER = Scrubber(Rules(homes=("/home/zelda",), username="zelda"))


def _texts(transcript: Transcript) -> Iterator[str | None]:
    """Every string that may be stored of a transcript."""
    yield from (transcript.title, transcript.description, transcript.model)
    for turn in transcript.turns:
        yield turn.content
    for call in transcript.calls:
        yield from (call.tool, call.path, call.command, call.excerpt, "\n".join(call.wrote))


@pytest.fixture(scope="module")
def texts(tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """All texts of all recordings, by agent."""
    fixtures = Path(__file__).resolve().parents[3] / "shared" / "fixtures"
    if not fixtures.is_dir():
        pytest.skip("the shared fixtures are not beside this checkout")
    base = tmp_path_factory.mktemp("recordings")
    lay_out(fixtures, base / "home", base / "app")
    where = Where(base / "home", (base / "app",))
    found: dict[str, list[str]] = {}
    for adapter in registry.load_adapters():
        for source in adapter.discover(where):
            try:
                transcripts = adapter.parse(source, None, where).transcripts
            except SourceError:  # broken on purpose, some of them
                continue
            every = (text for transcript in transcripts for text in _texts(transcript))
            found.setdefault(source.agent, []).extend(filter(None, every))
    return found


@pytest.mark.shared
def test_hardly_a_word_is_redacted(texts: dict[str, list[str]]) -> None:
    assert set(texts) == set(registry.BUILT_IN)
    made = {agent: count_secrets(SCRUBBER, of_agent) for agent, of_agent in texts.items()}
    for agent, one in made.items():
        print(f"{agent}: {one.redacted_words} of {one.words} words in {one.texts} texts ({one.share:.4%})")
    words, redacted = sum(one.words for one in made.values()), sum(one.redacted_words for one in made.values())
    print(f"all: {redacted} of {words} words ({redacted / words:.4%})")
    assert words > 300_000
    assert redacted <= SHARE * words


@pytest.mark.shared
def test_false_alarms_are_rare(texts: dict[str, list[str]]) -> None:
    """The recordings hold no secret, so every finding is a false alarm, but for the addresses of people."""
    characters = sum(len(text) for of_agent in texts.values() for text in of_agent)
    found: Counter[str] = sum((SCRUBBER.kinds(text) for of_agent in texts.values() for text in of_agent), Counter())
    addresses = found.pop("email", 0)
    alarms = sum(found.values())
    print(f"{alarms} false alarms, {addresses} addresses in {characters} characters: {dict(found)}")
    assert alarms <= ALARMS * characters / 1e6


@pytest.mark.shared
def test_hashes_uuids_and_paths_stay(texts: dict[str, list[str]]) -> None:
    for text in (text for of_agent in texts.values() for text in of_agent):
        for kind, start, end in SCRUBBER.find(text):
            left = max(0, start - AROUND)
            near = UNTOUCHABLE.finditer(text, left, end + AROUND)
            assert [kind for span in near if span.start() < end and start < span.end()] == []


@pytest.mark.shared
def test_scrubbed_text_is_stable(texts: dict[str, list[str]]) -> None:
    for text in (text for of_agent in texts.values() for text in of_agent):
        once = SCRUBBER.text(text)
        if once != text:
            assert SCRUBBER.text(once) == once
