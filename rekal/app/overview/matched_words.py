"""The words of a text that a question asks for, as places in the text."""

from __future__ import annotations

import re

from rekal.index.text import document_terms, query_terms
from rekal.recall.question import bare_word, is_content

_WORD = re.compile(r"[^\s()\[\]{}<>,;:!?\"'`|=]+")
_SHORTEST = 3  # characters of a word worth marking
_LONGEST = 4000  # characters of a text that are looked at


def find_matches(question: str, text: str) -> list[tuple[int, int]]:
    """Return the offsets of the words in ``text`` that share a term with ``question``, in order."""
    carrying = " ".join(word for word in question.split() if is_content(bare_word(word)))
    wanted = {term for term in query_terms(carrying) if len(term) >= _SHORTEST}
    if not wanted:
        return []
    return [
        found.span()
        for found in _WORD.finditer(text, 0, _LONGEST)
        if len(found[0]) >= _SHORTEST and not wanted.isdisjoint(document_terms(found[0]))
    ]
