"""What a patch writes: ``*** Begin Patch`` texts and unified diffs as paths, kinds of change and lines.

Agents send the first form to their ``apply_patch`` tool; the second is what they record of an applied
change. Nothing here applies a patch: only what it would put into which file is of interest, and a damaged
patch yields the part that can be read.
"""

from __future__ import annotations

import re
from itertools import pairwise

import msgspec

from rekal.model import Change
from rekal.plain_text import lazy_pattern

BEGIN = "*** Begin Patch"
_END = "*** End Patch"
_FILE = lazy_pattern(r"^\*\*\* (Add|Update|Delete) File:[ \t]*(.+?)[ \t]*$")
_MOVE = lazy_pattern(r"^\*\*\* Move to:[ \t]*(.+?)[ \t]*$")
_CHANGES: dict[str, Change] = {"Add": "A", "Update": "M", "Delete": "D"}
_HUNK = lazy_pattern(r"^@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@")
# A block without its end reads up to the end of the text: the call may have been cut short.
_BLOCK = lazy_pattern(re.escape(BEGIN) + r".*?(?:^[ \t]*" + re.escape(_END) + r"|\Z)", re.DOTALL | re.MULTILINE)


class FilePatch(msgspec.Struct, frozen=True):
    """The effect of one patch on one file. ``wrote`` are the lines it adds, without the leading ``+``.

    For a rename ``change`` is ``R``, ``path`` the new name and ``old_path`` the former one.
    """

    path: str
    change: Change
    wrote: tuple[str, ...] = ()
    old_path: str | None = None


def parse_patch(text: str) -> tuple[FilePatch, ...]:
    """Read every ``*** Begin Patch`` block of ``text`` (a patch, or a command that carries one) by file."""
    found: list[FilePatch] = []
    for block in _BLOCK.finditer(text):
        found.extend(_parse_block(block.group()))
    return tuple(found)


def _parse_block(block: str) -> list[FilePatch]:
    files: list[FilePatch] = []
    head: FilePatch | None = None
    wrote: list[str] = []

    def close() -> None:
        if head is not None:
            files.append(msgspec.structs.replace(head, wrote=tuple(wrote)))

    for raw in block.split("\n"):
        line = raw.removesuffix("\r")
        if opened := _FILE.match(line):
            close()
            head, wrote = FilePatch(opened[2], _CHANGES[opened[1]]), []
        elif head is not None and (moved := _MOVE.match(line)):
            head = FilePatch(moved[1], "R", old_path=head.path)
        elif line.startswith("+"):
            wrote.append(line[1:])
    close()
    return files


def added_lines(diff: str) -> tuple[str, ...]:
    """The lines that the hunks of one file's unified diff add; ``+++`` within a hunk's count is a line."""
    added: list[str] = []
    old = new = 0
    for raw in diff.split("\n"):
        line = raw.removesuffix("\r")
        if hunk := _HUNK.match(line):
            old, new = int(hunk[1] or 1), int(hunk[2] or 1)
        elif line.startswith("+") and new > 0:
            added.append(line[1:])
            new -= 1
        elif line.startswith("-") and old > 0:
            old -= 1
        # "\ No newline at end of file" counts on neither side.
        elif not line.startswith("\\") and (old > 0 or new > 0):
            old, new = old - 1, new - 1
    return tuple(added)


def parse_unified(text: str) -> tuple[FilePatch, ...]:
    """Read a unified diff with ``---``/``+++`` headers by file; ``/dev/null`` means no such file."""
    files: list[FilePatch] = []
    lines = text.split("\n")
    pairs = enumerate(pairwise(lines))
    starts = [n for n, (old, new) in pairs if old.startswith("--- ") and new.startswith("+++ ")]
    for start, stop in zip(starts, [*starts[1:], len(lines)][: len(starts)], strict=True):
        before, after = _header_path(lines[start]), _header_path(lines[start + 1])
        wrote = added_lines("\n".join(lines[start + 2 : stop]))
        if after is None:
            if before is not None:
                files.append(FilePatch(before, "D"))
        elif before is None:
            files.append(FilePatch(after, "A", wrote))
        elif before == after:
            files.append(FilePatch(after, "M", wrote))
        else:
            files.append(FilePatch(after, "R", wrote, before))
    return tuple(files)


def _header_path(line: str) -> str | None:
    path = line[4:].split("\t", 1)[0].strip()
    # git's name for the side that does not exist.
    if not path or path == "/dev/null":
        return None
    return (path[2:] if path.startswith(("a/", "b/")) else path) or None


def text_lines(text: str) -> tuple[str, ...]:
    """The lines of a whole text as an edit writes them; a final newline does not make an empty line."""
    lines = [line.removesuffix("\r") for line in text.split("\n")]
    # split() leaves an empty last part behind a final line feed.
    if lines and not lines[-1]:
        lines.pop()
    return tuple(lines)
