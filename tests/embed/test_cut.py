"""Cutting a text to a window, over a tokenizer that is anything."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rekal.embed.local_model import fit_window, make_valid


@settings(deadline=None)
@given(text=st.text(max_size=400), limit=st.integers(8, 60), width=st.integers(1, 7))
def test_the_result_fits_and_is_a_beginning(text: str, limit: int, width: int) -> None:
    def count(piece: str) -> int:
        return 2 + -(-len(piece.encode("utf-8", "surrogatepass")) // width)

    cut = fit_window(make_valid(text), limit, count)
    assert count(cut) <= limit
    assert make_valid(text).startswith(cut)
    assert cut == make_valid(text) or count(cut) > 0.8 * limit - 4


def test_a_short_text_is_not_counted() -> None:
    def count(piece: str) -> int:
        pytest.fail("counted")

    assert fit_window("short", 64, count) == "short"


def test_a_huge_text_is_counted_in_part_only() -> None:
    seen: list[int] = []

    def count(piece: str) -> int:
        seen.append(len(piece))
        return len(piece) // 4

    fit_window("x" * 10_000_000, 512, count)
    assert max(seen) < 20_000
    assert len(seen) < 5


@given(text=st.text(st.characters(), max_size=50))
def test_clean_text_is_encodable_and_not_empty(text: str) -> None:
    cleaned = make_valid(text)
    assert cleaned.encode()
    assert "\0" not in cleaned
