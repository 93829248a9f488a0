"""Other ways to put a question: frames around it, a pasted trace, a misspelled word."""

from __future__ import annotations

import random
import re
from collections.abc import Callable

FRAMES = (
    "what broke last time we touched this: {}",
    "did we ever try to {}?",
    "Do you remember why we decided to {}?",
    "I have a weird problem again, have we seen this before: {}",
    "Hi, before I change anything please look into what was discussed about: {}",
)
TRACE = """Traceback (most recent call last):
  File "/home/ci/build/run.py", line 214, in main
    worker.dispatch(batch, timeout=30)
  File "/home/ci/build/worker.py", line 88, in dispatch
    raise TimeoutError("no heartbeat from node 7 within 30s")
TimeoutError: no heartbeat from node 7 within 30s"""

Change = Callable[[str, random.Random], str]


def _framed(frame: str) -> Change:
    return lambda text, rng: frame.format(text)


def _pasted(text: str, rng: random.Random) -> str:
    return (
        f"Hi, I am stuck and would like a second pair of eyes on this before lunch. {text}. Please do not push anything"
        f" yet, first tell me what you find. This is all the console gave me:\n{TRACE}"
    )


def _misspelled(word: str, rng: random.Random) -> str:
    """A letter exchanged with the next, left out, or doubled."""
    at, kind = rng.randrange(1, len(word) - 1), rng.randrange(3)
    if kind == 0:
        return word[:at] + word[at + 1] + word[at] + word[at + 2 :]
    return word[:at] + word[at + 1 :] if kind == 1 else word[:at] + word[at] + word[at:]


def _spoiled(count: int) -> Change:
    def change(text: str, rng: random.Random) -> str:
        words = text.split()
        places = [at for at, word in enumerate(words) if re.fullmatch(r"[A-Za-z]{5,}", word)]
        rng.shuffle(places)
        for at in places[:count]:
            words[at] = _misspelled(words[at], rng)
        return " ".join(words)

    return change


FORMS: dict[str, Change] = {
    "plain": lambda text, rng: text,
    **{f"frame {at}": _framed(frame) for at, frame in enumerate(FRAMES, 1)},
    "pasted": _pasted,
    "one word misspelled": _spoiled(1),
    "two words misspelled": _spoiled(2),
}
LEVERED = ("plain", "pasted")
"""Forms in which talk without a topic is asked, too."""
