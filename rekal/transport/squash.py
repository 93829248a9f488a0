"""Whether one change holds another, line by line: what a squash looks like after its conflicts were resolved.

Resolving a conflict changes the patch, so patch-ids say nothing. A branch counts as absorbed by a commit when the
commit adds, path by path, every line that the branch added, and takes out what the branch only took out. Whatever
cannot be compared so (binary files, modes, renames, empty files) says no, and so does a branch that adds nothing to
tell it by.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection

import msgspec

from rekal import ids

_COMMIT = re.compile(rb"^([0-9a-f]{64}|[0-9a-f]{40})\n", re.MULTILINE)
_FILE = re.compile(rb"^diff --git ", re.MULTILINE)


class Lines(msgspec.Struct, frozen=True):
    """Lines that a patch adds to one path and takes out of it, and how often."""

    added: Counter[bytes]
    removed: Counter[bytes]


Change = dict[bytes, Lines]
"""What a patch does to each path."""


def read_change(patch: bytes) -> Change | None:
    """A patch as git prints it for one pair of trees; None where there is more to it than lines, or nothing."""
    change: Change = {}
    for section in _FILE.split(patch)[1:]:
        path, lines = _read_file(section)
        if lines is None:
            return None
        change[path] = lines
    return change or None


def changes(patches: bytes, paths: Collection[bytes]) -> list[Change]:
    """What commits do to some paths, as ``diff-tree --stdin -p`` prints them, each after the commit's name."""
    found: list[Change] = []
    for patch in _COMMIT.split(patches)[2::2]:
        read = (_read_file(section, paths) for section in _FILE.split(patch)[1:])
        found.append({path: lines for path, lines in read if lines})
    return [change for change in found if change]


def _read_file(section: bytes, paths: Collection[bytes] | None = None) -> tuple[bytes, Lines | None]:
    head, begun, body = section.partition(b"\n@@ ")
    names = [line[6:] for line in head.split(b"\n") if line.startswith((b"--- a/", b"+++ b/"))]
    if not begun or not names or (paths is not None and names[-1] not in paths):
        return b"", None
    rows = body.split(b"\n")
    added = Counter(row[1:] for row in rows if row[:1] == b"+")
    return names[-1], Lines(added, Counter(row[1:] for row in rows if row[:1] == b"-"))


def absorbed(branch: Change, commit: Change) -> bool:
    """Whether ``commit`` holds all of ``branch``."""
    return (
        branch.keys() <= commit.keys()
        and all(_within(lines, commit[path]) for path, lines in branch.items())
        and any(_tells(line) for lines in branch.values() for line in lines.added)
    )


def _within(part: Lines, whole: Lines) -> bool:
    # Where both sides changed a line, the commit takes out the other side's, not what the branch took out.
    return part.added <= whole.added and (bool(part.added) or part.removed <= whole.removed)


def _tells(line: bytes) -> bool:
    return ids.line_hash(line.decode("utf-8", "replace")) is not None
