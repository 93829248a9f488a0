"""OpenCode: its databases, its two generations of JSON trees, and exported sessions.

A tree stays on disk after its migration into a database, so a session is taken from the database unless the
migration left it empty there. A database is one file for all projects: each of its sessions is a source of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from time import time_ns

from rekal.agents.contract import Parsed, Resume, Source, Where, refuse_source
from rekal.agents.formats.json_fields import read_object
from rekal.agents.formats.repo_paths import concerns_roots
from rekal.agents.opencode import storage
from rekal.agents.opencode.conversation import Narration
from rekal.agents.opencode.storage import ListedSession, StoredSession
from rekal.errors import SourceError

_MAGIC = b"SQLite format 3\0"
# OpenCode marks the end of every message; after this long without a word, one without mark was cut off by a crash.
_QUIET_NS = 3600 * 10**9


class OpenCode:
    """Sessions of OpenCode and of the programs that share its store."""

    name = "opencode"

    def discover(self, where: Where) -> Iterator[Source]:
        """Yield one source a session whose directory may concern the repository; a broken database is one source."""
        data = _data_folder(where)
        found: dict[str, Source] = {}
        for database in _opencode_databases(where, data):
            for source in _session_sources(database, where):
                known = found.get(source.key.removeprefix(f"{source.path}#"))
                # Channels share sessions: the copy that was written to last is the whole one.
                if known is None or (source.mtime_ns, source.size) > (known.mtime_ns, known.size):
                    found[source.key.removeprefix(f"{source.path}#")] = source
        for file, listed in storage.list_tree(data):
            # `size` counts rows here: a migration that broke off leaves the session in the database without any.
            if (known := found.get(listed.id)) is not None and known.size > 0:
                continue
            if _session_may_concern(listed, where):
                found[listed.id] = Source(
                    self.name, str(file), file, listed.rows, listed.updated, _parent_file(file, listed)
                )
        yield from found.values()

    def parse(self, source: Source, resume: Resume | None, where: Where) -> Parsed:
        """Read one session, or all of a database when the key names none. Always whole: ``resume`` is not used."""
        # Taken from the session's last change: the answer under way must not be stored before it is whole.
        over = time_ns() - source.mtime_ns > _QUIET_NS
        tellings = [Narration(conversation, over=over) for conversation in _read_sessions(source)]
        transcripts = tuple(telling.transcript() for telling in tellings)
        drift: dict[str, int] = {}
        for telling in tellings:
            # Each session of a database counts on its own; the source reports one sum.
            for what, times in telling.drift.items():
                drift[what] = drift.get(what, 0) + times
        skipped = sum(telling.conversation.damaged for telling in tellings)
        return Parsed(transcripts=transcripts, skipped_bytes=skipped, drift=drift)

    def sniff(self, head: bytes) -> bool:
        """True if this is a database of OpenCode, an exported session, or the description of a session."""
        if head.startswith(_MAGIC):
            # The schema's SQL stands in the first page of a database.
            earlier = all(name in head for name in (b"message_id", b"session_id", b"time_created"))
            return earlier or (b"session_v2" in head and b"session_message" in head)
        # Exports are indented, descriptions are not.
        opening = b"".join(head[:8192].split())
        if not opening.startswith(b"{"):
            return False
        exported = opening.startswith(b'{"info":{') and (b'"projectID":' in opening or b'"id":"ses_' in opening)
        described = b'"projectID":' in opening and b'"directory":' in opening and b'"parts":' not in opening
        return exported or described


def _data_folder(where: Where) -> Path:
    """The same below the home directory on every platform, Windows included."""
    base = where.env.get("XDG_DATA_HOME")
    return Path(base) / "opencode" if base else where.home / ".local" / "share" / "opencode"


def _opencode_databases(where: Where, data: Path) -> list[Path]:
    """Every channel has its own ``opencode-<channel>.db``; OPENCODE_DB names one more, ``:memory:`` none on disk."""
    named = where.env.get("OPENCODE_DB", "")
    extra = [data / named] if named and named != ":memory:" else []
    return list(dict.fromkeys(path for path in [*sorted(data.glob("opencode*.db")), *extra] if path.is_file()))


def _session_sources(path: Path, where: Where) -> Iterator[Source]:
    try:
        wanted = [listed for listed in storage.list_database(path) if _session_may_concern(listed, where)]
        revisions = storage.session_revision(path, [listed.id for listed in wanted])
    except SourceError:
        # Unreadable now: yielded whole, so that reading it says why.
        stat = path.stat()
        yield Source(OpenCode.name, str(path), path, stat.st_size, stat.st_mtime_ns)
        return
    for listed in wanted:
        rows, updated = revisions[listed.id]
        parent = f"{path}#{listed.parent}" if listed.parent else None
        yield Source(OpenCode.name, f"{path}#{listed.id}", path, rows, updated, parent)


def _session_may_concern(listed: ListedSession, where: Where) -> bool:
    """Without a recorded directory only the messages can tell."""
    return listed.directory is None or concerns_roots(listed.directory, where.roots)


def _parent_file(file: Path, listed: ListedSession) -> str | None:
    return str(file.with_name(f"{listed.parent}.json")) if listed.parent else None


def _read_sessions(source: Source) -> list[StoredSession]:
    try:
        with source.path.open("rb") as file:
            magic = file.read(len(_MAGIC))
    except OSError as error:
        raise refuse_source(source.path, error) from error
    if magic == _MAGIC:
        session_id = source.key.removeprefix(str(source.path)).removeprefix("#")
        return storage.read_database(source.path, session_id or None)
    value = read_object(source.path)
    if storage.is_export(value):
        return [storage.read_export(value)]
    return [storage.read_tree(source.path)]


ADAPTER = OpenCode()
