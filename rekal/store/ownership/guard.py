"""The one place that says whether what stands under ``.rekal`` is this clone's own.

A checkout may bring any file under any name, also one that git ignores. So nothing under ``.rekal`` counts but what
this clone made: files that git tracks, links, and files of another user are refused, each with one sentence.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import msgspec

from rekal.errors import Refused
from rekal.files import read_or_empty, write_atomically
from rekal.git import Repo
from rekal.store.layout import CHECKED_INDEX, Layout

_SHARED = ".rekal/config.yml"


def refuse_foreign_files(layout: Layout, repo: Repo) -> None:
    """Raise :class:`rekal.errors.Refused` where something in the store's place is tracked, a link or another user's."""
    for path in _entries(layout):
        _refuse_odd(path, repo)
    if not repo.bare and layout.directory.is_dir():
        _refuse_tracked(layout, repo)


def _entries(layout: Layout) -> Iterator[Path]:
    """Paths of the store: its directories and what lies in them, two levels deep."""
    for directory in dict.fromkeys((layout.directory, layout.run)):
        if not os.path.lexists(directory):
            continue
        yield directory
        if directory.is_symlink() or not directory.is_dir():
            continue
        for path in sorted(directory.iterdir()):
            yield path
            if path.name in ("vectors", "spool", "run", "documents") and path.is_dir() and not path.is_symlink():
                yield from sorted(path.iterdir())


def _refuse_odd(path: Path, repo: Repo) -> None:
    try:
        found = path.lstat()
    except FileNotFoundError:
        return  # a worker has drained it since
    if stat.S_ISLNK(found.st_mode):
        raise Refused(f"{path} is a link, and rekal follows none", "remove it and run `rekal init`")
    # git itself has looked at who owns its directory; what stands beside it is its owner's or ours.
    if hasattr(os, "getuid") and found.st_uid not in (os.getuid(), repo.common_dir.stat().st_uid):
        raise Refused(f"{path} belongs to another user", "remove it and run `rekal init`")
    if path.suffix == ".db" and not stat.S_ISREG(found.st_mode):
        raise Refused(f"{path} is not a file", "remove it and run `rekal init`")


def _refuse_tracked(layout: Layout, repo: Repo) -> None:
    index = repo.common_dir / "index"
    try:
        found = index.stat()
    except FileNotFoundError:
        return  # nothing was ever added
    # git is asked once for each state of its index: a process at every recall would cost more than the recall.
    now = f"{found.st_ino} {found.st_size} {found.st_mtime_ns}".encode()
    seen = layout.run / CHECKED_INDEX
    if read_or_empty(seen) == now:
        return
    main = msgspec.structs.replace(repo, worktree=repo.root)
    listed = main.ask("ls-files", "-z", "--", ":(top,icase).rekal")
    names = [name for name in (listed or "").split("\0") if name and name != _SHARED]
    if names:
        raise Refused(
            f"git tracks {names[0]}, and what comes with a checkout is not taken for this clone's memory",
            "remove it with `git rm -r --cached` and `rm -r`, then run `rekal init`",
        )
    if layout.run.is_dir():
        with contextlib.suppress(OSError):  # a store that cannot be written is looked at again next time
            write_atomically(seen, now)
