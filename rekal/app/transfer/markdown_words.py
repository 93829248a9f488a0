"""Words of people and agents in Markdown of ours, in which they change nothing of its structure."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rekal.plain_text import clean_line, clean_text


def quote_text(text: str) -> Iterator[str]:
    """Yield the lines of a text behind ``>``."""
    # Cleaned first: whatever breaks a line in it becomes a line feed, and each line of it gets its mark.
    for line in clean_text(text).split("\n"):
        yield f"> {line}".rstrip()


def mark_code(text: str) -> str:
    """A text on one line as code, whatever backquotes are in it."""
    text = clean_line(text)
    if not text:
        return ""
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`"


def escape_inline(text: str) -> str:
    """A text on one line in which nothing begins a link, an image or HTML."""
    flat = " ".join(clean_line(text).split())
    return "".join(f"\\{char}" if char in "\\`*_[]<>#|" else char for char in flat)
