"""A stamp of the refs that fetches bring, made of a few stats: cheap enough to compare with every recall.

Loose refs are replaced by renames, which change their directory's time; packed refs and reftables are one file each. A
pack-refs or a deleted branch changes it too and costs one look at the refs.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

from rekal.files import write_atomically
from rekal.store.layout import REFS_ASKED, REFS_SEEN

_MOST = 2_000  # directories looked at


def read_stamp(common_dir: Path) -> str:
    """Return the stamp of the refs with teammates' work; it changes whenever one of them does."""
    digest = hashlib.blake2b(digest_size=12)
    for path in (common_dir / "packed-refs", common_dir / "reftable" / "tables.list"):
        digest.update(_stat(path))
    for number, folder in enumerate(_ref_folders(str(common_dir / "refs" / "rekal-remote"))):
        digest.update(_stat(Path(folder)))  # a ref that is written is renamed into place
        if number == _MOST:
            break
    return digest.hexdigest()


def _stat(path: Path) -> bytes:
    try:
        found = path.stat()
    except OSError:
        return b"-"
    return f"{found.st_ino} {found.st_size} {found.st_mtime_ns};".encode()


def _ref_folders(path: str) -> Iterator[str]:
    yield path
    try:
        with os.scandir(path) as entries:
            below = sorted(entry.path for entry in entries if entry.is_dir(follow_symlinks=False))
    except OSError:
        return
    for one in below:
        yield from _ref_folders(one)


def is_unread(run: Path, now: str) -> bool:
    """True if the refs of stamp ``now`` were not imported yet."""
    return _read_saved(run / REFS_SEEN) != now


def note_imported(run: Path, now: str) -> None:
    """Remember that everything that was there at ``now`` is in the ledger."""
    _write_stamp(run / REFS_SEEN, now)


def ask_once(run: Path, now: str) -> bool:
    """True the first time it is asked about the stamp ``now`` while those refs wait to be imported."""
    if not is_unread(run, now) or _read_saved(run / REFS_ASKED) == now:
        return False
    _write_stamp(run / REFS_ASKED, now)
    return True


def _read_saved(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii")
    except (OSError, UnicodeDecodeError):
        return ""


def _write_stamp(path: Path, text: str) -> None:
    write_atomically(path, text.encode("ascii"))
