"""Does a recorded working directory belong to a repository?

Decided by path components, never by a string prefix, so ``/w/app`` does not claim ``/w/app2``. Symbolic links are
resolved on both sides; a path that no longer exists resolves as far as it does. A Windows path compares without
regard to case and is the same place as its WSL spelling (``/mnt/c/…``), a ``\\\\wsl$\\distro\\…`` path the same as
the path inside. Linked worktrees are roots of their own; one that an agent made under ``.claude/worktrees`` and that
is gone counts as the work tree it stood in.
"""

from __future__ import annotations

import ntpath
import os
import posixpath
import re
import sys
import unicodedata
from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path

from rekal.plain_text import lazy_pattern

_DRIVE = lazy_pattern(r"^(?:\\\\\?\\|//\?/)?([A-Za-z]):[\\/]")
_WSL_SHARE = lazy_pattern(r"^[\\/]{2}wsl(?:\$|\.localhost)[\\/][^\\/]+", re.IGNORECASE)
_WSL_MOUNT = lazy_pattern(r"^/mnt/([A-Za-z])(?=/|$)")
_OWN_WORKTREE = (".claude", "worktrees")

Parts = tuple[str, ...]


def _posix_parts(path: str) -> Parts:
    try:
        # On Windows realpath would put the current drive before a POSIX path.
        path = posixpath.normpath(path) if os.name == "nt" else os.path.realpath(path)
    except (OSError, ValueError):
        path = posixpath.normpath(path)
    if mount := _WSL_MOUNT.match(path):
        return (f"{mount[1]}:", *path[mount.end() :].split("/")[1:])
    return ("/", *filter(None, path.split("/")))


def _path_parts(path: str) -> Parts | None:
    """The components of an absolute path, its drive or ``/`` first; None when it is not absolute."""
    if "\0" in path:
        return None
    if share := _WSL_SHARE.match(path):
        path = path[share.end() :].replace("\\", "/") or "/"
    if _DRIVE.match(path):
        if os.name == "nt":
            path = os.path.realpath(path)
        drive = _DRIVE.match(path)
        tail = ntpath.normpath(path[drive.end() - 1 :] if drive else path)
        return (f"{drive[1]}:" if drive else "", *filter(None, tail.split("\\")))
    if path.startswith("\\\\"):
        return tuple(filter(None, ntpath.normpath(path).split("\\")))
    return _posix_parts(path) if path.startswith("/") else None


def _folded(parts: Parts) -> Parts:
    # Only Linux tells upper case from lower, and one spelling of an accent from another.
    if parts[0] == "/" and sys.platform != "darwin":
        return parts
    return tuple(unicodedata.normalize("NFC", part).casefold() for part in parts)


@lru_cache(maxsize=256)
def _root_parts(root: str) -> Parts | None:
    """The folded components of a root; the same few are compared with every path of a capture."""
    parts = _path_parts(root)
    return _folded(parts) if parts else None


def _below(parts: Parts, roots: Sequence[Path]) -> Parts | None:
    """The rest of ``parts`` below the deepest root that holds it."""
    folded = _folded(parts)
    deepest = 0
    for root in roots:
        root_parts = _root_parts(str(root))
        if root_parts and folded[: len(root_parts)] == root_parts:
            # A linked work tree may stand inside the main one: the inner root is the right one.
            deepest = max(deepest, len(root_parts))
    return parts[deepest:] if deepest else None


def is_inside_roots(cwd: str, roots: Sequence[Path]) -> bool:
    """True if ``cwd`` is one of ``roots`` or inside one. A relative ``cwd`` never is."""
    parts = _path_parts(cwd)
    return parts is not None and _below(parts, roots) is not None


def concerns_roots(directory: str, roots: Sequence[Path]) -> bool:
    """True if a session begun in ``directory`` may be about the repository: it lies inside a root or above one."""
    return is_inside_roots(directory, roots) or any(is_inside_roots(str(root), (Path(directory),)) for root in roots)


def parents_upwards(roots: Sequence[Path]) -> list[str]:
    """The roots and every directory above one, each once: where a session about the repository may have begun."""
    return list(dict.fromkeys(str(place) for root in roots for place in (root, *root.parents)))


def common_folder(paths: Iterable[str | None]) -> str | None:
    """The deepest directory that holds all the absolute ones of ``paths``, for sessions that name no directory."""
    folders = [posixpath.dirname(path) for path in paths if path and path.startswith("/")]
    return posixpath.commonpath(folders) if folders else None


def relative_path(path: str, cwd: str | None, roots: Sequence[Path]) -> str | None:
    """``path`` relative to the root that holds it, ``/``-separated, ``.`` for the root itself; None outside.

    A relative ``path`` starts at ``cwd``.
    """
    parts = _path_parts(path)
    if parts is None and cwd is not None and path:
        # The transcript's system decides, not ours: it may have been recorded on another.
        separator = "\\" if _DRIVE.match(cwd) or cwd.startswith("\\\\") else "/"
        parts = _path_parts(cwd + separator + path)
    below = _below(parts, roots) if parts is not None else None
    if below is None:
        return None
    if below[:2] == _OWN_WORKTREE and len(below) >= 3:
        # The worktree's own name is cut off, so that the path is the one that git knows.
        below = below[3:]
    return "/".join(below) or "."
