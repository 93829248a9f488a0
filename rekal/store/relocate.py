"""Moving what only this clone may say from ``.rekal/run``, where 0.1.0 kept it, into the git directory.

A move that is cut short goes on with the next command: each file is moved in one step, and the old directory goes last.
"""

from __future__ import annotations

import os
from pathlib import Path

from rekal.files import read_or_empty, write_atomically
from rekal.store.layout import Layout
from rekal.store.locks import hold_lock

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
