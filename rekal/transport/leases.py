"""Remotes that still have a ref as it was before something was forgotten.

The next push there replaces the ref instead of adding to it, if and only if the remote still has the tip that was
noted: git's lease. A note is made before the ref changes and goes when the remote has taken the new one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from rekal.transport.refs import OwnRef

_FOLDER = "leases"


def note_lease(run: Path, remote: str, tip: str) -> None:
    """Remember the tip that a remote has, unless an earlier note did: the remote has not moved since."""
    path = _lease_path(run, remote)
    path.parent.mkdir(exist_ok=True)
    if not path.exists():
        path.write_text(tip, encoding="ascii")


def drop_lease(run: Path, remote: str) -> None:
    """Forget the note: the remote has the ref as it is now."""
    _lease_path(run, remote).unlink(missing_ok=True)


def lease_options(run: Path, remote: str, ref: OwnRef) -> Sequence[str]:
    """Return options for ``git push`` that replace the ref there; none where adding to it will do."""
    try:
        tip = _lease_path(run, remote).read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return ()
    return (f"--force-with-lease={ref.name}:{tip}",)


def _lease_path(run: Path, remote: str) -> Path:
    # A remote's name may hold slashes.
    return run / _FOLDER / remote.replace("%", "%25").replace("/", "%2F")
