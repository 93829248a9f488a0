"""A kind of secret, the two ways most kinds find theirs, and the first look that tells which kinds a text can hold.

Most kinds are found by a pattern, or by a prefix and a long body.

A kind names cheap literal hints: a text without any of them is never searched. Text may be JSON-escaped once or
more, so a secret may follow ``\n`` as well as a real line break; a finding never includes a character of the escape.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache, lru_cache
from operator import add

import msgspec

from rekal.plain_text import lazy_pattern

Span = tuple[int, int]
Check = Callable[[str], bool]
# Called with the text and with where to look for hints in it.
Finder = Callable[[str, "Hay"], Iterator[Span]]

# A short prefix counts at the start of a word only: after a separator, an escaped control character, a terminal
# colour, a percent-encoded byte or the minus of a diff.
START = r"(?:(?<![A-Za-z0-9_\-])|(?m:(?<=^-))|(?<=\\n-)|(?<=\\[nrtbf])|(?<=\[\dm)|(?<=\d\dm)|(?<=%[0-9A-Fa-f]{2}))"

# A line break inside a token that a terminal, a mail program or a diff wrapped.
_WRAP = lazy_pattern(r"[ \t]*(?:\r?\n|(?:\\+r)?\\+n)(?:\+|-(?=[ \t]*[A-Za-z0-9]))?[ \t]*")
_MAX_WRAPS = 12
_MIN_WRAPPED_PART = 4
_LONG_PART = 16

# Documentation ends its sample keys so.
_SAMPLE = "EXAMPLE"

compile_once = cache(re.compile)


# Parts that several hints share: without the part none of them needs to be looked for.
_SHARED = ("key", "pass", "auth", "secret", "hook", "token", " -", "sk-")


def shared_part(hint: str) -> str:
    """The part of ``hint`` that a text is searched for first: a shared one, or the whole hint."""
    return next((shared for shared in _SHARED if shared in hint), hint)


class Hay:
    """The text in which hints are looked for: the whole text in lower case, or some pieces of it.

    ``text`` is what is searched, ``whole`` the whole text with one ``?`` for every character that is not ASCII. With
    pieces, ``text`` joins them, ``joints`` says where each begins in ``text`` and ``shifts`` how far each was moved.
    ``absent`` are hints known to stand nowhere. ``hexes`` are the spans of runs of 32 or more hexadecimal characters
    and dashes, which the pieces leave out.
    """

    __slots__ = ("_joints", "_shifts", "absent", "hexes", "text", "whole")

    def __init__(
        self,
        text: str,
        whole: str,
        joints: Sequence[int] = (),
        shifts: Sequence[int] = (),
        absent: Collection[str] = (),
    ) -> None:
        self.text = text
        self.whole = whole
        self.absent = absent
        self.hexes: list[Span] = []
        self._joints = joints
        self._shifts = shifts

    def positions(self, hints: Iterable[str]) -> Iterator[int]:
        """Yield the positions of ``hints`` in the whole text, hint by hint."""
        find = self.text.find
        for hint in hints:
            if hint in self.absent:
                continue
            at = find(hint)
            while at >= 0:
                yield at + self._shifts[bisect_right(self._joints, at) - 1] if self._joints else at
                at = find(hint, at + 1)


class Kind(msgspec.Struct, frozen=True):
    """One kind of secret. Every text that holds such a secret holds one of the ``hints``.

    Hints are lower case and looked for whatever the case, unless ``in_run``: then the secret is a token, the hint
    stands, in its own case, in or at most 16 characters before a run of 16 or more letters, digits, ``_`` and ``-``,
    and it is looked for there only. ``by_prefix`` tells the kinds whose secret a prefix gives away.
    """

    name: str
    hints: tuple[str, ...]
    find: Finder
    in_run: bool = False
    by_prefix: bool = False


def by_pattern(
    name: str,
    pattern: str,
    hints: tuple[str, ...],
    *,
    check: Check | None = None,
    in_run: bool = False,
    back: int = 0,
) -> Kind:
    """A kind whose secret is the group ``secret`` of ``pattern`` (the whole match without one).

    ``pattern`` is tried only where a hint stands, because literals are found faster than patterns. The secret begins
    ``back`` characters before its match.
    """

    def find(text: str, hay: Hay) -> Iterator[Span]:
        regex = compile_once(pattern)
        group: str | int = "secret" if "secret" in regex.groupindex else 0
        for at in hay.positions(hints):
            match = regex.match(text, at)
            if match and (check is None or check(match[group])):
                start, end = match.span(group)
                yield start - back, end

    return Kind(name, hints, find, in_run)


def by_prefix(
    name: str,
    prefix: str,
    hints: tuple[str, ...],
    *,
    least: int,
    body: str = r"[A-Za-z0-9_\-]",
    check: Check | None = None,
    anywhere: bool = False,
) -> Kind:
    """A kind with a telling ``prefix`` (a pattern) and at least ``least`` characters of the class ``body`` after it.

    The token may be wrapped over several lines; each line's part is then a finding of its own. Tokens glued to each
    other are all found. ``anywhere`` prefixes count even in the middle of a word.
    """

    longest = max(map(len, hints))

    def find(text: str, hay: Hay) -> Iterator[Span]:
        head = compile_once(f"{'' if anywhere else START}(?P<prefix>{prefix}){body}*")
        part = compile_once(f"{body}+")
        begun = done = 0
        for at in hay.positions(hints):
            # A prefix within the last token ends with it: trying them all would cost the square of the token's length.
            if begun <= at <= done - longest:
                continue
            match = head.match(text, at)
            if match is None:
                continue
            begun, done = match.span()
            parts = _token_parts(text, match, part, least)
            token = "".join(text[start:end] for start, end in parts)
            size = len(token) - len(match["prefix"])
            if size >= least and len(set(token)) > 6 and _SAMPLE not in token and (check is None or check(token)):
                yield from parts

    return Kind(name, hints, find, in_run=True, by_prefix=True)


def _token_parts(text: str, match: re.Match[str], part: re.Pattern[str], least: int) -> list[Span]:
    """The spans of one token: more than one when it goes on after a line break."""
    parts = [match.span()]
    size = match.end() - match.end("prefix")
    for _ in range(_MAX_WRAPS):
        wrap = _WRAP.match(text, parts[-1][1])
        more = part.match(text, wrap.end()) if wrap else None
        if more is None:
            break
        length = len(more[0])
        missing = size < least and length >= min(_MIN_WRAPPED_PART, least - size)
        if not missing and not _goes_on(parts, more[0]):
            break
        parts.append(more.span())
        size += length
    return parts


_DIGIT = lazy_pattern(r"[0-9]")
_SEPARATORS = lazy_pattern(r"[_\-.=]")
# Identifiers of more letters than this without a break stand in no real code of the recordings.
_LONGEST_WORD = 28
_SMALL = lazy_pattern(r"[a-z]")
_CAPITAL = lazy_pattern(r"[A-Z]")


def _goes_on(parts: list[Span], more: str) -> bool:
    """True if ``more`` on the next line belongs to a token that is long enough without it.

    A long part with digits does; so does a shorter rest after two lines of the same width.
    """
    widths = [end - start for start, end in parts[-2:]]
    if len(more) >= _LONG_PART:
        return widths[-1] == len(more) or (has_digit(more) and not (more.isdigit() or more.isupper()))
    return len(widths) == 2 and widths[0] == widths[1] >= _LONG_PART and has_digit(more)


def looks_mixed(text: str) -> bool:
    """True if ``text`` has a digit, a small and a capital letter, as generated tokens do and words do not."""
    return bool(_DIGIT.search(text) and _SMALL.search(text) and _CAPITAL.search(text))


def looks_drawn(token: str) -> bool:
    """True if ``token`` has a digit, or a part without separators that is longer than any word."""
    return has_digit(token) or max(map(len, _SEPARATORS.split(token))) >= _LONGEST_WORD


def has_digit(text: str) -> bool:
    """True if ``text`` has a digit."""
    return _DIGIT.search(text) is not None


# A first look at a text that tells which kinds it can hold, without a search for every kind.
#
# Most kinds are tokens, so their hints are looked for only in the runs of 16 or more token characters and the 16
# characters before each. The runs are found by translating the text to two symbols and searching sixteen equal ones in
# a row, which skips sixteen characters at a time. Runs of letters alone are words or identifiers, hexadecimal ones are
# hashes and UUIDs: both are left out.

_RUN = b"a" * 16
_LEAD = 16
# Characters of runs up to which looking at all of their pairs is faster than looking for all hints.
_MANY = 160
# Shorter hexadecimal runs are short hashes and parts of UUIDs.
_LEAST_HEX = 32
_TOKEN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
_CLASSES = bytes(ord("a" if chr(code) in _TOKEN else " ") for code in range(256))
_WORD = "abcdefghijklmnopqrstuvwxyz_-"
_HEX = "0123456789abcdef-"
# Shorter runs of letters in both cases alone are identifiers: one token in 500 of this length has no digit.
_IDENTIFIER = 36


class Prefilter:
    """The hints of ``kinds``, each looked for once however many kinds share it."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self._kinds = kinds
        self._in_text = _by_part(kinds, in_run=False)
        self._by_sign = _by_sign(self._in_text)
        self._in_run = _by_part(kinds, in_run=True)
        self._by_pair = _by_pair(self._in_run)
        # Texts are many and what is in them repeats.
        self._with_parts = lru_cache(maxsize=1024)(self._kinds_with)

    def candidates(self, ascii_text: str, low: str) -> tuple[list[tuple[Kind, Hay]], bool]:
        """Return (kinds, runs): the kinds to search for, each with where to look for its hints; and if there are runs.

        ``ascii_text`` is the text with one ``?`` for any other character, ``low`` the same in lower case.
        """
        in_text = [part for sign, parts in self._by_sign if sign in low for part in parts if part in low]
        runs = long_runs(ascii_text)
        in_run = self._parts_in_runs(runs.text) if runs else []
        if not in_text and not in_run:
            return [], runs is not None
        kinds, absent, absent_in_runs = self._with_parts(tuple(in_text), tuple(in_run))
        text = Hay(low, ascii_text, absent=absent)
        if runs is None:
            return [(kind, text) for kind in kinds], False
        runs.absent = absent_in_runs
        return [(kind, runs if kind.in_run else text) for kind in kinds], True

    def _parts_in_runs(self, runs: str) -> list[str]:
        """The parts of hints that stand in ``runs``, in one order."""
        if len(runs) > _MANY:
            return [part for part in self._in_run if part in runs]
        # An identifier has forty pairs of characters, and there are two hundred parts.
        pairs = self._by_pair.keys() & {"", *map(add, runs, runs[1:])}
        return sorted(part for pair in pairs for part in self._by_pair[pair] if part in runs)

    def _kinds_with(
        self, in_text: tuple[str, ...], in_run: tuple[str, ...]
    ) -> tuple[tuple[Kind, ...], frozenset[str], frozenset[str]]:
        """The kinds with a hint among the parts found, and the parts that were not."""
        ranks = {rank for part in in_text for rank in self._in_text[part]}
        ranks |= {rank for part in in_run for rank in self._in_run[part]}
        kinds = tuple(self._kinds[rank] for rank in sorted(ranks))
        return kinds, frozenset(self._in_text.keys() - in_text), frozenset(self._in_run.keys() - in_run)


def _by_part(kinds: Sequence[Kind], *, in_run: bool) -> dict[str, set[int]]:
    """Ranks of the kinds to search for, by the part of their hints (often the whole hint) that is in a text."""
    ranks: dict[str, set[int]] = {}
    for rank, kind in enumerate(kinds):
        if kind.in_run == in_run:
            for hint in kind.hints:
                ranks.setdefault(shared_part(hint), set()).add(rank)
    return ranks


def _by_pair(parts: Iterable[str]) -> dict[str, list[str]]:
    """``parts`` by two characters in a row that each has; those shorter than two under the empty string."""
    pairs: dict[str, list[str]] = {}
    for part in parts:
        pairs.setdefault(part[-2:] if len(part) > 1 else "", []).append(part)
    return pairs


# Rarest first. One character is found eight times faster than two or more.
_SIGNS = "<?=:-"


def _by_sign(parts: Iterable[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """``parts`` by a sign that all of a group have; the group without one comes first, under the empty string."""
    groups: dict[str, list[str]] = {"": []}
    for part in parts:
        groups.setdefault(next((sign for sign in _SIGNS if sign in part), ""), []).append(part)
    return tuple((sign, tuple(group)) for sign, group in groups.items())


def long_runs(text: str) -> Hay | None:
    """The runs of 16 or more token characters of an ASCII text, each with what stands just before it, if any."""
    classes = text.encode("ascii").translate(_CLASSES)
    find = classes.find
    start = find(_RUN)
    pieces = []
    joints = []
    shifts = []
    hexes = []
    size = 0
    while start >= 0:
        end = find(b" ", start + 16)
        if end < 0:
            end = len(text)
        run = text[start:end]
        short_word = run.isalpha() and len(run) < _IDENTIFIER and not run.isupper()
        if not short_word and run.strip(_WORD) and run.strip(_HEX):
            begin = max(0, start - _LEAD)
            pieces.append(text[begin:end])
            joints.append(size)
            shifts.append(begin - size)
            size += end - begin + 1
        elif end - start >= _LEAST_HEX and not run.strip(_HEX):
            hexes.append((start, end))
        start = find(_RUN, end)
    if not pieces and not hexes:
        return None
    hay = Hay("\n".join(pieces), text, joints, shifts)
    hay.hexes = hexes
    return hay
