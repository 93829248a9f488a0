"""Finding the files to read: folders are walked, and whatever is passed over is passed over for a reason."""

from __future__ import annotations

import fnmatch
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

import msgspec

from rekal.documents.document_records import DocumentSource, Skipped
from rekal.errors import UsageError

_SKIPPED_FOLDERS = frozenset({"node_modules", "__pycache__"})

Ignored = Callable[[Sequence[Path]], set[Path]]
"""Those of some files that git ignores."""


class FoundDocuments(msgspec.Struct, frozen=True):
    """Files to read, in order of their paths, and what was passed over. ``roots`` are absolute."""

    sources: tuple[DocumentSource, ...]
    skipped: tuple[Skipped, ...]
    roots: tuple[Path, ...]


def find_documents(paths: Sequence[Path], exclude: Sequence[str], ignored: Ignored) -> FoundDocuments:
    """Find the files below ``paths``. ``exclude`` are globs or parts of a path; UsageError where a path is not there.

    Links to files are read under their own name, links to folders are not followed: they may lead round in a circle.
    """
    sources: dict[Path, DocumentSource] = {}
    skipped: list[Skipped] = []
    roots = []
    for given in paths:
        root = Path.cwd() / given  # a link keeps its own name
        root = Path(os.path.normpath(root))
        roots.append(root)
        if not root.exists():
            raise UsageError(f"there is no {given}", "give a file or a folder")
        for path in _walk_files(root, skipped):
            shown = _shown_name(path, root)
            if _is_excluded(shown, exclude):
                skipped.append(Skipped(shown, "excluded"))
            elif path not in sources and (source := _stat_source(path, shown, skipped)):
                sources[path] = source
    # Whoever names a file wants that file.
    dropped = sorted(ignored([path for path in sources if path not in roots]))
    skipped += [Skipped(sources.pop(path).shown, "ignored by git") for path in dropped]
    ordered = tuple(sources[path] for path in sorted(sources))
    return FoundDocuments(ordered, tuple(skipped), tuple(roots))


def _walk_files(root: Path, skipped: list[Skipped]) -> Iterator[Path]:
    if not root.is_dir():
        yield root
        return

    def unreadable(error: OSError) -> None:
        skipped.append(Skipped(str(error.filename), f"unreadable ({error.strerror})"))

    for folder, folders, names in os.walk(root, onerror=unreadable):
        here = Path(folder)
        for name in sorted(folders):
            if name.startswith(".") or name in _SKIPPED_FOLDERS:
                reason = "folder whose name begins with a dot" if name.startswith(".") else f"folder {name}"
                skipped.append(Skipped(_shown_name(here / name, root) + "/", reason))
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in _SKIPPED_FOLDERS)
        for name in sorted(names):
            if name.startswith("."):
                skipped.append(Skipped(_shown_name(here / name, root), "file whose name begins with a dot"))
            else:
                yield here / name


def _shown_name(path: Path, root: Path) -> str:
    """The path from the name of the folder that was given on."""
    return path.relative_to(root.parent).as_posix()


def _is_excluded(shown: str, exclude: Iterable[str]) -> bool:
    return any(
        fnmatch.fnmatch(shown, glob) or fnmatch.fnmatch(shown, f"*/{glob}") or fnmatch.fnmatch(shown, f"*/{glob}/*")
        for glob in exclude
    )


def _stat_source(path: Path, shown: str, skipped: list[Skipped]) -> DocumentSource | None:
    try:
        found = path.stat()
    except OSError as error:  # a link to nothing, or gone since
        skipped.append(Skipped(shown, f"unreadable ({error.strerror})"))
        return None
    if not path.is_file():  # a pipe would hold the reader up for ever
        skipped.append(Skipped(shown, "not a file"))
        return None
    return DocumentSource(path, shown, found.st_size, found.st_mtime_ns)
