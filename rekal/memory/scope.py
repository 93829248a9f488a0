"""Where and when a memory holds, as predicates: every reader of memories goes through them, none ranks around them."""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable

import msgspec

from rekal.memory.events import Scope


class Place(msgspec.Struct, frozen=True):
    """The place somebody asks from. ``files``: the files at hand, if any were named. ``branch``: the branch at hand.

    ``merged`` are branches whose work is part of it. Without a file, or a branch, memories of any are shown.
    """

    files: tuple[str, ...] = ()
    branch: str | None = None
    merged: frozenset[str] = frozenset()


@functools.lru_cache(maxsize=1024)
def _glob(text: str) -> re.Pattern[str]:
    body = re.escape(text.strip("/")).replace(r"\*\*/", "(?:.*/)?").replace(r"\*\*", ".*")
    body = body.replace(r"\*", "[^/]*").replace(r"\?", "[^/]")
    return re.compile(body + "(?:/.*)?", re.DOTALL)


def clean_path(path: str) -> str:
    """A path relative to the root, with slashes: what globs are compared with."""
    return path.replace("\\", "/").removeprefix("./").strip("/")


def path_matches(path: str, globs: Iterable[str]) -> bool:
    """True if ``path`` is one of ``globs``, or lies below a directory that is."""
    named = clean_path(path)
    return any(_glob(one).fullmatch(named) for one in globs)


def in_scope(scope: Scope, place: Place) -> bool:
    """True if a memory of ``scope`` may be shown to who asks from ``place``."""
    if place.files and scope.paths and not any(path_matches(file, scope.paths) for file in place.files):
        return False
    unmerged = scope.branch is not None and scope.branch != place.branch and scope.branch not in place.merged
    return not (unmerged and place.branch is not None)
