"""Markdown, plain text and HTML: sections under their headings."""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path

import yaml

from rekal.documents.document_dates import read_date
from rekal.documents.document_records import DocumentError, DocumentFormat, DocumentItem, ReadOptions
from rekal.documents.formats.decode import read_text

_FRONT_MATTER = re.compile(r"\A---[ \t]*\n(.*?)\n(?:---|\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL)
_LARGEST_FRONT_MATTER = 16384
_HEADING = re.compile(r"^(#{1,6})[ \t]+(.+?)[ \t#]*$")
_FENCE = re.compile(r"^[ \t]*(```|~~~)")
_DATE_LINE = re.compile(r"^(?:date|datum|fecha)[ \t]*:[ \t]*(.+)$", re.IGNORECASE)
_LINES_WITH_DATE = 12
_LONGEST_PLACE = 120
_HTML_HEADS = {f"h{level}" for level in range(1, 7)}
_NOT_TEXT = ("script", "style", "template", "noscript", "head")
_BLOCKS = "p, li, pre, blockquote, td, th, dt, dd, h1, h2, h3, h4, h5, h6, figcaption"


def read_markdown(path: Path, options: ReadOptions) -> Iterator[DocumentItem]:
    """Yield paragraphs of a Markdown file, each with the headings that it stands under."""
    text = options.scrub(read_text(path))
    meta = read_front_matter(text)
    body = _FRONT_MATTER.sub("", text, count=1) if meta is not None else text
    when = _date_of(meta or {}, body)
    yield from _sections(body, str((meta or {}).get("title") or "") or None, when, headings=True)


def read_plain_text(path: Path, options: ReadOptions) -> Iterator[DocumentItem]:
    """Yield the paragraphs of a text file."""
    text = options.scrub(read_text(path))
    yield from _sections(text, None, _date_of({}, text), headings=False)


def read_front_matter(text: str) -> dict[str, object] | None:
    """Read the YAML block that a note begins with; None without one, and for one that is not a mapping."""
    found = _FRONT_MATTER.match(text)
    if found is None or len(found[1]) > _LARGEST_FRONT_MATTER:
        return None
    try:
        meta = yaml.safe_load(found[1])
    except (yaml.YAMLError, ValueError, RecursionError):  # ValueError: a date such as 2026-02-31
        return None
    return {str(name): value for name, value in meta.items()} if isinstance(meta, dict) else None


def _date_of(meta: dict[str, object], text: str) -> datetime | None:
    for name in ("date", "created", "updated"):
        if when := read_date(meta.get(name)):
            return when
    for line in text.split("\n", _LINES_WITH_DATE)[:_LINES_WITH_DATE]:
        if (found := _DATE_LINE.match(line.strip().strip("*_"))) and (when := read_date(found[1].strip(" *_"))):
            return when
    return None


def _sections(text: str, title: str | None, when: datetime | None, *, headings: bool) -> Iterator[DocumentItem]:
    above: list[tuple[int, str]] = []
    held: list[str] = []
    fenced = alone = False
    place = ""

    def paragraph() -> Iterator[DocumentItem]:
        # A heading with nothing under it is no text of its own: it is in the place of what follows.
        if not alone and (said := "\n".join(held).strip()):
            yield DocumentItem(said, place, title, when, scrubbed=True)
        held.clear()

    for line in text.split("\n"):
        fenced ^= bool(_FENCE.match(line))
        heading = _HEADING.match(line) if headings and not fenced else None
        if heading:
            yield from paragraph()
            level, name = len(heading[1]), heading[2]
            above = [one for one in above if one[0] < level] + [(level, name)]
            title = title or name
            alone = True
            place = ("#" + " > ".join(head for _, head in above))[:_LONGEST_PLACE]
        elif not line.strip() and not fenced:
            if not alone:
                yield from paragraph()
            continue
        else:
            alone = False
        held.append(line)
    yield from paragraph()


def read_html(path: Path, options: ReadOptions) -> Iterator[DocumentItem]:
    """Yield the blocks of text of an HTML page under its headings. DocumentError without the library."""
    soup = parse_html(read_text(path))
    title = soup.title.get_text(" ", strip=True) if soup.title else None
    when = next((found for tag in soup.select("time[datetime], meta[content]") if (found := _html_date(tag))), None)
    place = ""
    for block in soup.select(_BLOCKS):
        if block.find_parent(_NOT_TEXT) or block.select_one(_BLOCKS):
            continue  # an outer block's text is that of its inner ones
        said = block.get_text(" ", strip=True)
        if block.name in _HTML_HEADS:
            place = f"#{said}"[:_LONGEST_PLACE]
        if said:
            yield DocumentItem(said, place, title, when)


def _html_date(tag: object) -> datetime | None:
    get = getattr(tag, "get", None)
    if get is None:
        return None
    if get("datetime"):
        return read_date(get("datetime"))
    named = f"{get('name') or ''}{get('property') or ''}".lower()
    return read_date(get("content")) if "date" in named or "published_time" in named else None


def parse_html(text: str):  # type: ignore[no-untyped-def]
    """Parse HTML with Beautiful Soup. DocumentError where it is not installed."""
    try:
        from bs4 import BeautifulSoup
    except ImportError:
        raise DocumentError("HTML needs Beautiful Soup", "pip install 'git-rekal[documents]'") from None
    return BeautifulSoup(text, "html.parser")


def html_to_text(text: str) -> str:
    """Return the text of an HTML page, a block a line. DocumentError where the library is not installed."""
    soup = parse_html(text)
    for tag in soup(list(_NOT_TEXT)):
        tag.decompose()
    said: str = soup.get_text("\n", strip=True)
    return said


def _is_html(head: bytes) -> bool:
    start = head.lstrip(b"\xef\xbb\xbf \t\r\n")[:64].lower()
    return start.startswith((b"<!doctype html", b"<html"))


PROSE_FORMATS = (
    DocumentFormat("html", (".html", ".htm", ".xhtml"), read_html, _is_html),
    DocumentFormat("markdown", (".md", ".markdown", ".mdx", ".rst", ".adoc", ".org"), read_markdown),
    DocumentFormat("text", (".txt", ".text", ".log", ".tex", ""), read_plain_text),
)
