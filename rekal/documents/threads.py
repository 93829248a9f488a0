"""From what a format reads to sessions of a ledger.

A document's ledger is one of sessions like any other, so that all that indexes, finds, shows and forgets sessions works
on documents as it is. A thread of a source is a session, a chunk is a turn, and the place of a chunk in its file is a
call of the tool ``place``. A session never changes: its id has what it says in it, and a thread that reads otherwise is
another session, which takes the old one's place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import msgspec

from rekal import ids
from rekal.documents import chunks
from rekal.documents.document_records import DocumentItem, DocumentSource, DocumentThread
from rekal.model import Session, ToolCall, Turn
from rekal.scrub import Scrubber

PLACE = "place"
"""Tool whose calls say where in its file a chunk is."""

_LONGEST_PLACE, _LONGEST_TITLE = 200, 200
_MOST_HELD = 50_000  # messages of one file that are sorted into threads; what follows begins anew


def group_threads(kind: str, items: Iterable[DocumentItem]) -> Iterator[DocumentThread]:
    """Yield the threads of a source, each in the order of its items.

    A thread whose items stand together leaves at once; those of a file that mixes them are held until it ends.
    """
    held: dict[str, list[DocumentItem]] = {}
    count = 0
    for item in items:
        # A mail is a thread of its own: nothing that follows can belong to it.
        if item.whole and "\n" in item.thread:
            yield _thread(kind, item.thread, [item])
            continue
        held.setdefault(item.thread, []).append(item)
        count += 1
        if count >= _MOST_HELD:
            yield from (_thread(kind, key, group) for key, group in held.items())
            held, count = {}, 0
    yield from (_thread(kind, key, group) for key, group in held.items())


def _thread(kind: str, key: str, items: list[DocumentItem]) -> DocumentThread:
    titles = (item.title for item in items if item.title)
    return DocumentThread(kind, key, next(titles, None), tuple(chunks.cut_chunks(items)))


def source_id(source: DocumentSource) -> str:
    """Return the beginning of the native ids of a source's sessions."""
    return key_of_source(source.key)


def key_of_source(path: str) -> str:
    """Return the same for the absolute path that names a source."""
    return ids.derive("source", path)


def scrub_item(item: DocumentItem, scrubber: Scrubber) -> DocumentItem:
    """Return the item without secrets in any of its texts."""

    def maybe(text: str | None) -> str | None:
        return scrubber.text(text) if text else None

    return msgspec.structs.replace(
        item,
        text=item.text if item.scrubbed else scrubber.text(item.text),
        place=scrubber.text(item.place)[:_LONGEST_PLACE],
        title=maybe(item.title),
        sender=maybe(item.sender),
        thread=scrubber.text(item.thread),
        scrubbed=True,
    )


def to_session(source: DocumentSource, shown: str, thread: DocumentThread) -> Session | None:
    """Return a thread of scrubbed items as a session; None when nothing of it is left to say.

    ``shown`` is the scrubbed name of the source.
    """
    chunks = [chunk for chunk in thread.chunks if chunk.text.strip()]
    if not chunks:
        return None
    senders = {chunk.sender for chunk in chunks if chunk.sender}
    # Where several speak, each chunk says who.
    sender = next(iter(senders)) if len(senders) == 1 else ""
    title = thread.title[:_LONGEST_TITLE] if thread.title else None
    marks = (f"{chunk.occurred_at}\0{chunk.place}\0{chunk.text}" for chunk in chunks)
    digest = ids.content_hash("\1".join((shown, title or "", sender, *marks)))
    native = f"{source_id(source)}#{ids.content_hash(thread.key)[:12]}#{digest}"
    session_id = ids.session_id(thread.kind, native, "")
    turns = tuple(
        Turn(seq, ids.derive("turn", session_id, str(seq)), "human", chunk.text, chunk.occurred_at)
        for seq, chunk in enumerate(chunks)
    )
    places = tuple(
        ToolCall(seq, ids.derive("call", session_id, str(seq)), seq, PLACE, shown, chunk.place or None)
        for seq, chunk in enumerate(chunks)
    )
    dates = [chunk.occurred_at for chunk in chunks if chunk.occurred_at]
    return Session(
        id=session_id, agent=thread.kind, native_id=native, author_name=sender, author_email="", cwd=shown, title=title,
        started_at=min(dates, default=None), turns=turns, tool_calls=places,
    )  # fmt: skip
