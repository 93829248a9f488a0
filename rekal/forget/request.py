"""A request to forget: by id, text, pattern or path, and its targets in the ledger."""

from __future__ import annotations

import re

import msgspec

from rekal.errors import UsageError
from rekal.store import forget_targets
from rekal.store.forget_targets import Match


class ForgetRequest(msgspec.Struct, frozen=True):
    """Everything that one command asks to forget.

    ``names`` are sessions, ``SESSION#TURN`` or memories; all parts add up.
    """

    names: tuple[str, ...] = ()
    texts: tuple[str, ...] = ()
    patterns: tuple[str, ...] = ()
    paths: tuple[str, ...] = ()

    @property
    def kinds(self) -> str:
        """The ways by which it names things: the reason in the tombstones, which travel and must not repeat words."""
        turns = any("#" in name for name in self.names)
        ids = any("#" not in name for name in self.names)
        given = {"id": ids, "turn": turns, "text": self.texts, "pattern": self.patterns, "path": self.paths}
        return ", ".join(word for word, there in given.items() if there)

    def matches(self, found: set[str] | None = None) -> Match:
        """Return a test: does a text have one of the texts, patterns or paths? Raises :class:`UsageError`.

        ``found`` gets what the patterns matched.
        """
        tests = [
            *map(_match_text, self.texts),
            *(_match_pattern(pattern, found) for pattern in self.patterns),
            *map(forget_targets.match_path, self.paths),
        ]
        return lambda text: any(test(text) for test in tests)


def _match_text(part: str) -> Match:
    if not part.strip():
        raise UsageError("an empty text is in everything", "give the text to forget")
    return lambda text: part in text


def _match_pattern(pattern: str, found: set[str] | None = None) -> Match:
    try:
        regex = re.compile(pattern)
    except re.error as error:
        raise UsageError(f"{pattern} is not a regular expression ({error})", "see Python's `re`") from None
    if regex.search(""):
        # `x*` would forget the whole store.
        raise UsageError(f"{pattern} matches every text", "give a pattern that matches only what is to go")

    def matches(text: str) -> bool:
        matched = {match[0] for match in regex.finditer(text)}
        if found is not None:
            found.update(matched)
        return bool(matched)

    return matches
