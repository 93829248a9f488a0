"""A request to forget: by id, text, pattern or path, and its targets in the ledger."""

from __future__ import annotations

import re

import msgspec

from rekal.errors import UsageError
from rekal.store import forget_targets
from rekal.store.database import Connection
from rekal.store.forget_targets import Match, Targets
from rekal.store.queries import session_ids


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


def find_targets(con: Connection, request: ForgetRequest, matched: set[str] | None = None) -> Targets:
    """All targets of a request; ``matched`` gets what its patterns matched.

    Raises :class:`UsageError` for a name that is not stored or is ambiguous.
    """
    found = Targets()
    for name in request.names:
        found = found.plus(_targets_of_name(con, name))
    if request.texts or request.patterns:
        # Paths have targets of their own, which include the texts that mention them.
        without_paths = msgspec.structs.replace(request, paths=())
        found = found.plus(forget_targets.targets_of_text(con, without_paths.matches(matched)))
    for path in request.paths:
        found = found.plus(forget_targets.targets_of_path(con, path))
    return found


def _targets_of_name(con: Connection, name: str) -> Targets:
    prefix, turn, number = name.partition("#")
    # Without a prefix, "#3" would match every session.
    sessions = session_ids(con, prefix) if prefix else []
    memories = forget_targets.find_memory_ids(con, prefix) if prefix and not turn else []
    if not sessions and not memories:
        raise UsageError(f"{name} names nothing that is stored", "`rekal log` and `rekal find` print ids")
    if len(sessions) + len(memories) > 1:
        raise UsageError(f"{name} names {len(sessions) + len(memories)} sessions or memories", "give more of the id")
    if memories:
        return forget_targets.targets_of_memory(con, memories[0])
    if not turn:
        return forget_targets.targets_of_session(con, sessions[0])
    if not number.removeprefix("t").isdecimal():
        raise UsageError(f"{name} is not ID:TURN", "turns are numbered as `rekal show` prints them")
    return forget_targets.targets_of_turn(con, sessions[0], int(number.removeprefix("t")))
