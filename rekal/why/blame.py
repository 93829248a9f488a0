"""The commit that last changed each line, as git sees it.

White space and moves within and between files changed together are looked through (``-w -M -C``), and so are the
commits named by ``.git-blame-ignore-revs`` and by git's own ``blame.ignoreRevsFile``.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import PurePosixPath

import msgspec

from rekal.errors import GitError, UsageError
from rekal.git import Repo, decode_bytes
from rekal.git.repo import read_objects

IGNORE_REVS = ".git-blame-ignore-revs"
_TIMEOUT = 300.0
# Letters and digits that a block must have to count as moved or copied, twice git's own: with those, three lines that
# every function has are a "copy" of the first function that had them.
MOVES = ("-M40", "-C80")
_BLOBS = 200  # versions of a file that are looked into: a whole file asked about may come from thousands of commits
_HEAD = re.compile(r"([0-9a-f]{40}|[0-9a-f]{64}) (\d+) (\d+)(?: \d+)?")
_OCTAL = re.compile(rb'\\([0-3][0-7]{2}|[abfnrtv"\\])')
_ESCAPES = {b"a": b"\a", b"b": b"\b", b"f": b"\f", b"n": b"\n", b"r": b"\r", b"t": b"\t", b"v": b"\v"}


class BlamedLine(msgspec.Struct, frozen=True):
    """One line of the file: its number now, and the commit, the path and the number it came in by.

    ``sha`` is None for a line that is not committed.
    """

    number: int
    text: str
    sha: str | None
    path: str
    was: int


class BlamedCommit(msgspec.Struct, frozen=True):
    """Facts of a commit, as blame gives them."""

    sha: str
    author: str
    author_email: str
    authored_at: datetime
    committed_at: datetime
    subject: str


class Blame(msgspec.Struct, frozen=True):
    """Lines in order, and the commits they name."""

    lines: tuple[BlamedLine, ...]
    commits: Mapping[str, BlamedCommit]


def blame_file(repo: Repo, path: str, first: int | None = None, last: int | None = None) -> Blame:
    """Blame lines ``first`` to ``last`` of ``path`` (relative to the work tree) as it is now, or all of it.

    A file that git does not know yet is all uncommitted lines. Raises :class:`UsageError` for a file that is not
    there or is shorter than asked.
    """
    span = () if first is None else ("-L", f"{first},{last or first}")
    revision = ("HEAD",) if repo.bare else ()
    args = ("blame", "-w", *MOVES, "--porcelain", *_ignored_commits_options(repo), *span, *revision, "--", path)
    try:
        return parse_porcelain(repo.run_raw("-c", "core.quotePath=false", *args, timeout=_TIMEOUT))
    except GitError as error:
        if "no such path" in error.message or "no such ref" in error.message:
            return _unknown(repo, path, first, last)
        if "has only" in error.message:
            raise UsageError(f"{path}{error.message.partition(path)[2]}", "give a line that is there") from None
        if "promisor" in error.message:  # reading never fetches
            raise GitError(
                f"this partial clone lacks versions of {path}",
                f"run `git blame {path}`, which fetches them, and ask again",
            ) from None
        raise


def _ignored_commits_options(repo: Repo) -> tuple[str, ...]:
    present = not repo.bare and (repo.worktree / IGNORE_REVS).is_file()
    return ("--ignore-revs-file", str(repo.worktree / IGNORE_REVS)) if present else ()


def _unknown(repo: Repo, path: str, first: int | None, last: int | None) -> Blame:
    texts = read_file_lines(repo, path)
    if texts is None:
        raise UsageError(f"there is no {path} here", "give a file of this repository, or a commit")
    if first is not None and first > len(texts):
        raise UsageError(f"{path} has only {len(texts)} lines", "give a line that is there")
    numbered = list(enumerate(texts, start=1))[(first or 1) - 1 : (last or first or len(texts))]
    return Blame(tuple(BlamedLine(n, line, None, path, n) for n, line in numbered), {})


def read_file_lines(repo: Repo, path: str) -> list[str] | None:
    """The lines of ``path`` as it is in the work tree (at HEAD when bare); None where there is no such file."""
    if repo.bare:
        found = read_objects(repo, [f"HEAD:{path}"])
        return next((split_lines(data) for data in found.values()), None)
    place = repo.worktree / PurePosixPath(path)
    return split_lines(place.read_bytes()) if place.is_file() else None


def split_lines(data: bytes) -> list[str]:
    """Lines as git counts them: only a newline ends one."""
    lines = decode_bytes(data).split("\n")
    return lines[:-1] if lines[-1] == "" else lines


def parse_porcelain(data: bytes) -> Blame:
    """Read the output of ``git blame --porcelain``.

    It has a head for each line, the facts of a commit where it first appears, and the text behind a tab.
    """
    lines: list[BlamedLine] = []
    facts: dict[str, dict[str, str]] = {}
    sha, was, number = "", 0, 0
    for row in decode_bytes(data).split("\n"):
        if row.startswith("\t"):
            path = facts[sha].get("filename", "")
            lines.append(BlamedLine(number, row[1:], None if _is_null(sha) else sha, path, was))
        elif head := _HEAD.fullmatch(row):
            sha, was, number = head[1], int(head[2]), int(head[3])
            facts.setdefault(sha, {})
        elif row:
            key, _, value = row.partition(" ")
            # A commit that several files come from repeats this one; it then holds for the lines that follow.
            facts[sha][key] = unquote_name(value) if key == "filename" else value
    return Blame(tuple(lines), {key: _commit_of_facts(key, fact) for key, fact in facts.items() if not _is_null(key)})


def _is_null(sha: str) -> bool:
    return not sha.strip("0")


def _commit_of_facts(sha: str, fact: Mapping[str, str]) -> BlamedCommit:
    return BlamedCommit(
        sha,
        fact.get("author", ""),
        fact.get("author-mail", "").strip("<>"),
        datetime.fromtimestamp(int(fact.get("author-time", 0)), UTC),
        datetime.fromtimestamp(int(fact.get("committer-time", 0)), UTC),
        fact.get("summary", ""),
    )


def unquote_name(name: str) -> str:
    """A file name out of git's quotes (only names with control characters, quotes or backslashes have them)."""
    if not (name.startswith('"') and name.endswith('"') and len(name) > 1):
        return name
    raw = name[1:-1].encode("utf-8", "surrogateescape")
    return decode_bytes(
        _OCTAL.sub(lambda m: bytes([int(m[1], 8)]) if m[1].isdigit() else _ESCAPES.get(m[1], m[1]), raw)
    )


def find_former_texts(repo: Repo, lines: Sequence[BlamedLine]) -> dict[int, str]:
    """By present number, each line's text as it was in the commit it came in by, where that differs from now."""
    wanted = sorted({(line.sha, line.path) for line in lines if line.sha and "\n" not in line.path})[:_BLOBS]
    blobs = read_objects(repo, [f"{sha}:{path}" for sha, path in wanted])
    by_file = {name: split_lines(data) for name, data in blobs.items()}
    found = {}
    for line in lines:
        then = by_file.get(f"{line.sha}:{line.path}", [])
        if line.was <= len(then) and then[line.was - 1] != line.text:
            found[line.number] = then[line.was - 1]
    return found
