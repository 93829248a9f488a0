"""Patches compared: patch-ids, and the proof that one commit holds all that a branch did.

An equal patch-id is the same change (a rebase, a cherry-pick; a squash, when it is that of all a branch did since it
left). Resolving a conflict changes the patch, so patch-ids say nothing then: a branch counts as absorbed by a commit
when the commit adds, path by path, every line that the branch added, and takes out what the branch only took out. What
cannot be compared so (binary files, modes, renames, empty files) is never absorbed, nor is a branch that adds nothing
to tell it by.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence

import msgspec

from rekal import ids
from rekal.errors import GitError
from rekal.git.repo import Commit, Repo
from rekal.git.run import join_lines

_SECONDS = 60.0
_MOST_FAILURES = 16  # of git, in one look for patch-ids
_COMMIT = re.compile(rb"^([0-9a-f]{64}|[0-9a-f]{40})\n", re.MULTILINE)
_FILE = re.compile(rb"^diff --git ", re.MULTILINE)


class Lines(msgspec.Struct, frozen=True):
    """Lines that a patch adds to one path and takes out of it, and how often."""

    added: Counter[bytes]
    removed: Counter[bytes]


PathLines = dict[bytes, Lines]
"""Lines that a patch adds and takes out, by path."""


def read_patches(repo: Repo, shas: Iterable[str]) -> bytes:
    """Return the patches of commits as ``diff-tree --stdin -p`` prints them, each after its name; merges have none."""
    return repo.run_raw("diff-tree", "--stdin", "-p", "--root", stdin=join_lines(shas), timeout=_SECONDS)


class BranchPatch(msgspec.Struct, frozen=True):
    """All that a branch did since it left another one, as one patch; ``base`` is the commit where it left."""

    base: str
    patch: bytes


def read_branch_patch(repo: Repo, tip: str, mainline: str) -> BranchPatch | None:
    """Return all that ``tip`` did since it left ``mainline``; None when it never left it or has no commit in common."""
    base = repo.ask("merge-base", mainline, tip)
    if base is None or base == tip:
        return None
    return BranchPatch(base, repo.run_raw("diff-tree", "-p", base, tip, timeout=_SECONDS))


def compute_patch_id(repo: Repo, patch: bytes) -> str | None:
    """Return the stable patch-id of one patch; None when it changes nothing."""
    found = repo.run("patch-id", "--stable", stdin=patch, timeout=_SECONDS).split()
    return found[0] if found else None


def list_patch_ids(repo: Repo, patches: bytes) -> dict[str, str]:
    """Return the stable patch-ids in what :func:`read_patches` returned, by commit; empty changes have none."""
    out = repo.run("patch-id", "--stable", stdin=patches, timeout=_SECONDS)
    return {sha: patch_id for patch_id, sha in (line.split() for line in out.splitlines())}


def compute_patch_ids(repo: Repo, shas: Iterable[str]) -> dict[str, str]:
    """Return the stable patch-ids of commits by name, in two processes; merges and empty changes have none."""
    return _identify(repo, list(dict.fromkeys(shas)), [_MOST_FAILURES])


def compute_first_parent_patch_ids(repo: Repo, commits: Iterable[Commit]) -> dict[str, str]:
    """Return the stable patch-ids of commits by name, a merge's against its first parent; empty changes have none."""
    return _identify(repo, [" ".join((one.sha, *one.parents[:1])) for one in commits], [_MOST_FAILURES])


def _identify(repo: Repo, lines: Sequence[str], failures: list[int]) -> dict[str, str]:
    """Return patch-ids of lines for ``diff-tree --stdin``; a commit whose files cannot be read has none."""
    if not lines:
        return {}
    try:
        return list_patch_ids(repo, read_patches(repo, lines))
    except GitError:
        failures[0] -= 1
        if len(lines) == 1 or failures[0] <= 0:  # a partial clone may lack the files of every commit
            return {}
    middle = len(lines) // 2
    return _identify(repo, lines[:middle], failures) | _identify(repo, lines[middle:], failures)


def find_absorbed(wholes: Mapping[str, bytes], patches: bytes) -> set[str]:
    """Return the keys of ``wholes`` of which one commit in ``patches`` holds all that they did, line by line.

    ``wholes`` are patches of :func:`read_branch_patch`, ``patches`` what :func:`read_patches` returns.
    """
    read = ((point, read_change(whole)) for point, whole in wholes.items())
    branches = {point: change for point, change in read if change}
    if not branches:
        return set()
    # Only paths that some branch touches are read: the mainline's patches may be many megabytes.
    there = _read_changes(patches, {path for branch in branches.values() for path in branch})
    return {point for point, branch in branches.items() if any(is_absorbed(branch, change) for change in there)}


def read_change(patch: bytes) -> PathLines | None:
    """Read one patch; None where there is more to it than lines, or nothing."""
    change: PathLines = {}
    for section in _FILE.split(patch)[1:]:
        path, lines = _read_file(section)
        if lines is None:
            return None
        change[path] = lines
    return change or None


def _read_changes(patches: bytes, paths: Collection[bytes]) -> list[PathLines]:
    found: list[PathLines] = []
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


def is_absorbed(branch: PathLines, commit: PathLines) -> bool:
    """True if ``commit`` holds all of ``branch``."""
    return (
        branch.keys() <= commit.keys()
        and all(_holds_part(lines, commit[path]) for path, lines in branch.items())
        and any(_is_telling(line) for lines in branch.values() for line in lines.added)
    )


def _holds_part(part: Lines, whole: Lines) -> bool:
    # Where both sides changed a line, the commit takes out the other side's, not what the branch took out.
    return part.added <= whole.added and (bool(part.added) or part.removed <= whole.removed)


def _is_telling(line: bytes) -> bool:
    return ids.line_hash(line.decode("utf-8", "replace")) is not None
