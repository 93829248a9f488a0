"""Make any text fit for a model: valid Unicode, not empty, within its window."""

from __future__ import annotations

from collections.abc import Callable

CHARACTERS_A_TOKEN = 24  # far above what any tokenizer averages: bounds the cost of counting a huge text
SHRINK = 0.97


def make_valid(text: str) -> str:
    """``text`` without what a tokenizer trips over: lone surrogates and NULs are replaced, an empty text is a space."""
    return text.encode("utf-8", "replace").decode().replace("\0", " ") or " "


def fit_window(text: str, limit: int, count: Callable[[str], int]) -> str:
    """The beginning of ``text`` that ``count`` finds to be at most ``limit`` tokens.

    Each round cuts in proportion to the excess, so two or three counts are the rule. A text whose UTF-8 bytes are
    fewer than the limit is not counted at all: no token is shorter than a byte.
    """
    if len(text.encode()) + 2 < limit:  # two special tokens around it
        return text
    text = text[: limit * CHARACTERS_A_TOKEN]
    while (tokens := count(text)) > limit and len(text) > 1:
        text = text[: max(1, min(len(text) - 1, int(len(text) * limit / tokens * SHRINK)))]
    return text
