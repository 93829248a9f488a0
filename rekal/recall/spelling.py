"""Misspelled words of a question, corrected by the store's own vocabulary.

A word is corrected only where nothing else can be meant: the store has never seen it, and one letter more, less, other
or exchanged makes it a word that stands in two turns or more. The answer says what was read as what.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rekal.index.reader import IndexReader
from rekal.index.text import document_terms, stem_word
from rekal.recall.question import bare_word
from rekal.recall.word_lists import CHATTER, FRAMES, STOP

SHORTEST = 4  # letters: of shorter words too many are one letter apart
FEWEST_TURNS = 2
_MOST_READ = 200  # words of a text that are looked at
_MOST_WORDS = 4  # corrected in one question; more is another language, or no text
_PLAIN_WORD = re.compile(r"[A-Za-z][a-z]+")
_ENGLISH = STOP | CHATTER | FRAMES
_LETTERS = "abcdefghijklmnopqrstuvwxyz"  # the module `string` has them, too, and costs half a millisecond


def correct_spelling(reader: IndexReader, text: str) -> tuple[str, list[tuple[str, str]]]:
    """Return ``text`` with corrected words, and the pairs of a word as typed and as read."""
    words = _candidates(text)
    known = _known_words(reader, words) if words else set()  # one question to the index for all of them
    unknown = [word for word in words if word not in known]
    pairs: list[tuple[str, str]] = []
    for word in unknown[:_MOST_WORDS]:
        found = _nearest(reader, word)
        if found:
            pairs.append((word, found))
            text = re.sub(rf"(?<![\w./-]){word}(?![\w/-])", found, text)
    return text, pairs


def _candidates(text: str) -> list[str]:
    """Words of letters alone. A capital inside a sentence makes a name, and names are spelled in many ways."""
    found: dict[str, None] = {}
    for at, typed in enumerate(text.split(None, _MOST_READ)[:_MOST_READ]):
        word = bare_word(typed)
        if len(word) < SHORTEST or not _PLAIN_WORD.fullmatch(word) or (at and word[0].isupper()):
            continue
        if word.casefold() not in _ENGLISH and typed.strip(".,;:!?()\"'") == word:
            found[word] = None
    return list(found)


def _known_words(reader: IndexReader, words: Sequence[str]) -> set[str]:
    terms = {word: document_terms(word)[0] for word in words}
    known = reader.known_terms(list(terms.values()))
    return {word for word, term in terms.items() if term in known}


def _nearest(reader: IndexReader, word: str) -> str | None:
    """The word one edit away that most turns have; None without one in :data:`FEWEST_TURNS` of them."""
    by_stem: dict[str, str] = {}
    for edited in sorted(_one_edit(word.casefold())):
        by_stem.setdefault(stem_word(edited), edited)
    counts = reader.turn_counts([stem for stem, edited in by_stem.items() if edited not in _ENGLISH])
    enough = [(-count, stem) for stem, count in counts.items() if count >= FEWEST_TURNS]
    return by_stem[min(enough)[1]] if enough else None


def _one_edit(word: str) -> Iterator[str]:
    """All that ``word`` becomes by one letter exchanged with the next, left out, put in, or replaced."""
    for at in range(len(word) + 1):
        head, tail = word[:at], word[at:]
        if tail:
            yield head + tail[1:]
            yield from (head + letter + tail[1:] for letter in _LETTERS)
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        yield from (head + letter + tail for letter in _LETTERS)
