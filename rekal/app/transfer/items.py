"""What an importer hands over, and how it is written: once, however often the same file is imported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from datetime import datetime

import msgspec

from rekal.memory.events import Content


class Item(msgspec.Struct, frozen=True):
    """One event to be: its memory, its kind of event, what it says and when it was said.

    ``counts_as`` is what the report calls it: ``memories``, ``entities``, ``observations`` …; empty for what belongs
    to another item. ``name`` is how a later item of the file refers to this one, ``replaces`` such a name: an
    observation that this one takes the place of.
    """

    memory_id: str
    kind: str
    content: Content
    at: datetime
    counts_as: str = ""
    name: str = ""
    replaces: str = ""


class Incoming(msgspec.Struct, frozen=True):
    """A file read: its format, its items in order, and a sentence for each part that has no place here."""

    format: str
    items: tuple[Item, ...]
    problems: tuple[str, ...] = ()


class ImportReport(msgspec.Struct, frozen=True):
    """The report of an import. ``read`` counts what the file holds by name, ``written`` events that are new in the log.

    ``held`` items were there already.
    """

    format: str
    read: dict[str, int]
    written: int
    held: int
    problems: list[str]


def texts_of(values: Sequence[object]) -> Iterator[str]:
    """Yield the values that are text."""
    yield from (value for value in values if isinstance(value, str))
