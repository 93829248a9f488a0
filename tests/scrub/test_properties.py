"""What holds for any text: scrubbing is idempotent, keeps structure, and lets no planted secret through."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from rekal.scrub import Rules, Scrubber
from tests.scrub.examples import ALL, QUOTED, TOKENS, example

SCRUBBER = Scrubber(Rules(homes=("/home/zelda",), username="zelda", salt="s", custom=(r"ACME-\d+",), ip="redact"))

PIECES = st.sampled_from(
    [
        *(example(kind).text for kind in ALL),
        *(
            "password",
            "=",
            ": ",
            '"',
            "'",
            "\\",
            '\\"',
            "\\\\n",
            "\n",
            " ",
            "/home/zelda",
            "/home/",
            "-home-",
            "Users\\",
        ),
        *(
            "[redacted:jwt]",
            "[redacted:",
            "]",
            "@",
            "token",
            "--secret ",
            "Bearer ",
            "://",
            "<private>",
            "ACME-12",
            "+",
            "{",
        ),
    ]
)
TEXTS = st.lists(PIECES | st.text(max_size=8), max_size=12).map("".join)
LEAVES = st.text(max_size=20) | st.sampled_from([example(kind).text for kind in ALL if kind != "private"])
KEYS = st.text(max_size=6) | st.sampled_from(["password", "token", "api_key", "path", "n"])
VALUES = st.recursive(
    LEAVES | st.integers() | st.none(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3),
    max_leaves=8,
)


@settings(deadline=None, max_examples=200)
@given(TEXTS)
def test_scrubbing_twice_changes_nothing_more(text: str) -> None:
    once = SCRUBBER.text(text)
    assert SCRUBBER.text(once) == once
    assert SCRUBBER.find(once) == []


def shape(value: Any) -> Any:
    """The structure of a decoded JSON value with all leaves alike: a number under a secret name becomes a string."""
    if isinstance(value, dict):
        return [shape(inner) for inner in value.values()]
    if isinstance(value, list):
        return [shape(inner) for inner in value]
    return str


@settings(deadline=None, max_examples=150)
@given(VALUES, st.integers(0, 2))
def test_json_keeps_its_shape(value: Any, depth: int) -> None:
    text = json.dumps({"v": value})
    for _ in range(depth):
        text = json.dumps({"nested": text})
    scrubbed = SCRUBBER.text(text)
    for _ in range(depth):
        scrubbed = json.loads(scrubbed)["nested"]
    assert shape(json.loads(scrubbed)) == shape({"v": value})


@settings(deadline=None, max_examples=150)
@given(st.sampled_from([*TOKENS, *QUOTED]), st.integers(0, 50), TEXTS, TEXTS)
def test_no_planted_secret_survives(kind: str, seed: int, before: str, after: str) -> None:
    made = example(kind, seed)
    assert made.secret not in SCRUBBER.text(f"{before} {made.text} {after}")
    assert made.secret not in SCRUBBER.text(json.dumps([before, made.text, after]))


@settings(deadline=None, max_examples=100)
@given(TEXTS)
def test_findings_are_in_order_and_apart(text: str) -> None:
    done = 0
    for _, start, end in SCRUBBER.find(text):
        assert done <= start < end <= len(text)
        done = end
