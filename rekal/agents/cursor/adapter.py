"""Cursor: the IDE's databases, the chats of its command line, and the transcripts that both leave behind.

The same conversation can lie in several of them. The one that tells most is read: a database holds results and times,
a transcript neither.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

import msgspec
from msgspec.structs import replace

from rekal.agents.contract import Parsed, Resume, Source, Where, refuse_source
from rekal.agents.cursor import cli, ide, transcripts
from rekal.agents.cursor import locations as places
from rekal.agents.cursor import tabs as tabs
from rekal.agents.cursor.bubbles import Telling
from rekal.agents.formats.repo_paths import common_folder, concerns_roots
from rekal.errors import SourceError
from rekal.model import Transcript
from rekal.plain_text import lazy_pattern

_NAME = "cursor"
_SQLITE = b"SQLite format 3\0"
_TEXT = lazy_pattern(rb"\A\s*user:[ \t]*\r?\n.*?^assistant:[ \t]*\r?$", re.DOTALL | re.MULTILINE)
_SNIFFED_LINES = 8


class Cursor:
    """Sessions of the Cursor IDE and of its command line."""

    name = _NAME

    def discover(self, where: Where) -> Iterator[Source]:
        """Yield composers, old chat tabs, command-line chats, then the transcripts of sessions none of those has."""
        held: set[str] = set()
        for user in places.user_folders(where):
            database = user / "globalStorage" / "state.vscdb"
            if database.is_file():
                for source in _composers(database, where):
                    held.add(_key_in_database(source))
                    yield source
        for database, _ in places.workspace_folders(where):
            yield from _tabs(database)
        for chat in places.chat_databases(where):
            if (found := _chat(chat)) is not None:
                # The transcript that a chat leaves behind has the chat's id as its name.
                held.add(chat.parent.name)
                yield found
        for path in places.transcript_files(where):
            # Transcripts last: they have neither results nor times, so any other store of the session is better.
            if path.stem not in held:
                yield _transcript_source(path)

    def parse(self, source: Source, resume: Resume | None, where: Where) -> Parsed:
        """Read one source; only JSONL transcripts can be read from where the last reading stopped."""
        if _is_database(source.path):
            return _parse_chat(source, where) if cli.is_chat(source.path) else _parse_cursor_database(source, where)
        parsed, transcript = transcripts.read_transcript(source, resume)
        project = places.project_of(source.path)
        touched = [call.path for call in transcript.calls if call.path and _absolute(call.path)]
        home = places.project_directory(project, where.roots, touched) if project else None
        return replace(parsed, transcripts=(_in(transcript, [home]),))

    def sniff(self, head: bytes) -> bool:
        """True if ``head`` begins a database of Cursor's or one of its transcripts."""
        if head.startswith(_SQLITE):
            return b"cursorDiskKV" in head or (b"CREATE TABLE blobs" in head and b"CREATE TABLE meta" in head)
        if _TEXT.match(head):
            return True
        return any(_is_cursor_record(line) for line in head.split(b"\n")[:_SNIFFED_LINES])


class _Message(msgspec.Struct):
    content: str | list[msgspec.Raw]


class _Record(msgspec.Struct):
    """A transcript's line: a role beside a message without one, and none of the ids that other agents write."""

    role: str
    message: _Message
    uuid: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    sessionId: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET
    timestamp: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def _is_cursor_record(line: bytes) -> bool:
    try:
        record = msgspec.json.decode(line, type=_Record)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        # The head may end within the first line, which then does not decode.
        return line.startswith(b'{"role":"') and b'"message":{"content":[{"type":' in line[:80]
    foreign = (record.uuid, record.sessionId, record.timestamp)
    return record.role in ("user", "assistant") and all(value is msgspec.UNSET for value in foreign)


def _key_in_database(source: Source) -> str:
    return source.key.removeprefix(f"{source.path}").removeprefix("#")


def _whole_file(path: Path, parent: Path | None = None) -> Source:
    """A file as a source; its log counts, where the newest rows of a database are."""
    size = mtime = 0
    # SQLite writes new rows to the log first: the database file alone stands still for long.
    for file in (path, path.with_name(path.name + "-wal")):
        if file.is_file():
            stat = file.stat()
            size, mtime = size + stat.st_size, max(mtime, stat.st_mtime_ns)
    return Source(_NAME, str(path), path, size, mtime, str(parent) if parent else None)


def _composers(database: Path, where: Where) -> Iterator[Source]:
    ours = places.workspace_composers(where)

    def wanted(composer: str, folder: str | None) -> bool:
        """Without a known folder only the bubbles can tell."""
        return composer in ours or folder is None or concerns_roots(folder, where.roots)

    try:
        listed = list(ide.list_composers(database, wanted))
        filled = ide.has_bubbles(database, [one.id for one in listed])
    except SourceError:
        yield _whole_file(database)
        return
    parents = {child: one.id for one in listed for child in one.children}
    for one in listed:
        # An empty composer is a tab that was opened and never used.
        if one.id in filled or one.inline:
            parent = f"{database}#{parents[one.id]}" if one.id in parents else None
            yield Source(_NAME, f"{database}#{one.id}", database, one.bubbles, one.updated, parent)


def _tabs(database: Path) -> Iterator[Source]:
    try:
        for tab in tabs.read_tabs(database):
            count, updated = tabs.tab_revision(tab)
            yield Source(_NAME, f"{database}#{tab['tabId']}", database, count, updated)
    except SourceError:
        yield _whole_file(database)


def _chat(path: Path) -> Source | None:
    try:
        return _whole_file(path) if cli.holds_messages(path) else None
    except SourceError:
        return _whole_file(path)


def _transcript_source(path: Path) -> Source:
    if path.parent.name != "subagents":
        return _whole_file(path)
    session = path.parents[1]
    nested = session / f"{session.name}.jsonl"
    return _whole_file(path, nested if nested.is_file() else session.with_suffix(".jsonl"))


def _is_database(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            return file.read(len(_SQLITE)) == _SQLITE
    except OSError as error:
        raise refuse_source(path, error) from error


def _parse_chat(source: Source, where: Where) -> Parsed:
    transcript, drift = cli.read_cli_chat(source)
    known = places.chat_directory(source.path, where.roots)
    return Parsed(transcripts=(_in(transcript, [known]),), drift=drift)


def _parse_cursor_database(source: Source, where: Where) -> Parsed:
    session = _key_in_database(source)
    if (workspace := places.workspace_of(source.path)) is not None:
        chosen = [session] if session else [str(tab["tabId"]) for tab in tabs.read_tabs(source.path)]
        return Parsed(transcripts=tuple(_in(tabs.read_tab(source.path, tab), [workspace]) for tab in chosen))
    ours = places.workspace_composers(where)
    parent = (source.parent_key or "").partition(f"{source.path}#")[2] or None
    tellings = [Telling(composer, parent) for composer in ide.read_composers(source.path, session or None)]
    told = [_in(telling.transcript(), [ours.get(telling.composer.id)]) for telling in tellings]
    drift: dict[str, int] = {}
    for telling in tellings:
        for what, times in telling.drift.items():
            drift[what] = drift.get(what, 0) + times
    return Parsed(tuple(told), skipped_bytes=sum(telling.composer.damaged for telling in tellings), drift=drift)


def _in(transcript: Transcript, known: Iterable[str | None]) -> Transcript:
    """The transcript with what is known of its directory; failing all, where the files it touched lie."""
    cwds = dict.fromkeys([cwd for cwd in known if cwd] + list(transcript.cwds))
    if not cwds:
        folder = common_folder(call.path for call in transcript.calls)
        cwds = dict.fromkeys([folder] if folder else [])
    return replace(transcript, cwds=tuple(cwds))


def _absolute(path: str) -> bool:
    # Tested by hand: the path may be another system's, where pathlib of this one does not apply.
    return path.startswith(("/", "\\\\")) or path[1:3] in (":\\", ":/")


ADAPTER = Cursor()
