"""The records of the room: a source is a file, an item is what a format reads from it, a chunk is what is kept."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime
from pathlib import Path

import msgspec

from rekal.errors import SourceError


class DocumentError(SourceError):
    """One document cannot be read; the others can."""


class DocumentSource(msgspec.Struct, frozen=True):
    """One file. ``path`` is absolute: its identity. ``shown`` is how people name it: relative to what they gave."""

    path: Path
    shown: str
    size: int
    mtime_ns: int

    @property
    def key(self) -> str:
        """The identity as text."""
        return str(self.path)


class DocumentItem(msgspec.Struct, frozen=True):
    """One piece of a document as its format gives it: a section, a message, a page, some rows.

    ``place`` says where in the file it is (``#Heading``, ``p. 3``, ``rows 2-9``, a message's id). ``thread`` names the
    conversation that it belongs to; items of one thread are kept together. ``whole`` keeps it from being joined with
    its neighbours, as messages are. ``scrubbed`` says that ``text`` was scrubbed as part of a larger one.
    """

    text: str
    place: str = ""
    title: str | None = None
    occurred_at: datetime | None = None
    sender: str | None = None
    thread: str = ""
    whole: bool = False
    scrubbed: bool = False


class DocumentChunk(msgspec.Struct, frozen=True):
    """A text of about 300 tokens with its place, its date and who sent it."""

    text: str
    place: str
    occurred_at: datetime | None = None
    sender: str | None = None


class DocumentThread(msgspec.Struct, frozen=True):
    """Chunks that belong together, in order. ``kind`` is the format's name."""

    kind: str
    key: str
    title: str | None
    chunks: tuple[DocumentChunk, ...]


class ReadOptions(msgspec.Struct, frozen=True):
    """Orders for a reader. ``scrub`` takes secrets out of a text; a format that cuts a text up calls it before that,
    so that no cut hides half a secret. ``most_mails`` of one mailbox; 0 is no limit.
    """

    scrub: Callable[[str], str]
    most_mails: int = 0


class DocumentFormat(msgspec.Struct, frozen=True):
    """A format: its name, the suffixes of its files, what reads one.

    ``recognise`` looks at the first bytes of a file and says whether they are of this format whatever the name is.
    ``read`` yields items and raises :class:`DocumentError` in one sentence.
    """

    name: str
    suffixes: tuple[str, ...]
    read: Callable[[Path, ReadOptions], Iterator[DocumentItem]]
    recognise: Callable[[bytes], bool] | None = None


class Skipped(msgspec.Struct, frozen=True):
    """A file or folder that was not read, and why."""

    path: str
    reason: str


def count_reasons(skipped: Iterable[Skipped]) -> dict[str, int]:
    """Count skipped files by reason, the most frequent first."""
    counts: dict[str, int] = {}
    for one in skipped:
        counts[one.reason] = counts.get(one.reason, 0) + 1
    return dict(sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])))
