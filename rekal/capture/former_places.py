"""Directories that were this repository's and are gone: removed work trees, a repository that was moved or renamed.

They are known in two ways. Every capture notes the work trees that it sees in the git directory, which moves along
with the repository. For directories that were gone before, a back-fill reads the conversations that were held in them:
one is taken for a former place when at least half of the lines that agents wrote into files below it are in commits of
this repository, at the same paths, made within a month of the edit. Names of branches and folders prove nothing.
"""

from __future__ import annotations

import mmap
import os
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path, PurePath

import msgspec

from rekal.agents.contract import Adapter, Source, Where
from rekal.agents.formats.repo_paths import relative_path
from rekal.capture.link import EDIT_WITHIN
from rekal.capture.read_sources import Job, belongs_here, changed_since, find_changed_sources, parse_source
from rekal.capture.whole_files import hash_lines
from rekal.errors import SourceError
from rekal.files import read_or_empty, write_atomically
from rekal.git import Commit, Repo
from rekal.git.repo import read_objects
from rekal.ids import line_hash
from rekal.model import Transcript
from rekal.plain_text import lazy_pattern
from rekal.store.layout import PLACES

_MOST_BYTES = 2 << 30  # of transcripts that a back-fill reads for this, newest first
_HEAD = 64 << 10
_DIRECTORY = lazy_pattern(
    rb'"(?:cwd|directory|gitRoot|worktree|workdir|current_working_directory)"\s*:\s*"((?:[^"\\]|\\.){1,4096})"'
)


class NotedPlaces(msgspec.Struct, frozen=True):
    """The file ``places``: work trees of now and before, and transcripts that lie in other directories' folders.

    ``sources`` maps the path of such a transcript to its agent.
    """

    places: tuple[str, ...] = ()
    sources: Mapping[str, str] = {}


def read_noted_places(run: Path) -> NotedPlaces:
    """Read what earlier captures noted in ``run``; nothing where there is no such file or it cannot be read."""
    try:
        return msgspec.json.decode(read_or_empty(run / PLACES), type=NotedPlaces)
    except (msgspec.MsgspecError, ValueError):
        return NotedPlaces()


def note_places(run: Path, places: Iterable[Path], sources: Mapping[str, str] | None = None) -> None:
    """Add work trees and transcripts to what is noted in ``run``."""
    old = read_noted_places(run)
    new = NotedPlaces(tuple(dict.fromkeys([*old.places, *map(str, places)])), {**old.sources, **(sources or {})})
    if new != old and run.is_dir():
        write_atomically(run / PLACES, msgspec.json.encode(new))


def list_former_places(run: Path, roots: Sequence[Path]) -> tuple[Path, ...]:
    """Return the noted places that are none of ``roots`` and where no other repository has been put since."""
    noted = (Path(place) for place in read_noted_places(run).places)
    return tuple(place for place in noted if place not in roots and not (place / ".git").exists())


class FormerPlaces(msgspec.Struct, frozen=True):
    """The result of a search: places, transcripts of the repository that lie elsewhere, by path; what to tell."""

    places: tuple[Path, ...] = ()
    sources: Mapping[str, str] = {}
    warnings: tuple[str, ...] = ()


def find_former_places(job: Job, repo: Repo, since: datetime, belonging: frozenset[str]) -> FormerPlaces:
    """Search the transcripts of all directories that changed after ``since``; ``belonging`` are keys known as ours.

    Raises :class:`rekal.errors.GitError`.
    """
    listed = {source.key for adapter in job.adapters for source in adapter.discover(job.where)}
    everywhere = msgspec.structs.replace(job.where, roots=top_directories(job.where))
    others = find_changed_sources(msgspec.structs.replace(job, where=everywhere), {})
    wanted = [(a, s) for a, s in changed_since(others, since) if s.key not in belonging and _may_concern(s, job.where)]
    evidence: list[Evidence] = []
    elsewhere: dict[str, str] = {}
    left = _MOST_BYTES
    for adapter, source in reversed(wanted):
        if (left := left - source.size) < 0:
            break
        for transcript in _read(job, adapter, source, everywhere):
            if not belongs_here(transcript, job.where.roots):
                evidence += _gather(transcript, job.where)
            elif source.key not in listed and source.key == str(source.path):
                elsewhere[source.key] = adapter.name
    warnings = ("not all conversations of removed directories were looked at: there are too many",) if left < 0 else ()
    return FormerPlaces(find_roots_by_commits(repo, evidence, since), elsewhere, warnings)


def top_directories(where: Where) -> tuple[Path, ...]:
    """The top of every file system that a root is on: below them lies every directory."""
    return tuple(dict.fromkeys(Path(root.anchor) for root in (*where.roots, where.home)))


def _may_concern(source: Source, where: Where) -> bool:
    """True unless a file names directories which all still exist, and none of ``where.roots``.

    Costs reading the beginning of the file, and a search for a few paths in the rest.
    """
    if source.key != str(source.path):
        return True
    try:
        with source.path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            if any(_names(data, root) for root in where.roots):
                return True
            named = {_unescape_name(found[1]) for found in _DIRECTORY.finditer(data[:_HEAD])}
    except (OSError, ValueError):  # an empty file cannot be mapped, and holds nothing
        return False
    return not named or any(not Path(directory).exists() for directory in named)


def names_root(path: Path, roots: Sequence[PurePath], most: int) -> bool:
    """True if a file of at most ``most`` bytes holds the path of a root, as JSON spells it."""
    try:
        if not 0 < path.stat().st_size <= most:
            return False
        with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as data:
            return any(_names(data, root) for root in roots)
    except (OSError, ValueError):
        return False


def _names(data: mmap.mmap, root: PurePath) -> bool:
    escaped = msgspec.json.encode(str(root))[1:-1]
    return re.search(re.escape(escaped) + rb'(?:["/]|\\)', data) is not None


def _unescape_name(raw: bytes) -> str:
    try:
        return msgspec.json.decode(b'"' + raw + b'"', type=str)
    except (msgspec.MsgspecError, ValueError):
        return ""


def _read(job: Job, adapter: Adapter, source: Source, where: Where) -> tuple[Transcript, ...]:
    try:
        return parse_source(msgspec.structs.replace(job, where=where), adapter, source, None)[1].transcripts
    except SourceError:  # of another directory, as far as is known: said where it is one of ours
        return ()


def _gather(transcript: Transcript, where: Where) -> Iterator[Evidence]:
    """Yield what was written in directories that are gone."""
    gone = [cwd for cwd in transcript.cwds if _is_gone(cwd, where.home)]
    for cwd in gone:
        roots = _roots_above(cwd)
        wrote: dict[str, list[tuple[int, datetime | None]]] = defaultdict(list)
        for call in transcript.calls:
            path = relative_path(call.path, call.cwd or cwd, roots[-1:]) if call.path and call.wrote else None
            if path is not None:
                hashes = (line_hash(line) for line in call.wrote)
                wrote[path] += [(hashed, call.occurred_at) for hashed in hashes if hashed is not None]
        yield Evidence(roots, dict(wrote))


def _is_gone(cwd: str, home: Path) -> bool:
    """True if a directory does not exist and what is left above it is in no repository, the home directory apart."""
    place = Path(cwd)
    if not place.is_absolute() or os.path.lexists(place):
        return False
    above = [directory for directory in place.parents if directory.exists() and directory != home]
    return not any((directory / ".git").exists() for directory in above)


def _roots_above(cwd: str) -> tuple[Path, ...]:
    """The directory and those above it that are gone, the deepest first: any of them may have been the work tree."""
    place = Path(cwd)
    return (place, *(directory for directory in place.parents if not directory.exists()))


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
