"""What the adapters' tests share: golden counts over real recordings, and mutations of records."""

from __future__ import annotations

import copy
import json
import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import strategies as st

from rekal.agents.contract import Adapter, Source, Where
from rekal.errors import SourceError

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
Counts = dict[str, int]
JUNK = [
    b"",
    b"\n",
    b"{}",
    b"[]",
    b"null",
    b"\xff\xfe{",
    b'{"a":' * 13_000,
    b"\0" * 64,
    b" " * 65_536,
    b'{"chat":[' * 7000,
]
"""Beginnings of files that are no transcript of anybody's, some of them slow for a careless pattern."""


def shared_file(name: str) -> Path:
    """A file or folder of the shared fixtures; skips the test where there is none."""
    path = SHARED / name
    if not path.exists():
        pytest.skip("the shared fixtures are not beside the checkout")
    return path


def counts(adapter: Adapter, source: Source, home: Path) -> Counts:
    """How much of everything one source gives; ``refused`` when it cannot be read."""
    try:
        parsed = adapter.parse(source, None, Where(home=home, roots=()))
    except SourceError:
        return {"refused": 1}
    turns = [turn for transcript in parsed.transcripts for turn in transcript.turns]
    calls = [call for transcript in parsed.transcripts for call in transcript.calls]
    found = {"transcripts": len(parsed.transcripts), "skipped_bytes": parsed.skipped_bytes}
    found |= {"characters": sum(len(turn.content) for turn in turns), "drift": sum(parsed.drift.values())}
    found["parents"] = sum(transcript.parent_native_id is not None for transcript in parsed.transcripts)
    found["edits"] = sum(bool(call.wrote) for call in calls)
    found["timed turns"] = sum(turn.occurred_at is not None for turn in turns)
    for turn in turns:
        found[turn.role] = found.get(turn.role, 0) + 1
    for call in calls:
        for what in ("calls", f"calls {call.outcome}"):
            found[what] = found.get(what, 0) + 1
        found["lines written"] = found.get("lines written", 0) + len(call.wrote)
    return found


def check_golden(agent: str, found: dict[str, Counts]) -> None:
    """Compare with ``golden_<agent>.json``; with REKAL_WRITE_GOLDEN set, write it instead."""
    path = Path(__file__).with_name(f"golden_{agent}.json")
    if os.environ.get("REKAL_WRITE_GOLDEN"):
        path.write_text(json.dumps(found, indent=1, sort_keys=True) + "\n", encoding="utf-8")
    assert found == json.loads(path.read_text(encoding="utf-8"))


Change = Callable[[Any], Any]
_ODD: list[Any] = [
    None, True, -1, 0, 1.5, 10**400, 1e308, "", "x", "a\0b", "../..", "/", "\ud800", [], [[]], [None], {}, {"": 1},
]  # fmt: skip


def _places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container with every key or index it has."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in list(items):
        yield value, key
        yield from _places(item)


def mutations() -> st.SearchStrategy[Change]:
    """Functions that replace or remove up to four values somewhere in a decoded JSON value."""
    edit = st.tuples(st.integers(0, 1 << 16), st.sampled_from([*range(len(_ODD)), None]))
    return st.lists(edit, min_size=1, max_size=4).map(_change)


def _change(edits: list[tuple[int, int | None]]) -> Change:
    def change(value: Any) -> Any:
        changed = copy.deepcopy(value)
        for place, odd in edits:
            places = list(_places(changed))
            if not places:
                break
            container, key = places[place % len(places)]
            if odd is None:
                del container[key]
            else:
                container[key] = copy.deepcopy(_ODD[odd])
        return changed

    return change
