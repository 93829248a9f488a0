"""Tables, PDF and Word files, each by the library of its format."""

from __future__ import annotations

import csv
import logging
import re
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime
from io import StringIO
from pathlib import Path

from rekal.documents.document_dates import read_date
from rekal.documents.document_records import DocumentError, DocumentFormat, DocumentItem, ReadOptions
from rekal.documents.formats.decode import read_text
from rekal.plain_text import lazy_pattern

_INSTALL = "pip install 'git-rekal[documents]'"
_SNIFFED = 8192
_ROWS_LENGTH = 1000  # characters of rows that stand together
_LARGEST_CELL = 1 << 20
_BROKEN_WORD = lazy_pattern(r"(?<=[\w\-.+/=%@:&?]{24})\n(?=[\w\-.+/=%@:&?])")
_FULL_LINE = 0.8  # of the widest line of its page
_MOST_UNPACKED = 512 << 20  # bytes of a Word file's text: more is a bomb


def read_table(path: Path, options: ReadOptions) -> Iterator[DocumentItem]:
    """Yield rows of a CSV file as ``column: value`` lines, some at a time, under the numbers of their rows."""
    text = options.scrub(read_text(path))
    csv.field_size_limit(_LARGEST_CELL)
    try:
        dialect = csv.Sniffer().sniff(text[:_SNIFFED], delimiters=",;\t|")
    except csv.Error:
        dialect = csv.excel
    rows = csv.reader(StringIO(text), dialect)
    try:
        names = next(rows, [])
        held: list[str] = []
        first = 2  # as a spreadsheet counts, where the names of the columns are row 1
        for number, row in enumerate(rows, 2):
            cells = [f"{name}: {cell}" for name, cell in zip(names, row, strict=False) if cell.strip()]
            held.append("; ".join(cells))
            if sum(map(len, held)) >= _ROWS_LENGTH:
                yield DocumentItem("\n".join(held), f"rows {first}-{number}", whole=True, scrubbed=True)
                held, first = [], number + 1
        if any(held):
            yield DocumentItem("\n".join(held), f"rows {first}-{first + len(held) - 1}", whole=True, scrubbed=True)
    except csv.Error as error:
        raise DocumentError(f"{path.name} is not a table that can be read ({error})") from None


def read_pdf(path: Path, options: ReadOptions) -> Iterator[DocumentItem]:
    """Yield the text of a PDF, page by page. DocumentError for one that is encrypted, damaged or has no text."""
    try:
        from pypdf import PdfReader
        from pypdf.errors import DependencyError, PyPdfError
    except ImportError:
        raise DocumentError("PDF needs pypdf", _INSTALL) from None
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)  # what it finds wrong and mends is no news to anybody
    # What a broken file makes of the library: its own errors, and those of Python where it trusts the file.
    broken = (PyPdfError, ValueError, KeyError, TypeError, AttributeError, IndexError, RecursionError, OverflowError)
    found = False
    try:
        reader = PdfReader(path)
        if reader.is_encrypted and not reader.decrypt(""):
            raise DocumentError(f"{path.name} is encrypted", "save it without a password")
        meta = reader.metadata
        title = str(meta.title) if meta and meta.title else None
        when = read_date(meta.creation_date) if meta else None
        for number, page in enumerate(reader.pages, 1):
            if said := page.extract_text().strip():
                found = True
                yield DocumentItem(_join_broken_words(said), f"p. {number}", title, when)
    except DependencyError:
        raise DocumentError(f"{path.name} is encrypted", "save it without a password") from None
    except broken as error:
        raise DocumentError(f"{path.name} is not a PDF that can be read ({_first_line(error)})") from None
    if not found:
        raise DocumentError(f"{path.name} has no text: its pages are pictures", "run it through OCR first")


def _join_broken_words(page: str) -> str:
    """A page whose layout broke no long word (an address, a key) at the end of a line: in two it is not found again."""
    if not _BROKEN_WORD.search(page):
        return page
    widest = max(map(len, page.split("\n")))

    def join(broken: re.Match[str]) -> str:
        line = broken.start() - page.rfind("\n", 0, broken.start()) - 1
        return "" if line >= _FULL_LINE * widest else "\n"  # a short line ends where its text does

    return _BROKEN_WORD.sub(join, page)


def read_word(path: Path, options: ReadOptions) -> Iterator[DocumentItem]:
    """Yield the paragraphs and tables of a Word file under its headings. DocumentError for one that is damaged."""
    try:
        from docx import Document
        from docx.opc.exceptions import OpcError
        from docx.table import Table
    except ImportError:
        raise DocumentError("Word files need python-docx", _INSTALL) from None
    try:
        _refuse_bomb(path)
        document = Document(str(path))
        core = document.core_properties
        title, when = core.title or None, _aware(core.modified or core.created)
        place = ""
        for block in document.iter_inner_content():
            if isinstance(block, Table):
                rows = ["; ".join(cell.text.strip() for cell in row.cells) for row in block.rows]
                yield DocumentItem("\n".join(rows), place, title, when, core.author or None)
                continue
            said = block.text.strip()
            if said and block.style is not None and (block.style.name or "").startswith(("Heading", "Title")):
                place = f"#{said}"[:120]
                title = title or said
            if said:
                yield DocumentItem(said, place, title, when, core.author or None)
    except (OpcError, zipfile.BadZipFile, KeyError, ValueError, AttributeError, SyntaxError) as error:
        raise DocumentError(f"{path.name} is not a Word file that can be read ({_first_line(error)})") from None


def _refuse_bomb(path: Path) -> None:
    with zipfile.ZipFile(path) as packed:
        if sum(one.file_size for one in packed.infolist() if one.filename.endswith(".xml")) > _MOST_UNPACKED:
            raise DocumentError(f"{path.name} unpacks to more than {_MOST_UNPACKED >> 20} MiB", "split it")


def _aware(when: datetime | None) -> datetime | None:
    return None if when is None else when.replace(tzinfo=UTC) if when.tzinfo is None else when


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0][:80]


def _is_pdf(head: bytes) -> bool:
    return b"%PDF-" in head[:1024]


def _is_word(head: bytes) -> bool:
    return head.startswith(b"PK\x03\x04") and (b"word/" in head or b"[Content_Types].xml" in head[:200])


OFFICE_FORMATS = (
    DocumentFormat("pdf", (".pdf",), read_pdf, _is_pdf),
    DocumentFormat("word", (".docx",), read_word, _is_word),
    DocumentFormat("table", (".csv", ".tsv"), read_table),
)
