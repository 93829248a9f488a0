"""Items into chunks of about 300 tokens: small neighbours of one place are joined, long ones cut where text breaks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from rekal.documents.document_records import DocumentChunk, DocumentItem

CHUNK_LENGTH = 1200
"""Characters of a chunk at most: 300 tokens at four characters each."""

_BREAKS = ("\n\n", "\n", ". ", "? ", "! ", "; ", ", ", " ")
_LEAST_FILL = 0.4  # of a chunk: an earlier break leaves a scrap
_BLANK_LINES = re.compile(r"\n{3,}")


def cut_chunks(items: Iterable[DocumentItem]) -> Iterator[DocumentChunk]:
    """Yield the chunks of the items of one thread, in order."""
    held: list[DocumentItem] = []
    for item in items:
        if item.whole:
            yield from _join_items(held)
            held = []
            yield from _cut_item(item)
        elif held and (held[0].place != item.place or _total_length(held) + len(item.text) > CHUNK_LENGTH):
            yield from _join_items(held)
            held = [item]
        else:
            held.append(item)
    yield from _join_items(held)


def _total_length(items: list[DocumentItem]) -> int:
    return sum(len(item.text) + 2 for item in items)


def _join_items(items: list[DocumentItem]) -> Iterator[DocumentChunk]:
    if items:
        first = items[0]
        text = "\n\n".join(item.text for item in items)
        yield from _cut_item(DocumentItem(text, first.place, None, first.occurred_at, first.sender))


def _cut_item(item: DocumentItem) -> Iterator[DocumentChunk]:
    for piece in split_text(item.text):
        yield DocumentChunk(piece, item.place, item.occurred_at, item.sender)


def split_text(text: str, length: int = CHUNK_LENGTH) -> Iterator[str]:
    """Yield ``text`` in pieces of at most ``length`` characters, cut at the latest good break; blank ones are left out.

    Nothing between two pieces is lost but white space.
    """
    rest = _BLANK_LINES.sub("\n\n", text).strip()
    while len(rest) > length:
        cut = _find_break(rest, length)
        if piece := rest[:cut].strip():
            yield piece
        rest = rest[cut:].strip()
    if rest:
        yield rest


def _find_break(text: str, length: int) -> int:
    for mark in _BREAKS:
        at = text.rfind(mark, int(length * _LEAST_FILL), length)
        if at > 0:
            return at + len(mark)
    return length
