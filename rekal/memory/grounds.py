"""Whether what a memory rests on still stands: the files and symbols it names, at HEAD.

Nothing here says that a memory is still true. It says that a file it names is gone, or has changed since it was made,
by which commit; or that it names nothing that could be looked up.
"""

from __future__ import annotations

import functools
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

from rekal.errors import GitError
from rekal.git import Repo
from rekal.memory.state import Memory
from rekal.plain_text import lazy_pattern

_NAMED_FILE = lazy_pattern(r"[\w.@-]+(?:/[\w.@-]+)+|\b[\w-]+\.[A-Za-z]{1,5}\b")
_QUOTED = lazy_pattern(r"`([^`\n]{3,80})`")
_SYMBOL = lazy_pattern(r"[A-Za-z_]\w{3,}(?:(?:\.|::)\w+)*(?:\(\))?")
_CAMEL = lazy_pattern(r"\b[A-Za-z]+(?:[a-z][A-Z]|_[a-z])\w*\b")
_MOST = 4  # files and symbols looked up a memory: each symbol is a search of the tree


class Grounds(msgspec.Struct, frozen=True):
    """``fresh``: what it names is as it was. ``stale``: something changed. ``lost``: something is gone.

    ``commit`` did it, ``what`` is the file or symbol. ``unverifiable``: it names nothing, or not from when.
    """

    state: Literal["fresh", "stale", "lost", "unverifiable"] = "unverifiable"
    what: str = ""
    commit: str = ""

    def sentence(self) -> str:
        """In words, for the end of a row."""
        if self.state == "lost":
            return f"{self.what} is gone{f' since {self.commit}' if self.commit else ''}"
        return f"stale since {self.commit} ({self.what})" if self.state == "stale" else self.state


class GroundReader:
    """Looks memories up in one repository, at the HEAD of the moment it was made."""

    def __init__(self, repo: Repo) -> None:
        self._repo = repo

    @functools.cached_property
    def _head(self) -> str:
        return self._repo.head() or ""

    def look(self, memory: Memory) -> Grounds:
        """Find what became of the files and symbols that a memory names since the commit that it was made at."""
        if memory.commit is None or memory.personal or not self._head:
            return Grounds()
        try:
            return self._look_since(memory, memory.commit)
        except GitError:  # made at a commit that is not here, or the repository lacks objects
            return Grounds()

    def _look_since(self, memory: Memory, made_at: str) -> Grounds:
        files = _files_of_memory(memory, _list_files_at(self._repo, made_at))[:_MOST]
        for path in files:
            if path not in _list_files_at(self._repo, self._head):
                return Grounds("lost", path, self._last_change(made_at, [path]))
        symbols = [word for word in _symbols_of_memory(memory) if _has_word(self._repo, word, made_at)]
        for symbol in symbols:
            if not _has_word(self._repo, symbol, self._head):
                return Grounds("lost", symbol, "")
        if files and (commit := self._last_change(made_at, files)):
            return Grounds("stale", ", ".join(files), commit)
        return Grounds("fresh", ", ".join((*files, *symbols))) if files or symbols else Grounds()

    def _last_change(self, since: str, paths: Sequence[str]) -> str:
        return _find_last_change(self._repo, since, self._head, tuple(paths))


def _files_of_memory(memory: Memory, files: frozenset[str]) -> list[str]:
    exact = [path for path in memory.scope.paths if path in files]
    words = _NAMED_FILE.findall(memory.all_words)
    named = [word.rstrip(".") for word in (*words, memory.source or "")]
    return list(dict.fromkeys([*exact, *(path for path in named if path in files)]))


def _symbols_of_memory(memory: Memory) -> list[str]:
    """Words of a memory that may be identifiers."""
    quoted = [word for word in _QUOTED.findall(memory.all_words) if _SYMBOL.fullmatch(word)]
    named = [word.removesuffix("()") for word in (*quoted, *_CAMEL.findall(memory.all_words))]
    return list(dict.fromkeys(named))[:_MOST]


# A commit never changes, so the daemon looks each thing up once: a search of a tree takes a process and 6 ms. What git
# fails at is an error, which is not kept and is not taken for "not there".
@functools.lru_cache(maxsize=8)
def _list_files_at(repo: Repo, commit: str) -> frozenset[str]:
    listed = repo.run("ls-tree", "-r", "-z", "--name-only", "--end-of-options", commit)
    return frozenset(path for path in listed.split("\0") if path)


@functools.lru_cache(maxsize=4096)
def _has_word(repo: Repo, word: str, commit: str) -> bool:
    return repo.contains_word(word, commit)


@functools.lru_cache(maxsize=1024)
def _find_last_change(repo: Repo, since: str, head: str, paths: tuple[str, ...]) -> str:
    """The last commit after ``since`` that changed one of ``paths``, abbreviated; empty when none did."""
    return repo.run("log", "-1", "--format=%h", "--end-of-options", f"{since}..{head}", "--", *paths).strip()


def look_at_all(repo: Repo, memories: Iterable[Memory]) -> list[Grounds]:
    """The grounds of each memory, in order."""
    reader = GroundReader(repo)
    return [reader.look(memory) for memory in memories]
