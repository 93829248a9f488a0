"""A short run of the fuzz target always, a long one under ``make soak``."""

from __future__ import annotations

import pytest

from tests.transport.fuzz_segment import fuzz


def test_some_damaged_segments_are_read() -> None:
    assert fuzz(seed=20_250_914, rounds=300) > 300


@pytest.mark.soak
@pytest.mark.timeout(3_600)
@pytest.mark.parametrize("seed", range(8))
def test_many_damaged_segments_are_read(seed: int) -> None:
    assert fuzz(seed, rounds=50_000) > 50_000
