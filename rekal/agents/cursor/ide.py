"""Cursor's IDE database: composers and their bubbles, in the three shapes they had since 2025.

``composerData:<id>`` lists the bubbles of a session in order (or, before 2025, holds them), each bubble has a row of
its own. Rows are fetched by key or key range: these databases grow to many gigabytes.
"""

from __future__ import annotations

import zlib
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec

from rekal.agents.cursor.text import uri_path
from rekal.agents.formats.json_fields import load_object, number_at, object_at, objects_at, text_at
from rekal.agents.formats.jsonl import Record
from rekal.agents.formats.sqlite import Database, open_copy
from rekal.errors import SourceError

TABLES = ("cursorDiskKV", "composerHeaders")
Wanted = Callable[[str, str | None], bool]
# Bubbles at the end whose sizes are looked at; those before them do not change any more.
_WATCHED = 16
_VALUE = "SELECT value FROM cursorDiskKV WHERE key = ?"


class Composer(msgspec.Struct, frozen=True):
    """One session of the IDE: its own record and its bubbles in order. ``damaged`` counts bytes that are no record."""

    id: str
    head: Record
    bubbles: tuple[Record, ...] = ()
    folder: str | None = None
    damaged: int = 0


class ListedComposer(msgspec.Struct, frozen=True):
    """One composer of a database; ``bubbles`` and ``updated`` are its revision, ``inline`` where its bubbles lie."""

    id: str
    folder: str | None
    bubbles: int
    updated: int
    children: tuple[str, ...] = ()
    inline: bool = False


class _Head(msgspec.Struct):
    """The few fields of a composer that listing needs; decoding no more keeps it fast."""

    fullConversationHeadersOnly: list[Record] | None = None
    conversation: list[msgspec.Raw] | None = None
    lastUpdatedAt: float | None = None
    createdAt: float | None = None
    status: str | None = None
    isBestOfNSubcomposer: bool | None = None
    subComposerIds: list[str] | None = None


def list_composers(path: Path, wanted: Wanted) -> Iterator[ListedComposer]:
    """Yield the composers that hold anything and are ``wanted``, given their ids and folders where known.

    Raises SourceError when the database cannot be read.
    """
    with open_copy(path, TABLES) as database:
        if not database.columns("cursorDiskKV"):
            return
        folders = _header_folders(database)
        query = (
            # A range of keys uses the index; LIKE would read every row, bubbles and their attachments included.
            "SELECT key, value FROM cursorDiskKV WHERE key >= 'composerData:' AND key < 'composerData;' ORDER BY key"
        )
        for key, value in database.rows(query):
            composer = str(key).removeprefix("composerData:")
            # The draft is the prompt that is being typed, kept between starts of the editor.
            if not composer or composer == "empty-state-draft" or not isinstance(value, str | bytes):
                continue
            if wanted(composer, folders.get(composer)) and (
                listed := _list_composer(database, composer, value, folders.get(composer))
            ):
                yield listed


def _list_composer(database: Database, composer: str, value: str | bytes, folder: str | None) -> ListedComposer | None:
    try:
        head = msgspec.json.decode(value, type=_Head, strict=False)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        # Named all the same, so that reading it can say what is wrong.
        return ListedComposer(
            composer, folder, len(value), zlib.crc32(bytes(value) if isinstance(value, bytes) else value.encode())
        )
    order = [found for item in head.fullConversationHeadersOnly or () if (found := text_at(item, "bubbleId"))]
    count = len(order) or len(head.conversation or ())
    # Of several tries at one prompt the chosen one is copied into the session itself.
    if head.isBestOfNSubcomposer or not count:
        return None
    moment = number_at({"at": head.lastUpdatedAt or head.createdAt}, "at") or 0
    sizes = [_stored(database, composer, bubble) for bubble in order[-_WATCHED:]] or [len(value)]
    # A bubble is filled in long after it was added and without the composer's time moving: the sizes of the last
    # ones go where a time in milliseconds leaves room.
    trace = zlib.crc32(repr((head.status, sizes)).encode()) % 1_000_000
    updated = min(max(moment, 0), 1 << 43) * 1_000_000 + trace
    return ListedComposer(composer, folder, count, updated, tuple(head.subComposerIds or ()), inline=not order)


def _stored(database: Database, composer: str, bubble: str) -> int:
    row = database.first("SELECT length(value) FROM cursorDiskKV WHERE key = ?", (f"bubbleId:{composer}:{bubble}",))
    return row[0] if row and isinstance(row[0], int) else 0


def _header_folders(database: Database) -> dict[str, str]:
    """Folders by composer from the table that Cursor 3 keeps; its ``value`` names the workspace."""
    if not {"composerId", "value"} <= database.columns("composerHeaders"):
        return {}
    rows = database.rows("SELECT composerId, value FROM composerHeaders")
    found = {str(composer): _folder(load_object(value) or {}) for composer, value in rows}
    return {composer: folder for composer, folder in found.items() if folder}


def _folder(head: Record) -> str | None:
    identifier = object_at(head, "workspaceIdentifier")
    if folder := uri_path(identifier.get("uri")):
        return folder
    return next((path for repo in objects_at(head, "trackedGitRepos") if (path := text_at(repo, "repoPath"))), None)


def has_bubbles(path: Path, composers: list[str]) -> set[str]:
    """Return the ``composers`` that the database holds bubbles of."""
    query = "SELECT 1 FROM cursorDiskKV WHERE key >= ? AND key < ? LIMIT 1"
    with open_copy(path, TABLES) as database:
        if not database.columns("cursorDiskKV"):
            return set()
        return {name for name in composers if database.first(query, (f"bubbleId:{name}:", f"bubbleId:{name};"))}


def read_composers(path: Path, composer: str | None) -> list[Composer]:
    """Read one composer, or every one. Raises SourceError when the one is not there or cannot be understood."""
    names = (
        [composer]
        if composer is not None
        else [listed.id for listed in list_composers(path, lambda _id, _folder: True)]
    )
    with open_copy(path, TABLES) as database:
        return [_read_composer(database, name) for name in names]


def _read_composer(database: Database, composer: str) -> Composer:
    row = database.first(_VALUE, (f"composerData:{composer}",))
    head = load_object(row[0]) if row else None
    if head is None:
        raise SourceError(f"{database.path} holds no readable composer {composer}")
    bubbles, damaged = [], 0
    for item in objects_at(head, "fullConversationHeadersOnly"):
        if (bubble := text_at(item, "bubbleId")) is None:
            continue
        found = database.first(_VALUE, (f"bubbleId:{composer}:{bubble}",))
        # A bubble that was deleted stays in the list of the session.
        if found is None or found[0] is None:
            continue
        if (record := load_object(found[0])) is None:
            damaged += max(1, len(found[0])) if isinstance(found[0], str | bytes) else 1
        else:
            bubbles.append({**record, "bubbleId": bubble})
    folder = _folder(head) or _table_folder(database, composer)
    return Composer(composer, head, tuple(bubbles or objects_at(head, "conversation")), folder, damaged)


def _table_folder(database: Database, composer: str) -> str | None:
    if not {"composerId", "value"} <= database.columns("composerHeaders"):
        return None
    row = database.first("SELECT value FROM composerHeaders WHERE composerId = ?", (composer,))
    return _folder(load_object(row[0]) or {}) if row else None
