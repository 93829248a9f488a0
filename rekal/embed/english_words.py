"""English words, as the packaged model's tokenizer knows them: some 25,000 that stand for themselves.

The list is part of the head of the model file, so nothing else has to be shipped. It is read whichever model makes the
vectors.
"""

from __future__ import annotations

from functools import cache

from rekal.embed.profiles import DEFAULT

_HEAD = 600_000  # bytes of the file that hold the list
_KEY = b"tokenizer.ggml.tokens"
_START = "\u2581".encode()  # before a token that begins a word; the others continue one


@cache
def read_english_words() -> frozenset[str]:
    """Return the words, in lower case; none when the packaged file cannot be read."""
    try:
        with DEFAULT.path.open("rb") as file:
            head = file.read(_HEAD)
    except OSError:
        return frozenset()
    # A token is its length in eight bytes and its text, so behind a word stand the next length and its zeros.
    pieces = head[head.find(_KEY) :].split(_START)[1:]
    words = (piece.split(b"\0", 1)[0][:-1] for piece in pieces)
    return frozenset(word.decode("ascii") for word in words if word.isalpha() and word.isascii())
