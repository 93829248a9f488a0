"""Claude Code recordings: counts that must not move, and records changed beyond recognition."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekal.agents.claude.adapter import ADAPTER
from rekal.agents.formats.jsonl import LineReader
from rekal.errors import SourceError
from tests.agents.adapter_checks import Change, Counts, check_golden, counts, mutations, shared_file
from tests.agents.claude_log import long_session, read_in_pieces
from tests.agents.pieces import read, source_of


def recordings(folder: Path) -> list[Path]:
    return sorted(
        path
        for path in folder.rglob("*")
        if path.suffix in (".jsonl", ".json") and not path.name.endswith(".meta.json")
    )


@pytest.mark.shared
def test_counts_over_recordings(tmp_path: Path) -> None:
    folder = shared_file("fixtures/claude")
    found: dict[str, Counts] = {}
    for path in recordings(folder):
        parsed = read(ADAPTER, path)
        assert parsed == read(ADAPTER, path)
        assert ADAPTER.sniff(path.read_bytes()[: 64 << 10])
        numbers = counts(ADAPTER, source_of(ADAPTER, path), tmp_path)
        found[str(path.relative_to(folder))] = numbers
    check_golden("claude", found)


@pytest.mark.shared
@pytest.mark.parametrize(
    "name", ["claude-code-viewer/fe5e1c67-*.jsonl", "r22-*.jsonl", "agent-sessions-stage0/small.jsonl"]
)
def test_recordings_cut_in_three(tmp_path: Path, name: str) -> None:
    (original,) = shared_file("fixtures/claude").glob(name)
    whole = original.read_bytes()
    ends = [at + 1 for at, byte in enumerate(whole) if byte == 10]
    path = tmp_path / original.name
    expected = read_in_pieces(path, whole, [])
    for first in range(0, len(ends) // 2, max(1, len(ends) // 12)):
        pieces = read_in_pieces(path, whole, [ends[first], ends[first + len(ends) // 3]])
        assert pieces.lines() == expected.lines(), first
        assert pieces.called() == expected.called(), first


RECORDS = long_session().records


@settings(deadline=None, max_examples=120)
@given(change=mutations(), order=st.randoms(use_true_random=False), cut=st.integers(0, 400))
def test_mutated_records_never_raise(
    tmp_path_factory: pytest.TempPathFactory, change: Change, order: Any, cut: int
) -> None:
    changed = change(RECORDS)
    order.shuffle(changed)
    data = "".join(json.dumps(record) + "\n" for record in changed).encode()
    path = tmp_path_factory.getbasetemp() / "mutated.jsonl"
    path.write_bytes(data[: len(data) - cut])
    try:
        first = read(ADAPTER, path)
        path.write_bytes(data)
        second = read(ADAPTER, path, first)
    except SourceError:
        assert not list(LineReader(path))
        return
    for transcript in (*first.transcripts, *second.transcripts):
        for turn in transcript.turns:
            turn.content.encode()
            assert turn.content.strip()
        assert all(-1 <= call.turn < len(transcript.turns) for call in transcript.calls)
