"""Where and when a memory holds, as predicates: every reader of memories goes through them, none ranks around them."""

from __future__ import annotations

import functools
import re
from collections.abc import Collection, Iterable, Sequence

import msgspec

from rekal.memory.events import Scope
from rekal.plain_text import lazy_pattern

_PATH = lazy_pattern(
    r"[\w.@-]+(?:/[\w.*@{}-]+)+/?"
    r"|\b[\w-]+\.(?:go|py|kt|java|ts|tsx|js|c|h|cpp|rs|gd|tf|ya?ml|sql|md|toml|json|css|ipynb)\b"
)
_EXTENSION = lazy_pattern(r"\.(go|py|kt|java|tsx?|jsx?|c|h|cpp|rs|gd|tf|ya?ml|sql|md|toml|json|css|ipynb)$")
# First folders that tell a path from a package's name, a time zone or "read/write". A repository's own are added.
_FOLDERS = frozenset(
    lazy_pattern(r"\w+").findall(
        "src test tests docs internal app lib notebooks crates scripts tools pkg cmd jobs dags infra k8s data train"
        " firmware import levels lake migrations models host sim bench examples"
    )
)


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


def _covers(glob: str, path: str) -> bool:
    """True if a path somebody mentions lies in ``glob``, or is a directory with files in it."""
    if path_matches(path, (glob,)):
        return True
    base, named = glob.split("*")[0].rstrip("/"), clean_path(path)
    return bool(base) and (named.startswith(base) or base.startswith(f"{named}/"))


def in_scope(scope: Scope, place: Place) -> bool:
    """True if a memory of ``scope`` may be shown to who asks from ``place``."""
    if place.files and scope.paths and not any(path_matches(file, scope.paths) for file in place.files):
        return False
    unmerged = scope.branch is not None and scope.branch != place.branch and scope.branch not in place.merged
    return not (unmerged and place.branch is not None)


def named_paths(text: str, folders: Collection[str] = ()) -> list[str]:
    """The paths that ``text`` names. ``folders`` are the first folders of the repository's own files."""
    found = []
    for match in _PATH.finditer(text):
        path = match[0]
        if "/" not in path or path.startswith("@"):
            continue
        top = path.split("/")[0]
        if _EXTENSION.search(path) or top in _FOLDERS or top in folders:
            found.append(path)
    return found


def all_outside(scope: Scope, text: str, folders: Collection[str] = (), files: Sequence[str] = ()) -> bool:
    """True if paths are named, in ``text`` or by ``files``, and every one of them lies outside the scope."""
    named = [*named_paths(text, folders), *files]
    return bool(scope.paths and named) and not any(_covers(glob, path) for path in named for glob in scope.paths)
