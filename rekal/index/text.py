"""Analysis: how a text becomes index terms.

A text is cut at white space and every chunk is analysed on its own, so a chunk met before costs one dictionary
look-up. Inside a chunk an identifier is a term as a whole *and* in its parts, from the widest to the narrowest::

    src/index/getUserName2.py  ->  src/index/getusername2.py   the whole, without leading ./ or /
                                   index/getusername2.py       a path's tails, so a relative name finds an absolute one
                                   getusername2.py
                                   getusername2  src  index  get  user  name2  name  py

Words are NFKC, case-folded and stemmed (Snowball, English); anything with a digit is left as it is. A word with
accents is a term with and without them. Scripts written without spaces are overlapping bigrams, plus single
characters in documents. Pictographs are terms. There is no stop-word list: idf is what weighs a word.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator
from functools import cache, lru_cache, partial
from itertools import chain, pairwise
from typing import cast

_LONGEST_TERM = 64
_LONGEST_WHOLE = 160
_LONGEST_STEMMED = 24
_MOST_TAILS = 6
_MEMO_ENTRIES = 400_000
_LONGEST_MEMO_KEY = 80

# Scripts that put no space between words: bigrams are what finds a word inside a sentence of them.
_DENSE = (
    "\u0e00-\u0eff\u0f00-\u0fff\u1000-\u109f\u1780-\u17ff\u1100-\u11ff\u3005-\u3007\u3040-\u30ff\u3100-\u318f"
    "\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uac00-\ud7ff\uf900-\ufaff\U00020000-\U0003ffff"
)
# ``\w`` leaves out combining marks, which carry the vowels of many scripts.
_MARKS = (
    "\u0300-\u036f\u0483-\u0489\u0591-\u05bd\u05bf-\u05c7\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06ed\u0711-\u0870"
    "\u0898-\u0963\u0966-\u0dff\u1a00-\u1aff\u1b00-\u1cff\u1dc0-\u1dff\u20d0-\u20ff\ua880-\ua9ff\uaa00-\uabff\ufe20-\ufe2f"
)
_PICTOGRAPH = "\u2190-\u24ff\u25a0-\u2bff\U0001f000-\U0001faff"
_MODIFIER = re.compile("[\ufe0e\ufe0f\u200d\u20e3\U0001f3fb-\U0001f3ff]")

_WORD = rf"(?:(?![{_DENSE}])[\w{_MARKS}])+"
_SCAN = re.compile(
    rf"(?P<flag>(?<![\w-])--?(?=[^\W\d]))?"
    rf"(?P<dot>(?<![\w.])\.(?=[^\W\d_]))?"
    rf"(?P<word>{_WORD}(?:(?:[-./\\@]|::|'){_WORD})*(?:\+\+|\#(?!\w))?)"
    rf"|(?P<dense>[{_DENSE}]+)"
    rf"|(?P<flagpair>[\U0001f1e6-\U0001f1ff]{{2}})"
    rf"|(?P<pict>[{_PICTOGRAPH}])"
)
# One name or path without marks before or behind it.
_PLAIN = re.compile(r"\w+(?:(?:[-./\\@]|::)\w+)*", re.ASCII)
_EDGE = "\"'`()[]{}<>,;:!?*"
_CONTRACTION = re.compile(r"'(s|d|m|ll|re|ve)(?![\w'])", re.I)
_HUMP = re.compile(r"(?<=[a-z])(?=[A-Z])|(?<=[0-9A-Z])(?=[A-Z][a-z])")
_IRREGULAR = frozenset({"die", "lie", "tie"})  # stems of "dying" and the like
_LETTERS_OF_TERM = re.compile(r"[a-z0-9]+")
_JOINT = re.compile(r"::|[.@-]")
_NUMBERED = re.compile(r"([^\W\d_]{3,})\d+")
_VERSION = re.compile(r"v(\d+(?:\.\d+)+)")


@cache
def _stemmer() -> Callable[[str], str]:
    # The C library of the Snowball project: twenty times as fast as its Python twin, with the same stems for all of
    # 138,467 distinct words of real transcripts.
    import Stemmer

    return cast("Callable[[str], str]", Stemmer.Stemmer("english").stemWord)


@lru_cache(maxsize=1 << 17)
def stem_word(word: str) -> str:
    """The stem of one case-folded word; the word itself when it is not plain ASCII letters or is very long."""
    if not word.isascii() or not word.isalpha() or len(word) > _LONGEST_STEMMED:
        return word
    return _stemmer()(word)


def _fold(text: str) -> str:
    folded = text.casefold()
    return folded if folded.isascii() else unicodedata.normalize("NFKC", folded)


def _bare(word: str) -> str:
    """``word`` without accents, for the alphabets where a reader types it without them (Latin, Greek, Cyrillic)."""
    marked = unicodedata.normalize("NFD", word)
    kept = [ch for ch in marked if not "\u0300" <= ch <= "\u036f"]
    return unicodedata.normalize("NFC", "".join(kept))


def _letters(part: str) -> tuple[str, ...]:
    """Terms of a part without inner punctuation: stem, the same without accents, and without a trailing number."""
    word = _fold(part)[:_LONGEST_TERM]
    if not word:
        return ()
    terms = [stem_word(word)]
    if not word.isascii() and (bare := _bare(word)) not in ("", word):
        terms.append(stem_word(bare))
    if word[-1].isdigit() and (numbered := _NUMBERED.fullmatch(word)):
        terms.append(stem_word(numbered[1]))
    return tuple(terms)


def _humps(piece: str) -> Iterable[str]:
    # A number is never cut (0xFfee has no humps), and most words need no look.
    return (piece,) if piece[1:].islower() or piece[0].isdigit() else _HUMP.split(piece)


class _Memo(dict[str, tuple[str, ...]]):
    """Terms by text; a text never met is analysed on the way. Emptied when full, so memory stays bounded."""

    def __init__(self, analyse: Callable[[str], tuple[str, ...]]) -> None:
        self._analyse = analyse

    def __missing__(self, text: str) -> tuple[str, ...]:
        terms = self._analyse(text)
        if len(text) <= _LONGEST_MEMO_KEY:
            if len(self) >= _MEMO_ENTRIES:
                self.clear()
            self[text] = terms
        return terms


_parts = _Memo(_letters)


def _atom(atom: str) -> tuple[str, ...]:
    """Terms of one run of word characters: snake_case and camelCase whole and in parts."""
    pieces = [hump for piece in atom.split("_") if piece for hump in _humps(piece)]
    if pieces == [atom]:
        return _parts[atom]
    return (_fold(atom)[:_LONGEST_TERM], *chain.from_iterable(map(_parts.__getitem__, pieces)))


_atoms = _Memo(_atom)


def _segment(segment: str) -> tuple[str, ...]:
    """Terms of one path segment or plain word: dotted and kebab compounds whole, then their parts."""
    if segment.isidentifier():  # most have no joint; the same answer as below
        return _atoms[segment]
    pieces = [piece for piece in _JOINT.split(segment) if piece]
    parts = chain.from_iterable(map(_atoms.__getitem__, pieces))
    if pieces == [segment]:
        return tuple(parts)
    folded = _fold(segment)
    whole = (folded,) if len(folded) <= _LONGEST_WHOLE else ()
    version = _VERSION.fullmatch(folded)
    return (*whole, *((version[1],) if version else ()), *parts)


def _compound(text: str) -> tuple[str, ...]:
    """Terms of an identifier that may be a path."""
    if "/" not in text and "\\" not in text:
        return _atom(text) if text.isidentifier() else _segment(text)  # one by itself rarely recurs
    segments = [segment for segment in text.replace("\\", "/").split("/") if segment.strip(".")]
    wholes: list[str] = []
    if len(segments) > 1:
        folded = [_fold(segment) for segment in segments]
        starts = sorted({0, *range(max(0, len(folded) - _MOST_TAILS), len(folded) - 1)})
        wholes = [whole for at in starts if len(whole := "/".join(folded[at:])) <= _LONGEST_WHOLE]
    return (*wholes, *chain.from_iterable(map(_segment, segments)))


def _apostrophe_terms(text: str) -> Iterable[str]:
    """Terms of a run of words joined by apostrophes."""
    # "l'été" is two words, "don't" is one, and "user's" is "user".
    plain = re.sub(r"n't\b", "nt", _CONTRACTION.sub("", text), flags=re.I)
    return chain.from_iterable(map(_compound, plain.split("'")))


@lru_cache(maxsize=1 << 17)
def _word(flag: str, dot: str, text: str) -> tuple[str, ...]:
    """Terms of one word with the dashes or the dot before it. Cached: a name recurs under ever new punctuation."""
    if "'" in text:
        return tuple(_apostrophe_terms(text))
    whole = [flag + _fold(text)[:_LONGEST_TERM]] if flag else []
    if text[-1] in "+#":
        whole.append(_fold(text))
        text = text.rstrip("+#")
    return (*whole, *_compound(dot + text))


def _dense(run: str, singles: bool) -> Iterator[str]:
    if len(run) == 1:
        yield run
        return
    if singles:
        yield from run
    yield from (a + b for a, b in pairwise(run))


def _analyse(chunk: str, singles: bool) -> tuple[str, ...]:
    """Distinct terms of one chunk, in order. ``singles``: also the single characters of dense scripts."""
    bare = chunk.strip(_EDGE).rstrip(".")
    # Nearly all chunks are one of these two; below they would get the same answer.
    if len(bare) <= _LONGEST_STEMMED and bare.isascii() and bare.isalpha() and bare[1:].islower():
        return (stem_word(bare.lower()),)
    if chunk.isascii() and _PLAIN.fullmatch(bare):
        return tuple(dict.fromkeys(_compound(bare)))
    if not chunk.isascii():
        chunk = _MODIFIER.sub("", unicodedata.normalize("NFKC", chunk).replace("\u2019", "'"))
    terms: dict[str, None] = {}
    for match in _SCAN.finditer(chunk):
        if match["word"]:
            found: Iterable[str] = _word(match["flag"] or "", match["dot"] or "", match["word"])
        elif match["dense"]:
            found = _dense(match["dense"], singles)
        else:
            found = (match[0],)
        terms.update(dict.fromkeys(found))
    return tuple(terms)


_document_terms = _Memo(partial(_analyse, singles=True))


def chunk_terms(chunk: str) -> tuple[str, ...]:
    """The distinct terms of one chunk, a piece of a document without white space."""
    return _document_terms[chunk]


def forget_terms() -> None:
    """Give back the memory of what was analysed; it is analysed again when it comes again."""
    for memo in (_parts, _atoms, _document_terms):
        memo.clear()


def document_terms(text: str) -> list[str]:
    """The terms of a document, in order, with repetition. Empty for a text of nothing but ASCII punctuation."""
    return list(chain.from_iterable(map(_document_terms.__getitem__, text.split())))


class TermFinder(dict[str, tuple[str, ...]]):
    """Terms of a text that are among a few wanted ones, in order: a tenth of the time that all its terms take.

    A chunk of ASCII is analysed only when it holds the first letters of a wanted term: stems differ from their words
    further behind, but for the shortest ones ("die" of "dying").
    """

    def __init__(self, wanted: Iterable[str]) -> None:
        super().__init__()
        self._wanted = frozenset(wanted)
        starts = {start for term in self._wanted if term.isascii() and (start := _first_letters(term))}
        self._near = re.compile("|".join(sorted(map(re.escape, starts))), re.I) if starts else None

    def __missing__(self, chunk: str) -> tuple[str, ...]:
        if chunk.isascii() and not (self._near and self._near.search(chunk)):
            found: tuple[str, ...] = ()
        else:
            found = tuple(term for term in _document_terms[chunk] if term in self._wanted)
        self[chunk] = found
        return found

    def find_terms(self, text: str) -> Iterator[str]:
        """Yield the wanted terms of ``text``, with repetition."""
        return chain.from_iterable(map(self.__getitem__, text.split()))


def _first_letters(term: str) -> str:
    """Letters that stand as they are in every word of ``term``; in a term of nothing else all of it."""
    run = _LETTERS_OF_TERM.search(term)
    if run is None:
        return term
    if run[0] in _IRREGULAR:
        return run[0][0]
    return run[0][: 2 if len(run[0]) <= 3 else 3]  # "cry" is "cri"


def query_words(text: str) -> list[tuple[str, tuple[str, ...]]]:
    """Each distinct word of a question as typed, with the terms it asks for (the whole first, then its parts).

    A dense script asks for its bigrams only, and for a single character when there is just one.
    """
    words = {chunk: _analyse(chunk, singles=False) for chunk in text.split()}
    return [(chunk, terms) for chunk, terms in words.items() if terms]


def query_terms(text: str) -> list[str]:
    """The distinct terms a question asks for, in order of appearance."""
    return list(dict.fromkeys(chain.from_iterable(terms for _, terms in query_words(text))))
