"""A look at a question before anything is opened: most prompts that a host hands over ask a memory for nothing.

"Yes, do it" needs no index, no vectors and no numpy. Whatever might name something that only the store knows (a person,
a branch, a file, a time) is left to it.
"""

from __future__ import annotations

import re
from datetime import datetime

from rekal.errors import NOTHING_FOUND
from rekal.recall.answer import Answer
from rekal.recall.dates import read_periods
from rekal.recall.prompts import is_long
from rekal.recall.question import bare_word, read_question
from rekal.recall.word_lists import CHATTER, FRAMES, STOP, SUBJECTS

_PLAIN = STOP | CHATTER | FRAMES
# "on main" and "the … branch" name a branch by words that are chatter elsewhere.
_BRANCH = re.compile(r"\bon\b|\bbranch", re.I)
_SHORTEST_COMMIT = 7  # digits by which a question names one


def refuse_thin(text: str, now: datetime) -> Answer | None:
    """Return the answer to a text that asks for nothing whatever a store holds; None when the store must be asked."""
    if not text.strip() or is_long(text) or _BRANCH.search(text) or read_periods(text, now):
        return None
    words = [bare_word(word) for word in text.split()]
    # A capital inside a sentence may be somebody's name, whatever it spells: "Will", "May".
    if any(word[:1].isupper() and word != "I" for word in words[1:]):
        return None
    known = all(not word or word.replace("'", "").casefold() in _PLAIN or _is_number(word) for word in words)
    if not known or read_question(text).thin is None or (len(words) == 1 and words[0].casefold() in SUBJECTS):
        return None
    return Answer("SILENCE", "thin_question", 0.0, text, [], [], [], NOTHING_FOUND)


def _is_number(word: str) -> bool:
    """True for a number that cannot be the name of a commit, which may be written in digits alone."""
    return word.isdigit() and len(word) < _SHORTEST_COMMIT
