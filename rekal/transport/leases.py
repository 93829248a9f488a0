"""Remotes that still have a ref as it was before something was forgotten.

The next push there replaces the ref instead of adding to it, if and only if the remote still has the tip that was
noted: git's lease. A note is made before the ref changes and goes when the remote has taken the new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rekal.transport.refs import OwnRef

_FOLDER = "leases"


def note(run: Path, remote: str, tip: str) -> None:
    """Remember what a remote has, unless an earlier note says so: it has not moved since."""
    path = _path(run, remote)
    path.parent.mkdir(exist_ok=True)
    if not path.exists():
        path.write_text(tip, encoding="ascii")


def done(run: Path, remote: str) -> None:
    """The remote has the ref as it is now."""
    _path(run, remote).unlink(missing_ok=True)


def options(run: Path, remote: str, ref: OwnRef) -> Sequence[str]:
    """What ``git push`` needs to be told to replace the ref there; nothing where adding to it will do."""
    try:
        tip = _path(run, remote).read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return ()
    return (f"--force-with-lease={ref.name}:{tip}",)


def _path(run: Path, remote: str) -> Path:
    # A remote's name may hold slashes.
    return run / _FOLDER / remote.replace("%", "%25").replace("/", "%2F")
