"""The writer's lock: a file that names its holder.

``flock`` is released by the kernel when its process dies, so there is no stale lock to break; the name written into
the file is only for the sentence that a waiting process prints.
"""

from __future__ import annotations

import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import msgspec

from rekal.errors import NotInitialised, StoreBusy, StoreUnwritable


@contextmanager
def hold_lock(path: Path, *, wait: float, purpose: str) -> Iterator[None]:
    """Hold the lock at ``path`` for the block.

    Raises :class:`StoreBusy`, naming the holder, when it is not free within ``wait`` seconds.
    """
    try:
        # The directory is not made here: a worker that outlives `rekal clean` would bring it back.
        handle = os.open(path, os.O_RDWR | os.O_CREAT | getattr(os, "O_NOFOLLOW", 0), 0o600)
    except FileNotFoundError:
        raise NotInitialised("this repository has no rekal store", "run `rekal init` first") from None
    except OSError as error:
        raise StoreUnwritable(f"cannot write {path.parent} ({error.strerror})", "check its permissions") from None
    try:
        _acquire(handle, path, wait)
        os.ftruncate(handle, 0)
        # Not os.pwrite, which Windows lacks. The handle is fresh: it stands at the start.
        os.write(handle, f"{os.getpid()} {purpose}\n".encode())
        yield
    finally:
        os.close(handle)


def _acquire(handle: int, path: Path, wait: float) -> None:
    until = time.monotonic() + wait
    pause = 0.005
    while not _try_lock(handle):
        if time.monotonic() >= until:
            raise StoreBusy(f"the store is being written by {name_holder(path)}", "try again in a moment")
        time.sleep(pause)
        pause = min(pause * 2, 0.1)


def _try_lock(handle: int) -> bool:
    if sys.platform == "win32":
        import msvcrt

        try:
            msvcrt.locking(handle, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True
    import fcntl

    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


class LockHolder(msgspec.Struct, frozen=True):
    """The process that holds a lock: its id, its purpose, the seconds since it took it, True if it is stopped."""

    pid: int
    purpose: str
    seconds: float
    stopped: bool


def find_holder(path: Path) -> LockHolder | None:
    """Find the process that holds the lock at ``path`` now; None when nobody does."""
    try:
        handle = os.open(path, os.O_RDWR)
    except OSError:
        return None
    try:
        if _try_lock(handle):
            return None
        # It is written when the lock is taken, and then no more.
        seconds = max(0.0, time.time() - os.fstat(handle).st_mtime)
        pid, _, purpose = os.pread(handle, 200, 0).decode("utf-8", "replace").strip().partition(" ")
    finally:
        os.close(handle)
    return LockHolder(int(pid), purpose, seconds, _is_stopped(int(pid))) if pid.isdigit() else None


def _is_stopped(pid: int) -> bool:
    """True if a process was stopped by a signal; where there is no ``/proc``, False."""
    try:
        return (
            Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace").rpartition(")")[2].split()[0] == "T"
        )
    except (OSError, IndexError):
        return False


def name_holder(path: Path) -> str:
    """Name in words the process that holds (or last held) the lock."""
    try:
        pid, _, purpose = path.read_text(encoding="utf-8", errors="replace").strip().partition(" ")
    except OSError:
        return "another process"
    return f"process {pid} ({purpose})" if pid else "another process"
