"""Small careful file operations for every room: nothing half written, nothing left behind."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path


def read_or_empty(path: Path) -> bytes:
    """The file's bytes; nothing when there is no such file or it cannot be read."""
    try:
        return path.read_bytes()
    except (FileNotFoundError, NotADirectoryError, IsADirectoryError, PermissionError):
        return b""


def write_atomically(path: Path, data: bytes, mode: int = 0o600) -> None:
    """Write ``path`` in one step: a reader finds the old bytes or the new ones. A link in its place is replaced."""
    temporary = path.with_name(f".{path.name}.{os.getpid()}.rekal-new")
    # Nobody else's file or link of that name is written through.
    temporary.unlink(missing_ok=True)
    handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_NOFOLLOW", 0), mode)
    try:
        with open(handle, "wb") as file:  # noqa: PTH123 - a handle, not a path
            file.write(data)
        temporary.replace(path)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise


def _temporary(path: Path) -> Path:
    return path.with_name(f".{path.name}.rekal-new")


def write_through_link(path: Path, data: bytes, mode: int | None = None) -> None:
    """Write ``path`` in one step, so that nobody sees half of it. A link stays a link: its target is written.

    ``mode`` is the new file's; without it an existing file keeps its own.
    """
    target = path.resolve()
    temporary = _temporary(target)
    temporary.write_bytes(data)
    if mode is not None:
        temporary.chmod(mode)
    elif target.exists():
        import shutil  # 2 ms, with the compressors that it loads

        shutil.copymode(target, temporary)
    temporary.replace(target)


def remove_unfinished(path: Path) -> None:
    """Remove what an interrupted :func:`write_through_link` left beside ``path``."""
    with contextlib.suppress(NotADirectoryError):  # core.hooksPath=/dev/null
        _temporary(path.resolve()).unlink(missing_ok=True)


def duplicate_file(path: Path, copy: Path) -> None:
    """Give a file or link a second name, replacing what had it; the original stays where it is."""
    copy.unlink(missing_ok=True)
    if path.is_symlink():
        copy.symlink_to(path.readlink())
        return
    try:
        copy.hardlink_to(path)
    except OSError:  # a file system without hard links
        import shutil  # see above

        shutil.copy2(path, copy)


def stays_below(path: Path, directory: Path) -> bool:
    """True if ``path``, all links followed, is inside ``directory``."""
    return path.resolve().is_relative_to(directory.resolve())


def name_is_taken(path: Path) -> bool:
    """True if something has this name, a dangling link included."""
    return os.path.lexists(path)


def have_same_bytes(one: Path, other: Path) -> bool:
    """True if both are there with the same bytes."""
    return name_is_taken(one) and name_is_taken(other) and read_or_empty(one) == read_or_empty(other)
