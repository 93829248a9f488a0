"""Pages of HTML: every text that is put into one is cleaned of hidden characters and escaped.

A template never says what is safe: the environment escapes everywhere, and the few pieces of markup are the templates'
own. Links are made here, quoted, from ids, names of commits and paths: no address ever comes out of a store.
"""

from __future__ import annotations

import functools
import re
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from urllib.parse import quote, urlencode

import jinja2
import msgspec
from markupsafe import Markup

from rekal import __version__
from rekal.plain_text import clean_line, clean_text

_HERE = Path(__file__).parent
_FENCE = re.compile(r"^[ \t]*(```|~~~)", re.MULTILINE)
_DAY = 86_400.0
_LONGEST_NAME = 1_000  # characters of a name in a link


class Block(msgspec.Struct, frozen=True):
    """A part of a turn: prose, or ``code`` that stood between fences."""

    text: str
    code: bool


class Piece(msgspec.Struct, frozen=True):
    """A part of an excerpt; ``hit``: it is a word of the question."""

    text: str
    hit: bool


def render_page(template: str, fields: Mapping[str, object]) -> str:
    """Return a template with ``fields`` put in."""
    return _page_environment().get_template(template).render(fields)


@functools.cache
def _page_environment() -> jinja2.Environment:
    found = jinja2.Environment(
        loader=jinja2.FileSystemLoader(_HERE / "templates"),
        autoescape=True,
        finalize=_clean_value,
        undefined=jinja2.StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        auto_reload=False,
    )
    found.globals.update(
        version=__version__,
        session_link=session_link,
        commit_link=commit_link,
        file_link=file_link,
        memory_link=memory_link,
        with_query=with_query,
        source_link=_source_link,
    )
    found.filters.update(
        minute=_format_minute,
        day=_format_date,
        ago=_format_age,
        short=lambda text: clean_line(str(text))[:10],
        sha=lambda text: clean_line(str(text))[:8],
        number=lambda value: f"{value:,}",
        bytes=_format_bytes,
        line=shorten,
        blocks=_split_fences,
        counted=_count_noun,
    )
    return found


def _clean_value(value: object) -> object:
    """Return a value as it goes into a page, before it is escaped. Markup is a template's own, and was cleaned."""
    if value is None:
        return ""
    return clean_text(value) if isinstance(value, str) and not isinstance(value, Markup) else value


def _quote_name(name: str, safe: str = "") -> str:
    # What a store calls a name may be a megabyte, and a link to it is on every page that shows it.
    return quote(name[:_LONGEST_NAME].encode("utf-8", "surrogateescape"), safe=safe)


def session_link(session_id: str, turn: int | None = None) -> str:
    """Return the path of a session, or of one turn of it."""
    where = f"/session/{_quote_name(session_id)}"
    return where if turn is None else f"{where}/{turn}#t{turn}"


def commit_link(sha: str) -> str:
    """Return the path of a commit."""
    return f"/commit/{_quote_name(sha)}"


def file_link(path: str, line: int | None = None) -> str:
    """Return the path of a file's page; with ``line``, at this line."""
    where = f"/file/{_quote_name(path, '/')}"
    return where if line is None else f"{where}?{urlencode({'from': line})}#L{line}"


def memory_link(memory_id: str) -> str:
    """Return the path of a memory."""
    return f"/memory/{_quote_name(memory_id)}"


def with_query(page: str, /, **given: object) -> str:
    """Return the path of a page with those of ``given`` in its query that say anything."""
    wanted = {name: str(value)[:_LONGEST_NAME] for name, value in given.items() if value not in (None, "", False)}
    return f"{page}?{urlencode(wanted)}" if wanted else page


def _source_link(source: str) -> str:
    """Return the path of what a memory cites: a turn, a commit or a session; empty for a file or an import."""
    name, mark, turn = source.partition("#")
    if mark and turn.isdigit() and len(turn) < 10 and name.isalnum():
        return session_link(name, int(turn))
    if re.fullmatch(r"[0-9a-f]{40}|[0-9a-f]{64}", source):
        return commit_link(source)
    return session_link(source) if re.fullmatch(r"[0-9a-z]{26,}", source) else ""


def shorten(text: str | None, limit: int = 100) -> str:
    """Return ``text`` on one line, at most ``limit`` characters."""
    flat = " ".join(clean_line(text or "").split())
    return flat if len(flat) <= limit else flat[: limit - 1].rstrip() + "…"


def mark_words(text: str, spans: Iterable[tuple[int, int]]) -> list[Piece]:
    """Cut a text at ``spans`` (offsets, in order), which are words of the question."""
    pieces, at = [], 0
    for start, end in spans:
        pieces += [Piece(text[at:start], False), Piece(text[start:end], True)]
        at = end
    return [piece for piece in (*pieces, Piece(text[at:], False)) if piece.text]


def _split_fences(text: str) -> list[Block]:
    """Cut a text at its fences. Nothing else of Markdown is read: no link and no tag can come of a transcript."""
    out, code = [], False
    for part in _cut_at_fences(clean_text(text)):
        if part.strip():
            out.append(Block(part.strip("\n"), code))
        code = not code
    return out


def _cut_at_fences(text: str) -> Sequence[str]:
    parts, at = [], 0
    for found in _FENCE.finditer(text):
        if found.start() < at:
            continue
        end = text.find("\n", found.end())
        parts.append(text[at : found.start()])
        at = len(text) if end < 0 else end + 1
    return [*parts, text[at:]]


def _format_minute(when: datetime | None) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%d %H:%M") if when else "no time"


def _format_date(when: datetime | None) -> str:
    return when.astimezone(UTC).strftime("%Y-%m-%d") if when else "no date"


def _format_age(when: datetime | None) -> str:
    if when is None:
        return ""
    seconds = (datetime.now(UTC) - when).total_seconds()
    for size, name in ((_DAY, "d"), (3600.0, "h"), (60.0, "min")):
        if seconds >= size:
            return f"{seconds / size:,.0f} {name} ago"
    return "just now"


def _format_bytes(size: int) -> str:
    amount = float(size)
    for unit in ("bytes", "KB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "bytes" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"


def _count_noun(value: int, noun: str, plural: str = "") -> str:
    return f"{value:,} {noun if value == 1 else plural or noun + 's'}"
