"""Prose files into passages: a section a passage, long sections in several, nothing torn that belongs together.

Headings are ATX (``#``, AsciiDoc's ``=``) and underlined ones (setext, reStructuredText with or without overline).
Front matter, tables and fenced code are kept whole however long they are; other text is cut at paragraphs, and a
paragraph too long by itself at lines.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

import msgspec

LONGEST = 1500  # characters, about

_ATX = re.compile(r" {0,3}(#{1,6})(?:\s+(.*?))?(?:\s+#+)?\s*$")
_ADOC = re.compile(r"(={1,6})\s+(\S.*?)\s*$")
_FENCE = re.compile(r"\s{0,3}(`{3,}|~{3,}|-{4,}$|\.{4,}$|={4,}$|\|={3,}$)")
_RULED = re.compile(r"([=\-~^\"'`#*+:._<>])\1{2,}\s*$")
_TABLE = re.compile(r"\s*(\||\+[-=+]+\+\s*$|=+(\s+=+)+\s*$)")


class ProsePassage(msgspec.Struct, frozen=True):
    """Lines ``start`` to ``end`` (from 1, both included) of a file, and the headings above them, outermost first."""

    start: int
    end: int
    trail: tuple[str, ...]
    text: str


class _Heading(msgspec.Struct, frozen=True):
    level: int
    title: str
    lines: int


class _Block(msgspec.Struct, frozen=True):
    """Lines ``start`` to ``stop`` (from 0, the latter not included) that are not to be torn."""

    start: int
    stop: int
    heading: _Heading | None = None
    loose: bool = False


def cut_prose(path: str, text: str) -> list[ProsePassage]:
    """The passages of a file, in order; blank lines between them belong to none."""
    lines = text.splitlines()
    trail: list[tuple[int, str]] = []
    found: list[ProsePassage] = []
    section: list[_Block] = []
    for block in _blocks(lines, PurePosixPath(path).suffix.lower()):
        if block.heading is not None:
            found += _packed(lines, section, trail)
            level = block.heading.level
            trail = [*((depth, title) for depth, title in trail if depth < level), (level, block.heading.title)]
            section = []
        section.append(block)
    return [*found, *_packed(lines, section, trail)]


def _packed(
    lines: Sequence[str], section: Sequence[_Block], trail: Sequence[tuple[int, str]]
) -> Iterator[ProsePassage]:
    """The blocks of one section, joined while they fit. A heading alone says nothing that the trail does not say."""
    if not section or (len(section) == 1 and section[0].heading):
        return
    titles = tuple(title for _, title in trail)
    start, stop = section[0].start, -1
    for block in (piece for whole in section for piece in _cut_long(lines, whole)):
        only_heading = section[0].heading is not None and stop == section[0].stop
        if stop >= 0 and not only_heading and _length(lines, start, block.stop) > LONGEST:
            yield _make_passage(lines, start, stop, titles)
            start = block.start
        stop = block.stop
    yield _make_passage(lines, start, stop, titles)


def _make_passage(lines: Sequence[str], start: int, stop: int, trail: tuple[str, ...]) -> ProsePassage:
    return ProsePassage(start + 1, stop, trail, "\n".join(lines[start:stop]))


def _length(lines: Sequence[str], start: int, stop: int) -> int:
    return sum(len(line) + 1 for line in lines[start:stop])


def _cut_long(lines: Sequence[str], block: _Block) -> Iterator[_Block]:
    """A paragraph that is too long, line by line as far as lines go; anything else as it is."""
    if not block.loose or _length(lines, block.start, block.stop) <= LONGEST:
        yield block
        return
    start, length = block.start, 0
    for at in range(block.start, block.stop):
        if length and length + len(lines[at]) > LONGEST:
            yield _Block(start, at)
            start, length = at, 0
        length += len(lines[at]) + 1
    yield _Block(start, block.stop)


def _blocks(lines: Sequence[str], suffix: str) -> Iterator[_Block]:
    levels: dict[str, int] = {}
    at = _front_matter(lines)
    if at:
        yield _Block(0, at)
    while at < len(lines):
        if not lines[at].strip():
            at += 1
            continue
        heading = _heading(lines, at, suffix, levels)
        block = _Block(at, at + heading.lines, heading) if heading else _body(lines, at, suffix, levels)
        yield block
        at = block.stop


def _front_matter(lines: Sequence[str]) -> int:
    """Number of lines of YAML or TOML before the text."""
    if not lines or lines[0].rstrip() not in ("---", "+++"):
        return 0
    ends = (at + 1 for at, line in enumerate(lines[1:200], 1) if line.rstrip() == lines[0].rstrip())
    return next(ends, 0)


def _heading(lines: Sequence[str], at: int, suffix: str, levels: dict[str, int]) -> _Heading | None:
    """The heading that begins at line ``at``. ``levels`` numbers the styles of underlines in order of appearance."""
    if suffix in (".adoc", ".asciidoc"):
        marked = _ADOC.match(lines[at])
        return _Heading(len(marked[1]), marked[2], 1) if marked else None
    if suffix not in (".rst", ".txt") and (marked := _ATX.match(lines[at])):
        return _Heading(len(marked[1]), marked[2] or "", 1)
    over = suffix == ".rst" and _RULED.match(lines[at]) and lines[at + 2 : at + 3] == [lines[at]]
    if over and lines[at + 1].strip():
        style = lines[at][0] * 2  # an overline makes another style of the same character
        return _Heading(levels.setdefault(style, len(levels) + 1), lines[at + 1].strip(), 3)
    return _underlined(lines, at, suffix, levels)


def _underlined(lines: Sequence[str], at: int, suffix: str, levels: dict[str, int]) -> _Heading | None:
    rule = _RULED.match(lines[at + 1]) if at + 1 < len(lines) else None
    title = lines[at].strip()
    starts_paragraph = at == 0 or not lines[at - 1].strip()
    if rule is None or not starts_paragraph or _TABLE.match(lines[at]) or lines[at].startswith(("    ", "- ", "* ")):
        return None
    if suffix != ".rst" and rule[1] not in "=-":
        return None
    if suffix == ".rst" and len(lines[at + 1].rstrip()) < len(title):
        return None  # reStructuredText wants the line at least as long
    if suffix == ".rst":
        return _Heading(levels.setdefault(rule[1], len(levels) + 1), title, 2)
    return _Heading(1 if rule[1] == "=" else 2, title, 2)


def _body(lines: Sequence[str], at: int, suffix: str, levels: dict[str, int]) -> _Block:
    """The fence, table or paragraph that begins at line ``at``."""
    fence = _FENCE.match(lines[at])
    if fence and (suffix.startswith(".a") or fence[1][0] in "`~"):
        return _Block(at, _fence_end(lines, at, fence[1]))
    if _TABLE.match(lines[at]):
        stop = at
        while stop < len(lines) and lines[stop].strip():
            stop += 1
        return _Block(at, stop)
    stop = at + 1
    while stop < len(lines) and lines[stop].strip() and not _FENCE.match(lines[stop]):
        if _heading(lines, stop, suffix, dict(levels)):
            break
        stop += 1
    return _Block(at, stop, loose=True)


def _fence_end(lines: Sequence[str], at: int, mark: str) -> int:
    """The line after the one that closes a fence; an open fence ends with the file."""
    for stop in range(at + 1, len(lines)):
        closing = lines[stop].strip()
        if closing.startswith(mark) and not closing.strip(mark[0] + "="):
            return stop + 1
    return len(lines)
