"""Before the files of a store are used: they must be this clone's own, stand in their places, and data.db be there.

A checkout may bring any file under any name, also one that git ignores. So nothing under ``.rekal`` counts but what
this clone made: files that git tracks, links, and files of another user are refused, each with one sentence.
"""

from __future__ import annotations

import contextlib
import os
import stat
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from rekal.errors import Refused
from rekal.files import read_or_empty, write_atomically
from rekal.git import Repo
from rekal.store.layout import CHECKED_INDEX, Layout
from rekal.store.locks import hold_lock

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


# Moving what only this clone may say from ``.rekal/run``, where 0.1.0 kept it, into the git directory.
#
# A move that is cut short goes on with the next command: each file is moved in one step, and the old directory goes
# last.

_OURS = b"# >>> managed by rekal"
_LOCKS = ("lock", "index.lock", "transport.lock")


def has_old_places(layout: Layout, common_dir: Path) -> bool:
    """True if 0.1.0 set this clone up and nothing was moved yet. The proof is in the git directory: no clone has it."""
    if layout.home is None or not ((layout.directory / "run").is_dir() or (layout.directory / "spool").is_dir()):
        return False
    return layout.home.is_dir() or _OURS in read_or_empty(common_dir / "info" / "exclude")


def move_old_places(layout: Layout) -> None:
    """Move settings, salt, record, logs, marks and waiting events. Idempotent. The caller has refused foreign files."""
    import shutil  # 2 ms that hardly any command needs

    old = layout.directory / "run"
    layout.create()
    with hold_lock(layout.run / "lock", wait=30.0, purpose="moving the store's own files"):
        if old.is_dir():
            # A worker of 0.1.0 that still runs holds this one, and would write where nobody looks any more.
            with hold_lock(old / "lock", wait=30.0, purpose="moving the store's own files"):
                _move_all(old, layout.run)
        _move_all(layout.directory / "spool", layout.spool)
        for directory in (old, layout.directory / "spool"):
            shutil.rmtree(directory, ignore_errors=True)


def _move_all(source: Path, target: Path) -> None:
    if not source.is_dir():
        return
    for path in sorted(source.iterdir()):
        if path.name in _LOCKS:
            continue
        if path.is_dir():
            (target / path.name).mkdir(mode=0o700, exist_ok=True)
            _move_all(path, target / path.name)
        elif not (target / path.name).exists():
            _move_file(path, target / path.name)


def _move_file(path: Path, target: Path) -> None:
    try:
        os.rename(path, target)  # noqa: PTH104 - no replacing: on Windows a name that is taken stays
    except OSError:  # the git directory is on another disk
        write_atomically(target, path.read_bytes())
        path.unlink(missing_ok=True)


# The second name of data.db, inside the git directory: ``git clean -fdx`` takes the first one, and not the last copy.
#
# A hard link: both names are one file, so that nothing is written twice. Where links cannot be, a copy. The write-ahead
# log has one name only, beside the first: a ledger that was closed has none, and what one held that ``git clean``
# took is captured again, since where reading of the transcripts stopped was written in the same transaction.

_RESTORED = "data.db was gone, as after `git clean -fdx`; it was put back from the git directory"


def keep_second_name(layout: Layout) -> None:
    """Give the ledger's file its second name where it lacks it. The caller holds the writer's lock and closed it."""
    if layout.home is not None and layout.data.exists():
        renew_second_name(layout.data, layout.run)


def renew_second_name(data: Path, run: Path) -> None:
    """Make ``data.db`` in ``run`` a name of ``data`` (or a copy of it), whatever it was before."""
    if run.parent == data.parent:
        return  # the personal store: no git cleans it
    second = run / "data.db"
    if second.exists() and os.path.samestat(data.stat(), second.stat()):
        return
    part = second.with_name(f".{second.name}.new")
    part.unlink(missing_ok=True)
    try:
        part.hardlink_to(data)
    except OSError:  # another disk, or a file system without hard links
        _copy(data, part)
    part.replace(second)


def restore_first_name(layout: Layout) -> bool:
    """Put data.db back where it is gone and its second name is left. Returns whether it was."""
    if layout.home is None or layout.data.exists() or not layout.second.exists():
        return False
    layout.create()
    # A log without its database belongs to no file that is put back.
    layout.data.with_name(layout.data.name + ".wal").unlink(missing_ok=True)
    try:
        layout.data.hardlink_to(layout.second)
    except FileExistsError:
        return False  # another process was first
    except OSError:
        part = layout.data.with_name(f".{layout.data.name}.new")
        _copy(layout.second, part)
        part.replace(layout.data)
    with layout.log.open("a", encoding="utf-8") as file:
        file.write(f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ} {_RESTORED}\n")
    return True


def _copy(source: Path, target: Path) -> None:
    import shutil  # 2 ms that hardly any command needs

    shutil.copyfile(source, target)
