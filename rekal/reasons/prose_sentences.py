"""The sentences of a text as it was written: code stays code, a dot inside a name ends nothing."""

from __future__ import annotations

import msgspec

from rekal.plain_text import lazy_pattern

_FENCE = lazy_pattern(r"(?ms)^[ \t]*```.*?(?:^[ \t]*```[^\n]*$|\Z)")
# A sentence ends where a capital, a digit or a code span follows: "v1.2 of foo.py" is one.
_END = lazy_pattern(r"""(?<=[.!?…])["')\]*`]*\s+(?=["'(\[*`]*[A-ZÀ-Þ0-9`*])|(?<=[。！？])|\n+""")
_LEAD = lazy_pattern(r"^\s*(?:[-*•>]\s+|\#+\s*|\d+[.)]\s+|\|\s*|✅\s*|\[[ x]\]\s*)*")
_LIST_MARK = lazy_pattern(r"[-*•#]|\d[.)]")
_FEWEST_LETTERS = 3


class Sentence(msgspec.Struct, frozen=True):
    """One sentence and its offsets in the text, the mark of a list left out.

    ``listed`` says that it is an item of a list, ``heading`` a heading.
    """

    start: int
    end: int
    text: str
    listed: bool
    heading: bool


def find_code_blocks(text: str) -> list[tuple[int, int]]:
    """Return the offsets of the fenced blocks of ``text``, in order; one that never ends goes to the end."""
    return [found.span() for found in _FENCE.finditer(text)] if "```" in text else []


def split_prose(text: str) -> list[Sentence]:
    """Return the sentences of ``text`` in order, without fenced code, rows of tables and rules."""
    hidden = find_code_blocks(text)
    found: list[Sentence] = []
    start = 0
    for stop, after in [*(m.span() for m in _END.finditer(text)), (len(text), len(text))]:
        raw, begin = text[start:stop], start
        # What closes a sentence (a quote, a bracket) belongs to it.
        raw += text[stop:after].rstrip() if stop < after else ""
        start = after
        if any(a < stop and begin < b for a, b in hidden):
            continue
        if raw.lstrip().startswith("|") or set(raw.strip()) <= set("-=_*| "):
            continue
        match = _LEAD.match(raw)
        lead = match.group() if match else ""
        said = raw[len(lead) :].strip()
        if sum(map(str.isalnum, said)) >= _FEWEST_LETTERS:
            at = begin + len(lead)
            found.append(Sentence(at, at + len(said), said, bool(_LIST_MARK.search(lead)), "#" in lead))
    return found
