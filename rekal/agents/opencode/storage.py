"""Where OpenCode keeps its sessions: a database, or a tree of JSON files, or the file ``opencode export`` writes.

All three give the same :class:`StoredSession`, whose records keep OpenCode's own field names.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec

from rekal.agents.formats.json_fields import (
    load_object,
    number_at,
    object_at,
    objects_at,
    read_object,
    text_at,
    value_at,
)
from rekal.agents.formats.jsonl import Record
from rekal.agents.formats.sqlite import Database, Value, open_copy
from rekal.agents.opencode import storage_v2
from rekal.errors import SourceBusy, SourceError

TABLES = ("session", "message", "part", "project", storage_v2.SESSIONS, storage_v2.MESSAGES)
# Parents may form a ring in a damaged store.
_MAX_DEPTH = 32
# The ledger keeps revisions as signed 64-bit numbers.
_LAST = (1 << 63) - 1


class Message(msgspec.Struct, frozen=True):
    """One message and its parts, in order. ``created`` is in milliseconds since 1970."""

    id: str
    info: Record
    parts: tuple[Record, ...] = ()
    created: int | None = None

    @property
    def moment(self) -> str:
        """The mark that tells the message from others: its time, which a copy keeps; failing that its id."""
        return str(self.created) if self.created is not None else self.id


class StoredSession(msgspec.Struct, frozen=True):
    """One session as stored. ``depth`` counts its ancestors, ``damaged`` the bytes that hold no record."""

    id: str
    messages: tuple[Message, ...] = ()
    parent: str | None = None
    directory: str | None = None
    title: str | None = None
    created: int | None = None
    revert: Record = {}
    depth: int | None = None
    damaged: int = 0


class ListedSession(msgspec.Struct, frozen=True):
    """One session that a store holds. ``rows`` and ``updated`` (nanoseconds) are its revision."""

    id: str
    directory: str | None
    parent: str | None
    rows: int = 0
    updated: int = 0


# -- the database ----------------------------------------------------------------------------------------------


def list_database(path: Path) -> Iterator[ListedSession]:
    """Yield the sessions of a database without their revisions."""
    with open_copy(path, TABLES) as database:
        for table in _session_tables(database):
            for row in database.rows(f"{_session_query(database, table)} ORDER BY s.time_created, s.id"):
                session = _session(row)
                yield ListedSession(session.id, session.directory, session.parent)


def session_revision(path: Path, session_ids: Iterable[str]) -> dict[str, tuple[int, int]]:
    """Rows and last update in nanoseconds of each session; the indexes on the session id keep this cheap."""
    latest = "SELECT count(*), max(time_updated) FROM {} WHERE session_id = ?"
    own = "SELECT 0, time_updated FROM {} WHERE id = ?"
    found = {}
    with open_copy(path, TABLES) as database:
        sql = [latest.format(name) for name in ("message", "part", storage_v2.MESSAGES) if database.columns(name)]
        sql += [own.format(name) for name in _session_tables(database)]
        for session_id in session_ids:
            rows = updated = 0
            for one in sql:
                count, moment = database.first(one, (session_id,)) or (0, None)
                # The count as well as the time: a deleted message moves no time.
                rows, updated = rows + _whole(count), max(updated, _whole(moment))
            found[session_id] = rows, min(updated * 1_000_000, _LAST)
    return found


def read_database(path: Path, session_id: str | None) -> list[StoredSession]:
    """Read one session of a database, or all of them. Raises SourceError when the one is not there."""
    with open_copy(path, TABLES) as database:
        where, values = (" WHERE s.id = ?", (session_id,)) if session_id is not None else ("", ())
        found = []
        for table in _session_tables(database):
            query = f"{_session_query(database, table)}{where} ORDER BY s.time_created, s.id"
            complete = _with_rows if table == storage_v2.SESSIONS else _with_messages
            found += [complete(database, _session(row)) for row in database.rows(query, values)]
        if session_id is not None and not found:
            # Deleted between the listing and the reading: the next look does not list it any more.
            raise SourceBusy(f"{path} no longer holds session {session_id}")
        return found


def _session_tables(database: Database) -> list[str]:
    """Tables that describe sessions: an upgraded database has those of both versions."""
    newer = [storage_v2.SESSIONS] if storage_v2.has_tables(database) else []
    return [*(["session"] if database.columns("session") else []), *newer]


def _session_query(database: Database, table: str) -> str:
    """SELECT of the seven fields of ``_session``; old databases lack some columns."""
    have = database.columns(table)
    fields = ["id", "parent_id", "directory", "title", "time_created", "revert"]
    chosen = [f"s.{name}" if name in have else "NULL" for name in fields]
    if "worktree" in database.columns("project") and "project_id" in have:
        return f"SELECT {', '.join(chosen)}, p.worktree FROM {table} s LEFT JOIN project p ON p.id = s.project_id"
    return f"SELECT {', '.join(chosen)}, NULL FROM {table} s"


def _session(row: tuple[Value, ...]) -> StoredSession:
    session_id, parent, directory, title, created, revert, worktree = row
    home = _filled_string(directory) or _filled_string(worktree)
    return StoredSession(
        id=str(session_id),
        parent=_filled_string(parent),
        # "/" is the worktree of the project that stands for "no project".
        directory=home if home != "/" else _filled_string(directory),
        title=_filled_string(title),
        created=_whole(created) or None,
        revert=load_object(revert) or {},
    )


def _filled_string(value: Value) -> str | None:
    return value if isinstance(value, str) and value.strip() else None


def _whole(value: Value) -> int:
    return value if isinstance(value, int) else 0


def _with_messages(database: Database, session: StoredSession) -> StoredSession:
    parts: dict[str, list[Record]] = {}
    damaged = 0
    query = "SELECT id, message_id, data FROM part WHERE session_id = ? ORDER BY time_created, id"
    for part_id, message_id, data in database.rows(query, (session.id,)):
        if (part := load_object(data)) is None:
            damaged += _bytes(data)
        else:
            parts.setdefault(str(message_id), []).append({**part, "id": part_id})
    messages = []
    query = "SELECT id, time_created, data FROM message WHERE session_id = ? ORDER BY time_created, id"
    for message_id, stamp, data in database.rows(query, (session.id,)):
        if (info := load_object(data)) is None:
            damaged += _bytes(data)
            continue
        created = number_at(info, "time", "created") or _whole(stamp) or None
        messages.append(Message(str(message_id), info, tuple(parts.get(str(message_id), ())), created))
    depth = _ancestors(database, session.parent)
    return msgspec.structs.replace(session, messages=tuple(messages), damaged=damaged, depth=depth)


def _with_rows(database: Database, session: StoredSession) -> StoredSession:
    """A session of version 2 with its messages."""
    messages, damaged = [], 0
    for row in storage_v2.read_rows(database, session.id):
        if isinstance(row, int):
            damaged += row
        else:
            messages.append(Message(*row))
    depth = _ancestors(database, session.parent, storage_v2.SESSIONS)
    return msgspec.structs.replace(session, messages=tuple(messages), damaged=damaged, depth=depth)


def _bytes(data: Value) -> int:
    return max(1, len(data)) if isinstance(data, str | bytes) else 1


def _ancestors(database: Database, parent: str | None, table: str = "session") -> int:
    depth = 0
    while parent is not None and depth < _MAX_DEPTH:
        depth += 1
        row = database.first(f"SELECT parent_id FROM {table} WHERE id = ?", (parent,))
        parent = _filled_string(row[0]) if row else None
    return depth


# -- the trees of JSON files -----------------------------------------------------------------------------------


def list_tree(data: Path) -> Iterator[tuple[Path, ListedSession]]:
    """Yield the sessions of both layouts below OpenCode's data directory, with the file that describes each."""
    layouts = ("storage/session/*/*.json", "project/*/storage/session/info/*.json")
    for file in (file for layout in layouts for file in sorted(data.glob(layout))):
        try:
            info = read_object(file)
            session_id = text_at(info, "id") or file.stem
            rows, updated = _tree_revision(file, session_id)
        except (SourceError, OSError):
            # Reported when it is read: an unreadable session must still be named by its own source.
            yield file, ListedSession(file.stem, None, None)
            continue
        yield (
            file,
            ListedSession(session_id, text_at(info, "directory"), text_at(info, "parentID"), rows, updated),
        )


def _leaf(name: str) -> str:
    """``name`` when it can name an entry of a directory; ids are only text until then."""
    plain = Path(name).name == name and "\0" not in name and len(name) < 200
    return name if plain and name != ".." else "-"


def _session_folders(file: Path, session_id: str) -> tuple[Path, Path]:
    """The directories of a session's messages and of the parts of every message."""
    leaf = _leaf(session_id)
    if file.parent.name == "info":
        base = file.parents[1]
        return base / "message" / leaf, base / "part" / leaf
    base = file.parents[2]
    return base / "message" / leaf, base / "part"


def _tree_revision(file: Path, session_id: str) -> tuple[int, int]:
    messages, parts = _session_folders(file, session_id)
    files = [file]
    for message in sorted(messages.glob("*.json")):
        files += [message, *(parts / message.stem).glob("*.json")]
    # Every file counts, because the program rewrites parts in place without touching the session's own file.
    return len(files), max(item.stat().st_mtime_ns for item in files)


def read_tree(file: Path) -> StoredSession:
    """Read the session that ``file`` describes. A message or part that cannot be read costs itself only."""
    info = read_object(file)
    session_id = text_at(info, "id") or file.stem
    folder, part_folder = _session_folders(file, session_id)
    messages, damaged = [], 0
    loose, lost = _records(part_folder)
    damaged += lost
    for path in sorted(folder.glob("*.json")):
        try:
            record = read_object(path)
        except SourceError:
            damaged += _size(path)
            continue
        message_id = text_at(record, "id") or path.stem
        own, lost = _records(part_folder / _leaf(message_id))
        damaged += lost
        # The first versions kept parts inside the message, later ones directly in the part folder.
        inline = objects_at(record, "parts")
        own += inline + [part for part in loose if part.get("messageID") == message_id]
        messages.append(Message(message_id, record, tuple(own), number_at(record, "time", "created")))
    # By time and not by name: ids of earlier versions do not sort by time.
    messages.sort(key=lambda message: (message.created or 0, message.id))
    return msgspec.structs.replace(
        _described(info, session_id), messages=tuple(messages), damaged=damaged, depth=_tree_depth(file, info)
    )


def _records(folder: Path) -> tuple[list[Record], int]:
    """The JSON objects of a folder's files in the order of their names, and the size of the files that hold none."""
    found, damaged = [], 0
    for path in sorted(folder.glob("*.json")):
        try:
            found.append({"id": path.stem, **read_object(path)})
        except SourceError:
            damaged += _size(path)
    return found, damaged


def _size(path: Path) -> int:
    try:
        return max(1, path.stat().st_size)
    except OSError:
        return 1


def _tree_depth(file: Path, info: Record) -> int:
    depth, parent = 0, text_at(info, "parentID")
    while parent is not None and depth < _MAX_DEPTH:
        depth += 1
        try:
            parent = text_at(read_object(file.with_name(f"{_leaf(parent)}.json")), "parentID")
        except SourceError:
            break
    return depth


def _described(info: Record, session_id: str) -> StoredSession:
    return StoredSession(
        id=session_id,
        parent=text_at(info, "parentID"),
        directory=text_at(info, "directory"),
        title=text_at(info, "title"),
        created=number_at(info, "time", "created"),
        revert=object_at(info, "revert"),
    )


# -- exports ---------------------------------------------------------------------------------------------------


def is_export(value: Record) -> bool:
    """True if a JSON object is what ``opencode export`` writes."""
    return isinstance(value_at(value, "info", "id"), str) and isinstance(value.get("messages"), list)


def read_export(value: Record) -> StoredSession:
    """Read an exported session."""
    info = object_at(value, "info")
    messages = []
    for item in objects_at(value, "messages"):
        head = object_at(item, "info")
        stamp = number_at(head, "time", "created")
        messages.append(Message(text_at(head, "id") or "", head, tuple(objects_at(item, "parts")), stamp))
    return msgspec.structs.replace(_described(info, text_at(info, "id") or ""), messages=tuple(messages))
