"""Private key blocks over many lines, with real or escaped line breaks, whole or cut off."""

from __future__ import annotations

import re
from collections.abc import Iterator

from rekal.plain_text import lazy_pattern
from rekal.scrub.secrets.kind import Hay, Kind, Span

_BEGIN = lazy_pattern(r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_END = lazy_pattern(r"-----END (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----")
_BREAK = (
    r"(?:[ \t]*(?:\\*\r?\n|(?:\\+r)?\\+n)[ \t]*(?:(?:[+|>]|-(?!----(?:END|BEGIN)))[ \t]*)?(?:\d+(?:→|\t|:)[ \t]*)?)"
)
_ARMOUR = r"(?:[A-Z][A-Za-z\-]+: [^\n\\]{1,80}|)"
_BODY = lazy_pattern(
    rf"{_BREAK}+(?:{_ARMOUR}{_BREAK}+)*(?P<first>[A-Za-z0-9+/=]{{8,}}|[A-Za-z0-9+/=]{{1,7}}"
    rf"(?={_BREAK}+[A-Za-z0-9+/=]{{16,}}))|(?P<same>[ \t]*[A-Za-z0-9+/=]{{32,}})"
)
_LINE = lazy_pattern(rf"{_BREAK}+(?P<line>=?[A-Za-z0-9+/=]+)(?![\w.(\-])|[ \t]+(?P<word>[A-Za-z0-9+/=]{{16,}})")
_DIFF_LINE = lazy_pattern(r"(?:\r?\n|\\+n)[+\-]")


def _find_key_blocks(text: str, hay: Hay) -> Iterator[Span]:
    for begin in _BEGIN.finditer(text):
        body = _BODY.match(text, begin.end())
        if body is None:
            continue
        lines = [body.span("first" if body["first"] else "same")]
        while more := _LINE.match(text, lines[-1][1]):
            lines.append(more.span("line" if more["line"] else "word"))
        gap = re.compile(rf"{_BREAK}*[ \t]*").match(text, lines[-1][1])
        end = _END.match(text, gap.end()) if gap else None
        stop = end.end() if end else lines[-1][1]
        if _DIFF_LINE.search(text, begin.end(), lines[-1][1]):
            yield begin.span()
            yield from lines
            if end:
                yield end.span()
        else:
            yield begin.start(), stop


KIND = Kind("private-key", ("-----begin",), _find_key_blocks)
