"""Text that somebody marked ``<private>``: never stored, closed or not."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rekal.scrub.regex import Regex
from rekal.scrub.secrets.kind import Hay, Kind, Span

_OPEN = Regex(r"<private>", re.IGNORECASE)
_TAG = Regex(r"<(?P<slash>/?)private>", re.IGNORECASE)


def _find_private_blocks(text: str, hay: Hay) -> Iterator[Span]:
    opened = _OPEN.search(text)
    while opened:
        end = _closing(text, opened.end())
        yield opened.start(), end
        opened = _OPEN.search(text, end)


def _closing(text: str, start: int) -> int:
    """End of the block opened before ``start``; blocks nest; an unclosed one lasts to the end of the text."""
    depth = 1
    for tag in _TAG.finditer(text, start):
        depth += -1 if tag["slash"] else 1
        if depth == 0:
            return tag.end()
    return len(text)


KIND = Kind("private", ("<private>",), _find_private_blocks)
