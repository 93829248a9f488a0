"""What scrubbing costs beside its work: what it remembers, and what it loads before the first text."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from rekal.scrub import Rules, Scrubber, scrubber
from tests.scrub.examples import example

ROOT = Path(__file__).resolve().parents[2]
RULES = Rules(homes=("/home/zelda",), username="zelda", salt="s")

LOADING = """
import re, sys
compiled, compile = [], re.compile
re.compile = lambda *args: compiled.append(args[0]) or compile(*args)
import msgspec, hashlib
compiled.clear()
from rekal.scrub import Rules, Scrubber
Scrubber(Rules(homes=("/home/zelda",), username="zelda"))
assert not compiled, compiled
print(sum(name.startswith("rekal.scrub") for name in sys.modules))
"""


@pytest.mark.parametrize("text", ["nothing in it", "/home/zelda/x", example("github-token").text, "a\x00b\ud800 text"])
def test_a_text_seen_before_is_scrubbed_the_same(text: str) -> None:
    one = Scrubber(RULES)
    first = one.text(text)
    assert one.text(text) == first == Scrubber(RULES).text(text)


def test_a_scrubber_remembers_for_its_own_rules_only() -> None:
    text = "mail a.person@corp.net about it"
    assert "[redacted:email]" in Scrubber(RULES).text(text)
    assert Scrubber(Rules(email="keep")).text(text) == text


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scrubber, "_REMEMBERED", 1000)
    one = Scrubber(RULES)
    for number in range(100):
        one.text(f"{number} is a text of its own")
        one.text("x" * 2000)
        assert sum(map(len, one._known)) <= 1000
    assert one._known


def test_loading_compiles_no_pattern_and_few_files() -> None:
    done = subprocess.run([sys.executable, "-c", LOADING], cwd=ROOT, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) <= 40
