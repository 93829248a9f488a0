"""Matchers: what a ruled-out approach or the opposite of a decision looks like in a text, a command, a changed line.

The agent that makes a rule writes them when it makes it, since it then has the reason at hand. A pattern is a regular
expression, matched without regard to case. Patterns of teammates are run on this machine, so one that can take time
exponential in its text is refused.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Sequence

# The parser of `re` has no public name; it is used only to refuse patterns, and its absence would fail every test.
from re import _constants as op  # type: ignore[attr-defined]
from re import _parser  # type: ignore[attr-defined]
from typing import Any

import msgspec

from rekal.errors import UsageError

MOST_PATTERNS = 64
LONGEST_PATTERN = 2000  # characters
LONGEST_LINE = 2000  # characters of one line that patterns are tried on
_MOST_REPEATS = 1000


class Matcher(msgspec.Struct, frozen=True, omit_defaults=True):
    """Patterns of one memory.

    ``code`` are imports, commands, dependencies, identifiers; ``words`` names and descriptions of the approach.
    ``need`` must stand beside them for certainty, ``unless`` names the alternative. ``except_paths`` are globs of files
    that are exempt. ``hits`` and ``misses`` are the writer's proposals that they must hit and must leave alone.
    """

    code: tuple[str, ...] = ()
    words: tuple[str, ...] = ()
    need: tuple[str, ...] = ()
    unless: tuple[str, ...] = ()
    except_paths: tuple[str, ...] = ()
    hits: tuple[str, ...] = ()
    misses: tuple[str, ...] = ()

    def __bool__(self) -> bool:
        return bool(self.code or self.words)


class Example(msgspec.Struct, frozen=True):
    """A proposal with what its writer expects: ``violation`` or not. ``right``: the matcher said so."""

    text: str
    violation: bool
    right: bool
    reason: str


FEWEST_EXAMPLES = 2
"""Proposals of each kind that patterns are tried on before a person accepts them."""


def missing_examples(matcher: Matcher) -> str:
    """Words for the examples that a matcher lacks; empty when it has enough."""
    lacks = (FEWEST_EXAMPLES - len(matcher.hits), FEWEST_EXAMPLES - len(matcher.misses))
    kinds = ("that the patterns must hit (--hits)", "that come near and are fine (--misses)")
    return " and ".join(f"{count} {kind}" for count, kind in zip(lacks, kinds, strict=True) if count > 0)


def matcher_from(when: Sequence[str], words: Sequence[str], need: Sequence[str], unless: Sequence[str]) -> Matcher:
    """The matcher of a call's options. In ``unless`` what looks like a path or a glob exempts files.

    Raises :class:`UsageError` for a pattern that is none, or that could run for ever.
    """
    paths = tuple(one for one in unless if _is_glob(one))
    made = Matcher(
        tuple(map(check_pattern, when)),
        tuple(map(check_pattern, words)),
        tuple(map(check_pattern, need)),
        tuple(check_pattern(one) for one in unless if not _is_glob(one)),
        paths,
    )
    if sum(map(len, (made.code, made.words, made.need, made.unless, made.except_paths))) > MOST_PATTERNS:
        raise UsageError("there are too many patterns", f"a memory may have {MOST_PATTERNS}")
    return made


def _is_glob(text: str) -> bool:
    return "**" in text or (text.endswith("/") and " " not in text) or bool(re.fullmatch(r"[\w./-]*\*\.\w+", text))


def check_pattern(pattern: str) -> str:
    """The pattern, if it may be stored. Raises :class:`UsageError`."""
    if problem := _problem(pattern):
        raise UsageError(f"{pattern[:80]!r} {problem}", "write a simpler regular expression")
    return pattern


def _problem(pattern: str) -> str:
    """Why a pattern cannot be used, as the end of a sentence; empty when it can."""
    if not pattern.strip():
        return "is empty"
    if len(pattern) > LONGEST_PATTERN:
        return f"is longer than {LONGEST_PATTERN} characters"
    try:
        tree = _parser.parse(pattern, re.IGNORECASE)
        compiled = re.compile(pattern, re.IGNORECASE)
    except (re.error, RecursionError, OverflowError) as error:
        return f"is not a regular expression ({error})"
    if compiled.search("") is not None:
        return "matches every text"
    return "can take for ever" if _explodes(tree, inside=False) else ""


def _explodes(tree: Iterable[Any], *, inside: bool) -> bool:
    """True if an unbounded repeat holds a choice of ways to match: what makes Python's engine exponential."""
    for code, value in tree:
        if code in (op.MAX_REPEAT, op.MIN_REPEAT):
            least, most, body = value
            variable = least != most
            many = variable and (most is op.MAXREPEAT or most > _MOST_REPEATS)
            if (variable and inside) or _explodes(body, inside=inside or many):
                return True
        elif code is op.BRANCH:
            if (inside and not _begin_apart(value[1])) or any(_explodes(one, inside=inside) for one in value[1]):
                return True
        elif code in (op.SUBPATTERN, op.ASSERT, op.ASSERT_NOT):
            if _explodes(value[-1], inside=inside):
                return True
        elif code is op.GROUPREF and inside:
            return True
    return False


def _begin_apart(branches: Sequence[Sequence[Any]]) -> bool:
    """True if the first character tells which of the alternatives it must be."""
    firsts = [branch[0] if len(branch) else None for branch in branches]
    letters = {first[1] for first in firsts if first is not None and first[0] is op.LITERAL}
    return len(letters) == len(branches)


@functools.lru_cache(maxsize=4096)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """None for a pattern that would not have been accepted here: a teammate's version may allow others."""
    return None if _problem(pattern) else re.compile(pattern, re.IGNORECASE)


class Span(msgspec.Struct, frozen=True):
    """A stretch of a text, in characters, the end excluded."""

    start: int
    stop: int


def find_spans(patterns: Iterable[str], text: str) -> list[Span]:
    """Places at which any of ``patterns`` stands in ``text``, by pattern, then place."""
    found = []
    for pattern in patterns:
        if expression := _compiled(pattern):
            found += [Span(*match.span()) for match in expression.finditer(text) if match.end() > match.start()]
    return found


def any_match(patterns: Iterable[str], text: str) -> bool:
    """True if any of ``patterns`` stands in ``text``."""
    return any(expression.search(text) for pattern in patterns if (expression := _compiled(pattern)))


def short_lines(text: str) -> str:
    """``text`` with its lines cut to the length that patterns may be tried on."""
    return "\n".join(line[:LONGEST_LINE] for line in text.splitlines())
