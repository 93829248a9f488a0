"""Importing a file of another memory program: recognised by what is in it."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path

from rekal.app.desk import Desk
from rekal.app.transfer.databases import read_foreign_database
from rekal.app.transfer.graph_lines import read_graph_lines
from rekal.app.transfer.items import ImportReport, Incoming, write_incoming
from rekal.app.transfer.notes import is_notes_folder, read_notes
from rekal.errors import UsageError

_SQLITE = b"SQLite format 3\0"
_LARGEST = 256 << 20


def import_file(desk: Desk, path: Path, *, personal: bool = False) -> ImportReport:
    """Import ``path`` into the log. The same file twice adds nothing; the file itself is only read.

    UsageError for what is not recognised, SourceError for a database that cannot be read.
    """
    return write_incoming(desk, _import_read(path), personal=personal)


def _import_read(path: Path) -> Incoming:
    if not path.exists():
        raise UsageError(f"there is no {path}", "give a file or a folder")
    if path.is_dir():
        if is_notes_folder(path):
            return read_notes(path)
        raise UsageError(f"{path} holds no Markdown notes with front matter", "give a folder of basic-memory")
    if path.stat().st_size > _LARGEST:
        raise UsageError(f"{path} is larger than {_LARGEST >> 20} MiB", "split it")
    with path.open("rb") as file:
        head = file.read(len(_SQLITE))
    if head == _SQLITE:
        return read_foreign_database(path)
    stamp = datetime.fromtimestamp(path.stat().st_mtime, UTC)
    found = read_graph_lines(path.read_bytes().decode("utf-8", "replace"), stamp)
    if not found.items:
        raise UsageError(f"{path} holds nothing that rekal can read", "give JSON lines or a SQLite store")
    return found
