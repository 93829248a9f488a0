"""Other readings of a text: decoded, or with what splits a token taken out, each with the way back to the text.

A secret may stand in a text as base64, hexadecimal, percent-encoded or escaped, with invisible characters inside, or as
two strings that a program joins. A reading is made only around the signs of such a spelling, so that plain text costs
a few searches for a literal.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator

import msgspec

from rekal.plain_text import lazy_pattern
from rekal.scrub.secrets.kind import Hay, Span

# Characters of context on both sides of a sign: names of secrets, and nearly all secrets, are shorter.
_AROUND = 240
_MOST_DECODED = 1 << 20

_INVISIBLE = lazy_pattern("[\u00ad\u180e\u200b-\u200f\u2060-\u2064\ufeff]+")
# Looked for one by one, which takes a third of the time that the class takes.
_COMMON_INVISIBLE = ("\u200b", "\u200c", "\u200d", "\u2060", "\ufeff", "\u00ad", "\u200e")
_JOINT = lazy_pattern(
    r"""(?P<quote>["'`])[ \t]*(?:\+|\.{1,2}|&|\\)?[ \t]*(?:(?:\r?\n|\\+n)[ \t+]*)?(?:\+[ \t]*)?\\*(?P=quote)"""
    r"(?=[A-Za-z0-9_\-/+=])"
)
_LINE_END = lazy_pattern(r"\\\r?\n[ \t]*(?=[A-Za-z0-9_\-])")
_ESCAPED = lazy_pattern(r"(?:\\+u00[2-7][0-9a-fA-F]|\\+x[2-7][0-9a-fA-F])")
_ESCAPES = lazy_pattern(r"(?:\\+u00[2-7][0-9a-fA-F]|\\+x[2-7][0-9a-fA-F]){4,}")
_PERCENT = lazy_pattern(r"%[2-7][0-9A-Fa-f]")
_URL = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.~%+&=;:/?!*"
_TOKEN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-.+/="
# A token is cut so that both sides still look like one; two quoted words in a row are a list.
_SIDE = 6

_BASE64 = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-+/"
_BASE64_CLASSES = bytes(ord("a" if chr(code) in _BASE64 else " ") for code in range(256))
_BASE64_RUN = b"a" * 24
# Every fourth character begins a byte, and printable bytes begin with one of these: few words do at all four places.
_PRINTABLE_START = lazy_pattern(r"[CDI-Za-f](?:...[CDI-Za-f]){3}")
_NEXT_LINE = lazy_pattern(r"(?:\r?\n|\\+n)[ \t]*(?=[A-Za-z0-9+/])")
_TO_STANDARD = str.maketrans("-_", "+/")
_PRINTABLE = frozenset([*range(32, 127), 9, 10, 13])


class View(msgspec.Struct, frozen=True):
    """Another reading of part of a text.

    ``spans`` has for each character of ``text`` where it stands in the original; with ``whole`` a finding anywhere in
    the reading takes all of it, because a part of an encoded text cannot be told from the rest.
    """

    text: str
    spans: tuple[Span, ...]
    whole: bool = False

    def places_of(self, start: int, end: int) -> Iterator[Span]:
        """The places in the original of a finding in the reading, one for each stretch without a gap."""
        spans = self.spans if self.whole else self.spans[start:end]
        begin, done = spans[0]
        for left, right in spans[1:]:
            if left != done:
                yield begin, done
                begin = left
            done = right
        yield begin, done


def read_views(text: str, ascii_text: str, runs: bool) -> Iterator[View]:
    """All other readings of ``text``.

    ``ascii_text`` is it with one ``?`` for each character that is not ASCII. ``runs`` tells if it has runs of token
    characters: a token that is cut in two has one half at least that long, and so has base64.
    """
    if "%" in text:
        yield from _percent_decoded(text)
    if "\\" in text and ("\\u00" in text or "\\x" in text):
        yield from _unescaped(text)
    if runs:
        joints = _find_joints(text)
        if joints:
            yield from _views_without(text, joints)
        yield from _base64_decoded(text, ascii_text)


def _find_joints(text: str) -> list[Span]:
    """Places inside tokens that hide them: invisible characters, joined strings, continued lines."""
    found: list[Span] = []
    if not text.isascii() and any(sign in text for sign in _COMMON_INVISIBLE):
        found.extend(match.span() for match in _INVISIBLE.finditer(text))
    if '"' in text or "'" in text or "`" in text:
        for match in _JOINT.finditer(text):
            start = match.start()
            # An escaped quote has its backslashes before it.
            while start and text[start - 1] == "\\":
                start -= 1
            found.append((start, match.end()))
    if "\\\n" in text or "\\\r\n" in text:
        found.extend(match.span() for match in _LINE_END.finditer(text))
    return sorted(joint for joint in found if _is_inside_token(text, *joint))


def _is_inside_token(text: str, start: int, end: int) -> bool:
    before, after = text[max(0, start - _SIDE) : start], text[end : end + _SIDE]
    return len(before) == len(after) == _SIDE and not (before + after).strip(_TOKEN)


def _views_without(text: str, joints: list[Span]) -> Iterator[View]:
    """Readings without ``joints``, each around a group of those that stand near each other."""
    group: list[Span] = []
    for joint in joints:
        if group and joint[0] - group[-1][1] > _AROUND:
            yield _join_pieces(text, group)
            group = []
        group.append(joint)
    yield _join_pieces(text, group)


def _join_pieces(text: str, group: list[Span]) -> View:
    start, stop = max(0, group[0][0] - _AROUND), min(len(text), group[-1][1] + _AROUND)
    pieces: list[str] = []
    spans: list[Span] = []
    for left, right in (*group, (stop, stop)):
        if left >= start:
            pieces.append(text[start:left])
            spans.extend(zip(range(start, left), range(start + 1, left + 1), strict=True))
        start = max(start, right)
    return View("".join(pieces), tuple(spans))


def _percent_decoded(text: str) -> Iterator[View]:
    done = 0
    for match in _PERCENT.finditer(text):
        if match.start() < done:
            continue
        before, after = text[max(done, match.start() - _AROUND) : match.start()], text[match.end() : match.end() + 1024]
        start = match.start() - (len(before) - len(before.rstrip(_URL)))
        done = match.end() + len(after) - len(after.lstrip(_URL))
        yield _decode_stretch(text, start, done, _PERCENT)


def _unescaped(text: str) -> Iterator[View]:
    done = 0
    for match in _ESCAPES.finditer(text):
        if match.start() < done:
            continue
        start, done = max(done, match.start() - _AROUND), min(len(text), match.end() + _AROUND)
        yield _decode_stretch(text, start, done, _ESCAPED)


def _decode_stretch(text: str, start: int, end: int, sign: re.Pattern[str]) -> View:
    """The stretch from ``start`` to ``end`` with every ``sign``, which ends in two hexadecimal digits, decoded."""
    chars: list[str] = []
    spans: list[Span] = []
    at = start
    for match in sign.finditer(text, start, end):
        chars.extend(text[at : match.start()])
        spans.extend(zip(range(at, match.start()), range(at + 1, match.start() + 1), strict=True))
        chars.append(chr(int(match[0][-2:], 16)))
        spans.append(match.span())
        at = match.end()
    chars.extend(text[at:end])
    spans.extend(zip(range(at, end), range(at + 1, end + 1), strict=True))
    return View("".join(chars), tuple(spans))


def _base64_decoded(text: str, ascii_text: str) -> Iterator[View]:
    classes = ascii_text.encode("ascii").translate(_BASE64_CLASSES)
    at = classes.find(_BASE64_RUN)
    while at >= 0:
        end = classes.find(b" ", at + len(_BASE64_RUN))
        end = len(text) if end < 0 else end
        spans = [(at, end)]
        # The first bytes tell text from data and from words: nothing else is decoded whole.
        if _PRINTABLE_START.match(ascii_text, at) and _decode(ascii_text[at : at + 16]):
            spans.extend(_lines_after(text, classes, at, end))
            end = spans[-1][1]
            body = "".join(text[left:right] for left, right in spans)
            read = _decode(body) if len(body) <= _MOST_DECODED else None
            if read:
                # The signs of equality at the end belong to it.
                spans[-1] = (spans[-1][0], end + text[end : end + 2].count("="))
                yield View(read, tuple(spans), whole=True)
        at = classes.find(_BASE64_RUN, end)


def _lines_after(text: str, classes: bytes, start: int, end: int) -> Iterator[Span]:
    """The lines that go on after a line of base64: all of one width but the last."""
    width = end - start
    while (line := _NEXT_LINE.match(text, end)) and end - start == width:
        start = line.end()
        end = classes.find(b" ", start)
        end = len(text) if end < 0 else end
        if end - start > width:
            return
        yield start, end


def _decode(body: str) -> str | None:
    """The text that ``body`` is as base64 of either alphabet; None if it is none."""
    body = body.translate(_TO_STANDARD)
    body = body[: len(body) // 4 * 4 + (0 if len(body) % 4 == 1 else len(body) % 4)]
    try:
        raw = base64.b64decode(body + "=" * (-len(body) % 4))
    except (binascii.Error, ValueError):
        return None
    return raw.decode("ascii") if raw and _PRINTABLE.issuperset(raw) else None


def read_hexadecimal(text: str, hay: Hay) -> Iterator[View]:
    """Readings of the runs of hexadecimal digits that are text."""
    for start, end in hay.hexes:
        run = text[start:end]
        run = run[: len(run) // 2 * 2]
        try:
            raw = bytes.fromhex(run)
        except ValueError:  # dashes
            continue
        if _PRINTABLE.issuperset(raw):
            yield View(raw.decode("ascii"), ((start, end),), whole=True)
