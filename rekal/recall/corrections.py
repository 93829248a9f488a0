"""Misspelled words of a question, corrected by the store's own vocabulary.

A word is corrected only where nothing else can be meant: it is no English word and no word of programming, the store
has never seen it, and one slip of the fingers (a letter more, less, exchanged with the next, or hit beside its key)
makes it a word that stands in two turns or more. The answer says what was read as what.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from rekal.embed.english_words import read_english_words
from rekal.index.reader import IndexReader
from rekal.index.text import document_terms, stem_word
from rekal.recall.question import bare_word
from rekal.recall.word_lists import CHATTER, FRAMES, PROGRAMMING, STOP

SHORTEST = 5  # letters: of shorter words too many are one letter apart
FEWEST_TURNS = 2
_MOST_TURNS_READ, _LONGEST_READ = 8, 20_000  # turns, and characters of each, in which a strange word is looked up
_MOST_READ = 200  # words of a text that are looked at
_MOST_WORDS = 4  # corrected in one question; more is another language, or no text
_PLAIN_WORD = re.compile(r"[A-Za-z][a-z]+")
_LISTED = STOP | CHATTER | FRAMES
_LETTERS = "abcdefghijklmnopqrstuvwxyz"  # the module `string` has them, too, and costs half a millisecond
_ENDINGS = ("s", "es", "ed", "d", "ing", "er", "ers", "or", "ors", "ly", "able", "ation", "ations", "ness", "ment")
_SHORTEST_PART = 4  # letters of either half of a compound, and of a word without its ending
_KEYS = ("qwertyuiop", "asdfghjkl", "zxcvbnm")


def correct_spelling(reader: IndexReader, text: str) -> tuple[str, list[tuple[str, str]]]:
    """Return ``text`` with corrected words, and the pairs of a word as typed and as read."""
    words = _words_to_correct(text)
    known = _words_in_store(reader, words) if words else set()  # one question to the index for all of them
    unknown = [word for word in words if word not in known and not is_spelled_right(word.casefold())]
    pairs: list[tuple[str, str]] = []
    for word in unknown[:_MOST_WORDS]:
        found = _nearest(reader, word)
        if found:
            pairs.append((word, found))
            text = re.sub(rf"(?<![\w./-]){word}(?![\w/-])", found, text)
    return text, pairs


def _words_to_correct(text: str) -> list[str]:
    """Words of letters alone. A capital inside a sentence makes a name, and names are spelled in many ways."""
    found: dict[str, None] = {}
    for at, typed in enumerate(text.split(None, _MOST_READ)[:_MOST_READ]):
        word = bare_word(typed)
        if len(word) < SHORTEST or not _PLAIN_WORD.fullmatch(word) or (at and word[0].isupper()):
            continue
        if word.casefold() not in _LISTED and typed.strip(".,;:!?()\"'") == word:
            found[word] = None
    return list(found)


def _words_in_store(reader: IndexReader, words: Sequence[str]) -> set[str]:
    terms = {word: document_terms(word)[0] for word in words}
    known = reader.stored_terms(list(terms.values()))
    return {word for word, term in terms.items() if term in known}


def is_spelled_right(word: str) -> bool:
    """True for a word spelled right: listed, an inflection of a listed one, or two of them written as one."""
    listed = read_english_words()
    if word in listed or word in PROGRAMMING:
        return True
    for ending in _ENDINGS:
        root = word.removesuffix(ending)
        if (
            root != word
            and len(root) >= _SHORTEST_PART
            and any(form in listed or form in PROGRAMMING for form in _root_forms(root, ending))
        ):
            return True
    cuts = range(_SHORTEST_PART, len(word) - _SHORTEST_PART + 1)
    return any(word[:at] in listed and word[at:] in listed for at in cuts)


def _root_forms(root: str, ending: str) -> list[str]:
    """Words that become ``root`` in front of ``ending``: "retri" is "retry", "cach" before a vowel "cache"."""
    forms = [root]
    if root[-1] == "i":
        forms.append(f"{root[:-1]}y")
    if ending[0] in "aeio" and ending != "es":
        forms.append(f"{root}e")
        if root[-1] == root[-2] and root[-3] in "aeiou":
            forms.append(root[:-1])
    return forms


def _nearest(reader: IndexReader, word: str) -> str | None:
    """The word one slip away that most turns have; None without one in :data:`FEWEST_TURNS` of them."""
    by_stem: dict[str, list[str]] = {}
    for edited in _one_slip(word.casefold()):
        by_stem.setdefault(stem_word(edited), []).append(edited)
    enough = {stem: count for stem, count in reader.turn_counts(list(by_stem)).items() if count >= FEWEST_TURNS}
    right = [(-enough[stem], form) for stem in enough for form in by_stem[stem] if is_spelled_right(form)]
    if right:
        return min(right)[1]
    for stem in sorted(enough, key=lambda stem: (-enough[stem], stem)):
        if written := _find_written(reader, stem, by_stem[stem]):
            return written
    return None


def _find_written(reader: IndexReader, stem: str, forms: Sequence[str]) -> str | None:
    """The one of ``forms`` that turns with ``stem`` have as it stands: a stem is no word, and neither is every form."""
    docs = reader.postings([stem]).doc[:_MOST_TURNS_READ].tolist()
    said = " ".join(one.text[:_LONGEST_READ] for one in reader.texts(docs)).casefold()
    return min(set(forms) & set(re.findall(r"[a-z]+", said)), default=None)


def _one_slip(word: str) -> Iterator[str]:
    """All that ``word`` becomes by one letter exchanged with the next, left out, put in, or replaced by a near key."""
    for at in range(len(word) + 1):
        head, tail = word[:at], word[at:]
        if tail:
            yield head + tail[1:]
            yield from (head + letter + tail[1:] for letter in _NEAR[tail[0]])
        if len(tail) > 1:
            yield head + tail[1] + tail[0] + tail[2:]
        yield from (head + letter + tail for letter in _LETTERS)


def _near_keys() -> dict[str, str]:
    """Letters beside, above and below each one."""
    place = {letter: (row, at) for row, keys in enumerate(_KEYS) for at, letter in enumerate(keys)}
    near = {}
    for letter, (row, at) in place.items():
        # Each row stands half a key further right than the one above it.
        beside = [
            other for other, (r, a) in place.items() if abs(r - row) <= 1 and abs((a + r / 2) - (at + row / 2)) <= 1
        ]
        near[letter] = "".join(other for other in beside if other != letter)
    return near


_NEAR = _near_keys()
