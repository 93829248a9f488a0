"""What `init` created in the user's repository, written down before each step: `clean` can undo any prefix of it.

Only creations need a record: a changed file carries our marker, and what was there is found around it. The record is
`rekal/install.json` in the git directory. Paths inside the repository's root are relative to it, so that a repository
may be moved.
"""

from __future__ import annotations

from pathlib import Path

import msgspec

from rekal import files
from rekal.errors import StoreDamaged
from rekal.git.repo import Repo


class Manifest(msgspec.Struct, frozen=True):
    """``files`` and ``directories`` that were not there before, in the order in which they were made."""

    version: int = 1
    files: tuple[str, ...] = ()
    directories: tuple[str, ...] = ()


class Journal:
    """The manifest of one repository, saved at every change."""

    def __init__(self, repo: Repo) -> None:
        self._root = repo.root
        self._path = repo.private_dir / "install.json"
        self._manifest = _load(self._path)

    def creates(self, path: Path) -> None:
        """Note that ``path`` is about to be created by us, its missing directories included, and make those."""
        missing = [p for p in path.parents if not p.exists()]
        # From the top down, each noted before it is made: a kill between the two costs a note of nothing.
        for directory in reversed(missing):
            self._save(directories=(*self._manifest.directories, self._name(directory)))
            directory.mkdir(exist_ok=True)
        if not files.name_is_taken(path) and not self.created(path):
            self._save(files=(*self._manifest.files, self._name(path)))

    def created(self, path: Path) -> bool:
        """True if ``path`` exists only because of us."""
        return self._name(path) in self._manifest.files

    def forget(self, path: Path) -> None:
        """The file is gone, or has become the user's."""
        name = self._name(path)
        if name in self._manifest.files:
            self._save(files=tuple(f for f in self._manifest.files if f != name))

    def prune(self) -> None:
        """Remove the directories that we made, innermost first, unless something else is in them by now."""
        for name in reversed(self._manifest.directories):
            directory = self._root / name
            try:
                directory.rmdir()
            # Removed by somebody else: the note goes as well.
            except FileNotFoundError:
                pass
            # Not empty: what is in there is not ours, and so the directory stays noted for a later try.
            except OSError:
                continue
            self._save(directories=tuple(d for d in self._manifest.directories if d != name))

    def _name(self, path: Path) -> str:
        # A shared directory of hooks lies outside, where only the absolute path names it.
        return str(path.relative_to(self._root) if path.is_relative_to(self._root) else path)

    def _save(self, **changes: tuple[str, ...]) -> None:
        self._manifest = msgspec.structs.replace(self._manifest, **changes)
        if self._path.parent.is_dir():  # after the directory was removed, `clean` still works, without a record
            files.write_through_link(self._path, msgspec.json.encode(self._manifest))


def _load(path: Path) -> Manifest:
    data = files.read_or_empty(path)
    if not data:
        return Manifest()
    try:
        return msgspec.json.decode(data, type=Manifest)
    except msgspec.DecodeError:
        raise StoreDamaged(f"{path} is not readable", "remove it, then run `rekal init` again") from None
