"""Does a conversation belong to this repository?

Decided on the working directories it recorded, by path components: one of them is inside a work tree of the
repository and not inside another repository nested there. A conversation begun above several repositories belongs to
those whose files it edited.
"""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatch
from pathlib import Path

import msgspec

from rekal.agents.formats.repo_paths import is_inside_roots, relative_path
from rekal.config import Exclude
from rekal.model import RawCall, Transcript


def belongs_here(transcript: Transcript, roots: Sequence[Path]) -> bool:
    """True if ``transcript`` is about the repository with these work trees."""
    if any(is_inside_roots(cwd, roots) and not _nested(cwd, roots) for cwd in transcript.cwds):
        return True
    above = [cwd for cwd in transcript.cwds if any(is_inside_roots(str(root), [Path(cwd)]) for root in roots)]
    return any(_edits(call, cwd, roots) for cwd in above for call in transcript.calls)


def _nested(cwd: str, roots: Sequence[Path]) -> bool:
    """True if another repository (a submodule, a clone inside the work tree) lies between ``cwd`` and our root."""
    place = Path(cwd)
    if not place.is_dir():
        return False
    place = place.resolve()
    for directory in (place, *place.parents):
        if directory in roots:
            return False
        if (directory / ".git").exists():
            return True
    return False


def _edits(call: RawCall, cwd: str, roots: Sequence[Path]) -> bool:
    if not call.path or not call.wrote:
        return False
    inside = relative_path(call.path, call.cwd or cwd, roots)
    return inside is not None and not _nested(str(Path(call.cwd or cwd, call.path).parent), roots)


def localise_paths(transcript: Transcript, roots: Sequence[Path], exclude: Exclude) -> Transcript:
    """The transcript with paths relative to the repository where inside it, and without calls on excluded paths."""
    cwd = transcript.cwds[0] if transcript.cwds else str(roots[0])
    calls = tuple(_localised(call, cwd, roots) for call in transcript.calls)
    kept = tuple(c for c in calls if not (c.path and _matches(c.path, exclude.paths)))
    here = next((d for d in transcript.cwds if is_inside_roots(d, roots)), cwd)
    return msgspec.structs.replace(transcript, calls=kept, cwds=(relative_path(here, here, roots) or here,))


def _localised(call: RawCall, cwd: str, roots: Sequence[Path]) -> RawCall:
    if not call.path:
        return call
    inside = relative_path(call.path, call.cwd or cwd, roots)
    return call if inside is None else msgspec.structs.replace(call, path=inside)


def is_excluded(transcript: Transcript, roots: Sequence[Path], exclude: Exclude) -> bool:
    """True if the settings keep this conversation out."""
    if _matches(transcript.native_id, exclude.sessions):
        return True
    if transcript.branches and all(_matches(branch, exclude.branches) for branch in transcript.branches):
        return True
    inside = [relative_path(cwd, cwd, roots) for cwd in transcript.cwds]
    return bool(inside) and all(cwd is not None and _matches(cwd, exclude.paths) for cwd in inside)


def _matches(value: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(value, pattern) or fnmatch(value, pattern.rstrip("/") + "/*") for pattern in patterns)
