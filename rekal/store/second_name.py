"""The second name of data.db, inside the git directory: ``git clean -fdx`` takes the first one, and not the last copy.

A hard link: both names are one file, so that nothing is written twice. Where links cannot be, a copy. The write-ahead
log has one name only, beside the first: a ledger that was closed has none, and what one held that ``git clean`` took is
captured again, since where reading of the transcripts stopped was written in the same transaction.
"""

from __future__ import annotations

import os
from datetime import UTC, datetime
from pathlib import Path

from rekal.store.layout import Layout

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
