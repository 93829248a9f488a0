"""The turn of a background worker, taken before anything heavy is imported.

Each hook starts a worker, and the locks decide: one works, one waits, any other ends. A hundred commits in a row start
a hundred processes, so one that only waits or ends costs 10 MB and 20 ms instead of 80 MB and a quarter of a second:
this module imports nothing that the interpreter has not loaded, and `__main__` calls it first.
"""

from __future__ import annotations

import os
import sys
import time

TYPE_CHECKING = False  # `typing` would cost more than all of this file
if TYPE_CHECKING:
    from pathlib import Path

WORKING, WAITING = "worker.lock", "worker.waiting"
LONGEST_TURN = 6 * 3600.0  # seconds that a worker waits for the one before it; a back-fill of years takes an hour

_GIVEN = 9  # handle on which the hook has taken the lock of the one that waits, where the system has flock(1)

_held: list[int] = []


def take_turn_early() -> bool:
    """Take the turn by the locks in the current directory, waiting for it. False where this process is to end at once.

    True also where the locks cannot be had: then the worker takes its turn itself.
    """
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        flags = os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW
        waiting = _GIVEN if _is_given() else os.open(WAITING, flags, 0o600)
        working = os.open(WORKING, flags, 0o600)
    except OSError:
        return True  # the worker meets it, too, and says what it is
    try:
        fcntl.flock(waiting, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False  # the one that waits has not looked at the spool yet: it finds this hook's event
    _write_name(waiting, "waiting")
    end, pause = time.monotonic() + LONGEST_TURN, 0.005
    while True:
        try:
            fcntl.flock(working, fcntl.LOCK_EX | fcntl.LOCK_NB)
            break
        except BlockingIOError:
            if time.monotonic() > end:
                return False
            time.sleep(pause)
            pause = min(pause * 2, 0.1)
    _write_name(working, "working")
    # Before the spool is read: a hook that finds nobody waiting from here on starts the next worker.
    os.ftruncate(waiting, 0)
    os.close(waiting)
    _held.append(working)
    return True


def _is_given() -> bool:
    try:
        return os.path.samestat(os.fstat(_GIVEN), os.stat(WAITING, follow_symlinks=False))  # noqa: PTH116
    except OSError:
        return False


def _write_name(handle: int, purpose: str) -> None:
    os.ftruncate(handle, 0)
    os.lseek(handle, 0, os.SEEK_SET)
    os.write(handle, f"{os.getpid()} {purpose}\n".encode())


def is_turn_held(working_lock: Path) -> bool:
    """True if this process took its turn early, and by this very lock."""
    try:
        return any(os.path.samestat(os.fstat(handle), working_lock.stat()) for handle in _held)
    except OSError:
        return False  # `rekal clean` was quicker
