"""Text between ``<private>`` and ``</private>``: never stored. Without its end a mark that begins a line holds
for the rest of the text, and one inside a sentence for its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from rekal.plain_text import lazy_pattern
from rekal.scrub.secrets.kind import Hay, Kind, Span

_OPEN = lazy_pattern(r"<private>", re.IGNORECASE)
_TAG = lazy_pattern(r"<(?P<slash>/?)private>", re.IGNORECASE)
_LINE_START = lazy_pattern(r"(?:\n|\\[nr])[ \t]*\Z")
_LINE_END = lazy_pattern(r"\r?\n|\\+[nr]")


def _find_private_blocks(text: str, hay: Hay) -> Iterator[Span]:
    opened = _OPEN.search(text)
    while opened:
        end = _closing(text, opened.end())
        if end < 0 and _is_mention(text, *opened.span()):
            end = opened.end()
        else:
            end = end if end >= 0 else _end_of_open(text, *opened.span())
            yield opened.start(), end
        opened = _OPEN.search(text, end)


def _closing(text: str, start: int) -> int:
    """End of the block opened before ``start``, -1 for one that is not closed; blocks nest."""
    depth = 1
    for tag in _TAG.finditer(text, start):
        depth += -1 if tag["slash"] else 1
        if depth == 0:
            return tag.end()
    return -1


def _is_mention(text: str, start: int, end: int) -> bool:
    """True if the mark itself is quoted, as when somebody asks about it."""
    return text[max(0, start - 1) : start] in ("`", '"', "'") and text[end : end + 1] in ("`", '"', "'")


def _end_of_open(text: str, start: int, end: int) -> int:
    # At the start of a line somebody opens a block; inside a sentence most marks are only spoken of.
    if not text[:start].strip() or _LINE_START.search(text[max(0, start - 16) : start]):
        return len(text)
    line_end = _LINE_END.search(text, end)
    return line_end.start() if line_end else len(text)


KIND = Kind("private", ("<private>",), _find_private_blocks)
