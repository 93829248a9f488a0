"""A long prompt in parts: what somebody asks, apart from the output that they pasted beside it.

A pasted trace has more words than the question, and the store has never seen most of them. So each sentence is judged
by itself, too, and the best verdict counts.
"""

from __future__ import annotations

import re

LONG = 25  # words: a shorter prompt is one question
MOST_PARTS = 12
_FEWEST_WORDS = 3
_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n")
# Lines of a log, a trace, a listing or a diff. Their words are nobody's question.
_OUTPUT = re.compile(
    r"""^\s*(?:File\ "|Traceback\b|at\ [\w$.<>]+\s?\(|\[?\d{4}-\d\d-\d\d[T ]\d\d:|\[?\d\d:\d\d:\d\d|\d+\s*[|:]\s
        |[+-]{1,3}\s?[\w/]|@@\ |\$\ |>>>\ |E\s{3,}|[\w.]+(?:Error|Exception)\b:|\s{4,}\S)""",
    re.VERBOSE,
)


def is_long(text: str) -> bool:
    """True for a prompt that may hold more than its question."""
    return len(text.split()) > LONG


def split_prompt(text: str) -> list[str]:
    """Sentences of a long prompt that may be its question, pasted output left out; none for a short one."""
    if not is_long(text):
        return []
    kept = "\n".join(line for line in text.split("\n") if not _OUTPUT.match(line))
    parts = [part.strip() for part in _END.split(kept)]
    return [part for part in parts if len(part.split()) >= _FEWEST_WORDS][:MOST_PARTS]
