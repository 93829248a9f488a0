"""Is a directory that is gone one that this repository's commits were made in?"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec

from rekal.capture.link import EDIT_WITHIN
from rekal.capture.whole_files import hash_lines
from rekal.git import Commit, Repo
from rekal.git.repo import read_objects

_SLACK = timedelta(hours=1)
_MOST_FILES = 4000  # states of files that are compared, so that a large history costs a few seconds

Written = Mapping[str, Sequence[tuple[int, datetime | None]]]
"""Hashes of the lines that were written and when, by path relative to the topmost directory."""


class Evidence(msgspec.Struct, frozen=True):
    """Traces of one conversation in a directory that is gone. ``roots`` are those that may have been the work tree.

    ``roots`` begin with that directory, each the parent of the one before. ``wrote`` is relative to the last of them.
    """

    roots: tuple[Path, ...]
    wrote: Written


class _History:
    """Commits of the repository and the files that they changed."""

    def __init__(self, repo: Repo, since: datetime) -> None:
        self.repo = repo
        commits = repo.commits(repo.commits_since(since - _SLACK))
        changes = repo.changes(commits) if commits else {}
        self.by_path: dict[str, list[Commit]] = defaultdict(list)
        for commit in commits:
            for change in changes.get(commit.sha, ()):
                if change.change != "D":
                    self.by_path[change.path].append(commit)
        self._lines: dict[str, frozenset[int]] = {}

    def states_after(self, path: str, when: datetime | None) -> list[str]:
        """Names of the states of a file that commits within a month of ``when`` left."""
        found = self.by_path.get(path, [])
        if when is not None:
            when = when if when.tzinfo else when.replace(tzinfo=UTC)
            found = [c for c in found if when - _SLACK <= c.committed_at <= when + EDIT_WITHIN]
        return [f"{commit.sha}:{path}" for commit in found]

    def read(self, names: Iterable[str]) -> None:
        """Read states of files: hashes of their lines."""
        missing = [name for name in dict.fromkeys(names) if name not in self._lines]
        for name, body in read_objects(self.repo, missing[: max(0, _MOST_FILES - len(self._lines))], "blob").items():
            self._lines[name] = frozenset(hash_lines(body))

    def lines(self, name: str) -> frozenset[int]:
        """Hashes of the lines of a state that was read; none of another."""
        return self._lines.get(name, frozenset())


def find_roots_by_commits(repo: Repo, evidence: Sequence[Evidence], since: datetime) -> tuple[Path, ...]:
    """Return the directories of ``evidence`` that were work trees of this repository. Raises GitError."""
    if not any(one.wrote for one in evidence):
        return ()
    history = _History(repo, since)
    kept: Counter[Path] = Counter()
    written: Counter[Path] = Counter()
    for one in evidence:
        for root in one.roots:
            here, all_of_it = _compare_texts(history, one, root)
            kept[root] += here
            written[root] += all_of_it
    found: list[Path] = []
    for one in evidence:
        # Of several directories the one in which most lines are found: the others only lead to it or into it.
        best = max(one.roots, key=lambda root: (kept[root], len(root.parts)))
        if kept[best] and kept[best] * 2 >= written[best]:
            found.append(best)
    return tuple(dict.fromkeys(found))


def _compare_texts(history: _History, one: Evidence, root: Path) -> tuple[int, int]:
    """Count the different lines written below ``root`` that commits have at the same path, and all written there."""
    top = one.roots[-1]
    inside = "" if root == top else root.relative_to(top).as_posix() + "/"
    mine = {path.removeprefix(inside): lines for path, lines in one.wrote.items() if path.startswith(inside)}
    states = {path: {when: history.states_after(path, when) for _, when in lines} for path, lines in mine.items()}
    history.read(name for by_time in states.values() for names in by_time.values() for name in names)
    written: set[tuple[str, int]] = set()
    kept: set[tuple[str, int]] = set()
    for path, lines in mine.items():
        for hashed, when in lines:
            written.add((path, hashed))
            if any(hashed in history.lines(name) for name in states[path][when]):
                kept.add((path, hashed))
    return len(kept), len(written)
