"""A kind of secret, and the two ways most kinds find theirs: a pattern, or a prefix and a long body.

A kind names cheap literal hints: a text without any of them is never searched. Text may be JSON-escaped once or
more, so a secret may follow ``\\n`` as well as a real line break; a finding never includes a character of the escape.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from functools import cache

import msgspec

from rekal.scrub.regex import Regex

Span = tuple[int, int]
Check = Callable[[str], bool]
# Called with the text and with where to look for hints in it.
Finder = Callable[[str, "Hay"], Iterator[Span]]

# A short prefix counts at the start of a word only: after a separator, an escaped control character, a terminal
# colour, a percent-encoded byte or the minus of a diff.
START = r"(?:(?<![A-Za-z0-9_\-])|(?m:(?<=^-))|(?<=\\n-)|(?<=\\[nrtbf])|(?<=\[\dm)|(?<=\d\dm)|(?<=%[0-9A-Fa-f]{2}))"

# A line break inside a token that a terminal, a mail program or a diff wrapped.
_WRAP = Regex(r"[ \t]*(?:\r?\n|(?:\\+r)?\\+n)(?:\+|-(?=[ \t]*[A-Za-z0-9]))?[ \t]*")
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


_DIGIT = Regex(r"[0-9]")
_SEPARATORS = Regex(r"[_\-.=]")
# Identifiers of more letters than this without a break stand in no real code of the recordings.
_LONGEST_WORD = 28
_SMALL = Regex(r"[a-z]")
_CAPITAL = Regex(r"[A-Z]")


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
