"""The user's settings for scrubbing, checked once, and patterns that came with the checkout, under a limit of time."""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from rekal.scrub.secrets.kind import Span

EmailRule = Literal["keep", "redact", "pseudonym"]
IpRule = Literal["keep", "redact"]
OutputRule = Literal["none", "errors"]


class Rules(msgspec.Struct, frozen=True):
    """The settings by which one store is scrubbed.

    ``homes`` are the user's own home directories, absolute, in any platform's spelling; ``username`` also names the
    homes that are not listed (``/home/<username>``, ``C:\\Users\\<username>``...). ``salt`` makes pseudonyms differ
    from store to store.

    ``email`` decides about addresses in text: ``redact`` (the default: transcripts quote addresses of people who
    never agreed to be stored), ``pseudonym`` (a stable, salted stand-in) or ``keep``. Addresses that belong to no
    person (``noreply@``, ``git@host``, ``example.org``) always stay. ``ip`` decides about public IPv4 addresses; the
    default is ``keep`` because four-part version numbers look exactly like them. ``custom`` holds regular expressions
    of further secrets (the group ``secret`` when there is one, else the whole match); ``shared`` holds more that
    came with the checkout and run with a limit of time; ``allow`` holds regular expressions: a found value that one of
    them matches in full is left alone. ``tool_output`` says whether the
    excerpt of a failed call is kept.
    """

    homes: tuple[str, ...] = ()
    username: str = ""
    salt: str = ""
    email: EmailRule = "redact"
    ip: IpRule = "keep"
    custom: tuple[str, ...] = ()
    shared: tuple[str, ...] = ()
    allow: tuple[str, ...] = ()
    tool_output: OutputRule = "errors"


# Patterns that came with the checkout: a broken one or a slow one costs itself, not the capture.
#
# ``re`` cannot be stopped, and a short line is long enough for a pattern that tries every way to divide it. So these
# run in the ``regex`` library, which stops when its time is over. Measured: usual patterns take at most 10 ms a
# megabyte.

_ALLOWANCE = 1.0  # seconds of one pattern in one process
_A_CHARACTER = 0.2e-6  # seconds more, twenty times what the usual ones take
# Compiling writes each repetition of a single character out: a million of them take 0.4 s, and they nest.
_HIGH_COUNT = r"\{[^}]*\d{5}"


class TimedPattern:
    """One pattern, which finds nothing more once its time is used up. ValueError when it does not compile."""

    def __init__(self, pattern: str, tell_slow: Callable[[str], None]) -> None:
        import regex  # 16 ms that only a shared file with patterns costs

        if re.search(_HIGH_COUNT, pattern):
            raise ValueError("it counts too far")
        try:
            self._compiled = regex.compile(pattern)
        except (regex.error, RecursionError, OverflowError, MemoryError, IndexError, KeyError) as error:
            raise ValueError(str(error) or "it nests too deep") from None
        self.pattern = pattern
        self._group: str | int = "secret" if "secret" in self._compiled.groupindex else 0
        self._tell_slow = tell_slow
        self._left = _ALLOWANCE
        self._is_slow = False

    def find_spans(self, text: str) -> list[Span]:
        """Return the places of the secrets in ``text``."""
        if self._is_slow:
            return []
        self._left += len(text) * _A_CHARACTER
        start = time.process_time()
        found: list[Span] = []
        try:
            matches = self._compiled.finditer(text, timeout=max(self._left, 0.001))
            found.extend(match.span(self._group) for match in matches)
        except TimeoutError:
            self._is_slow = True
            self._tell_slow(self.pattern)
        self._left -= time.process_time() - start
        return found


def find_broken_patterns(patterns: Iterable[str]) -> dict[str, str]:
    """Return those of ``patterns`` that are no regular expressions, with the reasons."""
    broken = {}
    for pattern in patterns:
        try:
            TimedPattern(pattern, lambda _: None)
        except ValueError as error:
            broken[pattern] = str(error)
    return broken
