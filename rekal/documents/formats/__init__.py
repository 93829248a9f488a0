"""Which format a file has, by its first bytes and its name, and the formats that other distributions add."""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from importlib.metadata import entry_points
from pathlib import Path

from rekal.documents.document_records import DocumentError, DocumentFormat, DocumentItem, DocumentSource, ReadOptions
from rekal.documents.formats.mail import MAIL_FORMATS
from rekal.documents.formats.marked_text import PROSE_FORMATS
from rekal.documents.formats.messages import MESSAGE_FORMATS
from rekal.documents.formats.office import OFFICE_FORMATS

ENTRY_POINTS = "rekal.documents"
"""Group of the entry points by which another distribution adds a :class:`DocumentFormat`."""

BUILT_IN: tuple[DocumentFormat, ...] = (*OFFICE_FORMATS, *MAIL_FORMATS, *MESSAGE_FORMATS, *PROSE_FORMATS)

_HEAD = 8192
_MARKED = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)


def load_formats() -> list[DocumentFormat]:
    """Load added formats, in order of their names, then our own: whoever adds a reader of a suffix means it."""
    added = [point.load() for point in sorted(entry_points(group=ENTRY_POINTS), key=lambda one: one.name)]
    return [*(one for one in added if isinstance(one, DocumentFormat)), *BUILT_IN]


def choose_format(
    source: DocumentSource, formats: list[DocumentFormat], wanted: str | None = None
) -> DocumentFormat | None:
    """Choose the format that reads a file; None for a binary file that no format knows, or of an unknown suffix.

    The first bytes decide before the name does: a PDF called ``.txt`` is a PDF. ``wanted`` is a format's name.
    DocumentError where the file cannot be opened.
    """
    if wanted:
        return next((one for one in formats if one.name == wanted), None)
    head = _read_first_bytes(source.path)
    for one in formats:
        if one.recognise is not None and one.recognise(head):
            return one
    if b"\0" in head and not head.startswith(_MARKED):
        return None
    suffix = source.path.suffix.lower()
    return next((one for one in formats if suffix in one.suffixes), None)


def _read_first_bytes(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(_HEAD)
    except OSError as error:
        raise DocumentError(f"{path.name} cannot be read ({error.strerror})", "check its permissions") from None


def read_items(source: DocumentSource, chosen: DocumentFormat, options: ReadOptions) -> Iterator[DocumentItem]:
    """Yield the items of a file; DocumentError when it goes away or its disk fails meanwhile."""
    try:
        yield from chosen.read(source.path, options)
    except OSError as error:
        raise DocumentError(f"{source.shown} cannot be read ({error.strerror or error})", "try again") from None
