"""Real transcripts travel small."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.bench_wire_size import measure, sessions


@pytest.mark.shared
def test_transcripts_shrink_by_more_than_their_text_compresses(shared: Path) -> None:
    pairs = list(sessions(shared / "fixtures" / "claude"))

    it = measure(sum(size for size, _ in pairs), [session for _, session in pairs])

    assert it.sent["turns"] == it.arrived["turns"] > 1_000
    assert it.sent["calls"] == it.arrived["calls"] > 1_000
    assert it.arrived["line hashes"] > 0.8 * it.sent["line hashes"]  # the others lie outside the repositories
    assert it.read.skips == ()
    assert it.wire * 100 < it.raw
    assert it.wire < 0.9 * it.lines_packed
