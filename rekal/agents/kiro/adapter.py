"""Kiro, all four generations: its database, flat logs, the logs IDE and CLI share, and the IDE before 1.0.

A conversation of the command line can be both in the database and in a flat log; the database is read then.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from pathlib import Path

import msgspec

from rekal.agents.contract import Parsed, Resume, Source, Where, refuse_source
from rekal.agents.formats.json_fields import read_object, text_at, value_at
from rekal.agents.formats.repo_paths import concerns_roots, parents_upwards
from rekal.agents.kiro import ide, log, sqlite
from rekal.errors import SourceError
from rekal.model import Transcript
from rekal.plain_text import lazy_pattern

_NAME = "kiro"
_SQLITE = b"SQLite format 3\0"
# As in the other readers of lines: a damaged first line must not hide the format.
_SNIFFED_LINES = 8
_CHAT = lazy_pattern(
    rb'\A\{"(?:executionId|actionId|chat|context|validations|metadata)":.*"chat":\[\{"role":"(?:human|bot)"', re.DOTALL
)
_SESSION = lazy_pattern(rb'\A\{.*"history":\[(?:\]|\{"message":\{)', re.DOTALL)
_SAVED = lazy_pattern(rb'\A\{"conversation_id":.*"history":\[', re.DOTALL)


class Kiro:
    """Sessions of the Kiro IDE and of its command line."""

    name = _NAME

    def discover(self, where: Where) -> Iterator[Source]:
        """Yield conversations of the databases, then flat logs, shared logs, IDE sessions and ``.chat`` files."""
        held: set[str] = set()
        for database in _kiro_databases(where):
            for source in _conversation_sources(database, where):
                held.add(_conversation_name(source))
                yield source
        sessions = _kiro_home(where) / "sessions"
        for path in sorted((sessions / "cli").glob("*.jsonl")):
            # The database has results and times, the flat log of the same conversation may lack them.
            if path.stem not in held and concerns_roots(text_at(log.flat_description(path), "cwd") or "", where.roots):
                yield _file(path, path.with_suffix(".json"))
        # The folder in between is named by a hash of the directory, or by nothing that we can decode.
        for path in sorted(sessions.glob("*/sess_*/messages.jsonl")):
            if _log_may_concern(path, where):
                yield _shared(path)
        for folder in _ide_folders(where):
            yield from _ide_sessions(folder, where)

    def parse(self, source: Source, resume: Resume | None, where: Where) -> Parsed:
        """Read one source; only the logs can be read from where the last reading stopped."""
        head = _read_beginning(source.path)
        if head.startswith(_SQLITE):
            return _parse_kiro_database(source)
        if source.path.suffix == ".jsonl":
            # By its first record, since a user may hand over a log that was renamed.
            if b'"payload"' in head.partition(b"\n")[0] or source.path.name == "messages.jsonl":
                return log.read_shared(source, resume, _bucket_root(source.path, where))
            return log.read_flat(source, resume)
        if source.path.suffix == ".chat":
            roots = {ide.workspace_hash(root): root for root in parents_upwards(where.roots)}
            return _one(ide.read_ide_chat(source.path, roots.get(source.path.parent.name)))
        value = read_object(source.path)
        native_id = text_at(value, "conversation_id")
        return _one(
            sqlite.tell_conversation(value, native_id, None) if native_id else ide.read_ide_session(source.path)
        )

    def sniff(self, head: bytes) -> bool:
        """True if ``head`` begins a database, a log, a session, a ``.chat`` file or a saved conversation of Kiro's."""
        if head.startswith(_SQLITE):
            return b"conversations_v2" in head or (b"auth_kv" in head and b"conversations" in head)
        if any(_is_kiro_record(line) for line in head.split(b"\n")[:_SNIFFED_LINES]):
            return True
        # White space is taken out, so that one expression fits documents with and without indentation.
        opening = b"".join(head[:16384].split())
        return any(form.match(opening) for form in (_CHAT, _SESSION, _SAVED))


class _Flat(msgspec.Struct):
    version: str
    kind: str
    data: dict[str, msgspec.Raw]


class _Payload(msgspec.Struct):
    type: str


class _Shared(msgspec.Struct):
    id: str
    timestamp: str
    payload: _Payload
    type: msgspec.Raw | msgspec.UnsetType = msgspec.UNSET


def _is_kiro_record(line: bytes) -> bool:
    for form in (_Flat, _Shared):
        try:
            record = msgspec.json.decode(line, type=form)
        except (msgspec.MsgspecError, ValueError, RecursionError):
            continue
        # Codex wraps its records like this as well, but gives the envelope a type.
        return not isinstance(record, _Shared) or record.type is msgspec.UNSET
    return False


def _kiro_home(where: Where) -> Path:
    named = where.env.get("KIRO_HOME")
    return Path(named) if named else where.home / ".kiro"


def _kiro_databases(where: Where) -> list[Path]:
    """Kiro's database and that of Amazon Q, which it was before."""
    if where.platform == "darwin":
        base = where.home / "Library/Application Support"
    elif where.platform == "win32":
        base = Path(where.env.get("LOCALAPPDATA") or where.home / "AppData/Local")
    else:
        base = Path(where.env.get("XDG_DATA_HOME") or where.home / ".local/share")
    own = "Kiro-Cli" if where.platform == "win32" else "kiro-cli"
    # Amazon Q's stays where it was after the upgrade, with all that was said before it.
    found = [base / name / "data.sqlite3" for name in (own, "amazon-q")]
    return [path for path in found if path.is_file()]


def _ide_folders(where: Where) -> list[Path]:
    home = where.home
    if where.platform == "darwin":
        users = [home / "Library/Application Support/Kiro/User"]
    elif where.platform == "win32":
        users = [Path(where.env.get("APPDATA") or home / "AppData/Roaming") / "Kiro/User"]
    else:
        config = Path(where.env.get("XDG_CONFIG_HOME") or home / ".config")
        users = [config / "Kiro/User", home / ".kiro-server/data/User"]
    folders = [user / "globalStorage" / "kiro.kiroagent" for user in users]
    return [folder for folder in folders if folder.is_dir()]


def _conversation_name(source: Source) -> str:
    return source.key.removeprefix(str(source.path)).removeprefix("#")


def _file(path: Path, *others: Path, parent: str | None = None) -> Source:
    """A file as a source; what describes it may change or appear later and counts too."""
    size = mtime = 0
    for file in (path, *others):
        # Size and time of all of them add up to one revision: a description that changes makes the source new.
        if file.is_file():
            stat = file.stat()
            size, mtime = size + stat.st_size, max(mtime, stat.st_mtime_ns)
    return Source(_NAME, str(path), path, size, mtime, parent)


def _conversation_sources(path: Path, where: Where) -> Iterator[Source]:
    try:
        for one in list(sqlite.list_conversations(path, lambda directory: concerns_roots(directory, where.roots))):
            yield Source(_NAME, f"{path}#{one.name}", path, one.size, one.updated)
    # The whole file as one source: reading it fails as well and says why.
    except SourceError:
        yield _file(path)


def _parse_kiro_database(source: Source) -> Parsed:
    """One conversation; or all, of which those that cannot be read are left out and counted."""
    if name := _conversation_name(source):
        return _one(sqlite.read_conversation(source.path, name))
    told: list[tuple[Transcript, dict[str, int]]] = []
    drift: dict[str, int] = {}
    for one in list(sqlite.list_conversations(source.path, lambda _: True)):
        try:
            told.append(sqlite.read_conversation(source.path, one.name))
        except SourceError:
            drift["unreadable conversation"] = drift.get("unreadable conversation", 0) + 1
    for _, odd in told:
        for what, times in odd.items():
            drift[what] = drift.get(what, 0) + times
    return Parsed(transcripts=tuple(transcript for transcript, _ in told), drift=drift)


def _one(told: tuple[Transcript, dict[str, int]]) -> Parsed:
    return Parsed(transcripts=(told[0],), drift=told[1])


def _bucket_root(path: Path, where: Where) -> str | None:
    """The root, or directory above one, whose hash names the folder that a shared log's session lies in."""
    if len(path.parents) < 2:
        return None
    # Hashes cannot be turned round: every directory that the session could have been in is hashed instead.
    digests = {hashlib.sha256(root.encode()).hexdigest()[:16]: root for root in parents_upwards(where.roots)}
    return digests.get(path.parents[1].name)


def _log_may_concern(path: Path, where: Where) -> bool:
    paths = log.workspace_paths(log.shared_description(path))
    return any(concerns_roots(place, where.roots) for place in paths) or (
        not paths and _bucket_root(path, where) is not None
    )


def _shared(path: Path) -> Source:
    description = path.with_name("session.json")
    parent = value_at(log.shared_description(path), "parentSessionId")
    above = path.parents[1] / str(parent) / path.name if isinstance(parent, str) and "\0" not in parent else None
    return _file(path, description, parent=str(above) if above else None)


def _ide_sessions(folder: Path, where: Where) -> Iterator[Source]:
    for file, directory in ide.session_files(folder):
        if concerns_roots(directory, where.roots):
            # Executions grow while the session's own file stands still.
            yield _file(file, *ide.execution_files(folder, directory))
    for root in parents_upwards(where.roots):
        yield from (_file(path) for path in sorted((folder / ide.workspace_hash(root)).glob("*.chat")))


def _read_beginning(path: Path) -> bytes:
    try:
        with path.open("rb") as file:
            return file.read(4096)
    except OSError as error:
        raise refuse_source(path, error) from error


ADAPTER = Kiro()
