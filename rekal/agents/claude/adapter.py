"""Claude Code: ``~/.claude/projects/<directory>/<session>.jsonl``, one file a session, appended while it runs."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

from rekal.agents.claude.records import AGENT, Conversation, Thread, text_field
from rekal.agents.contract import Adapter, Parsed, Resume, Source, Where, refuse_source
from rekal.agents.formats.jsonl import LineReader, Record, hash_prefix
from rekal.errors import SourceError
from rekal.model import Transcript
from rekal.plain_text import lazy_pattern

_UUID = lazy_pattern(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}\Z", re.IGNORECASE)
_SIGNS = (b'"parentUuid":', b'"sessionId":')
# A few damaged lines at the top must not hide the format; a whole file is too much to look through.
_SNIFFED_LINES = 20


class Claude:
    """Claude Code's adapter."""

    name = AGENT

    def discover(self, where: Where) -> Iterator[Source]:
        """Yield the sessions and sub-agents that may concern ``where.roots``."""
        return find_sources(where, self.name)

    def parse(self, source: Source, resume: Resume | None, where: Where) -> Parsed:
        """Read one file from where the last reading stopped.

        A call without its result is held back: ``offset`` then is that of the record that issued it, until a later
        prompt shows that it was passed over. Raises :class:`SourceError` when the file holds no record at all.
        """
        reader = LineReader(source.path, resume)
        conversation = Conversation(_main_thread(source.path), reader.seen)
        for offset, record in reader:
            conversation.take(offset, record)
        if conversation.orphaned and reader.start:
            # A sub-agent inside the file is known by its first record: look at it all, still up to where we had come.
            return self.parse(source, Resume(0, hash_prefix(source.path, 0, reader.seen)), where)
        if not conversation.taken and not reader.start and reader.skipped_bytes:
            raise SourceError(f"no record can be read in {source.path}")
        return _parsed(reader, conversation)

    def sniff(self, head: bytes) -> bool:
        """True if ``head`` begins a file of Claude Code's records."""
        # An export is one object with all records in a list.
        if b'"loglines"' in head[:64]:
            return True
        for line in head.split(b"\n")[:_SNIFFED_LINES]:
            try:
                record = msgspec.json.decode(line)
            except (msgspec.MsgspecError, ValueError, RecursionError):
                # The head may end inside a long record, so that it does not decode: its keys are enough.
                if line.lstrip(b"\xef\xbb\xbf").startswith(b"{") and all(sign in line for sign in _SIGNS):
                    return True
                continue
            if isinstance(record, dict) and _is_own(record):
                return True
        return False


def _is_own(record: Record) -> bool:
    kind = record.get("type")
    if kind in ("user", "assistant"):
        # Other agents write "user" lines as well, with the role beside the text instead of inside a message.
        return isinstance(record.get("message"), dict) and "role" not in record
    if kind == "summary":
        return "leafUuid" in record
    if kind == "file-history-snapshot":
        return "snapshot" in record
    return "sessionId" in record and ("parentUuid" in record or kind in ("queue-operation", "permission-mode"))


def _main_thread(path: Path) -> Thread:
    """The file's own conversation. A session's file name wins over the ids inside, which a copy may not change."""
    if not is_sub_agent(path):
        return Thread(path.stem, "human")
    return Thread(path.stem.removeprefix("agent-"), "agent", session_above(path))


def _parsed(reader: LineReader, conversation: Conversation) -> Parsed:
    main = conversation.main
    last_human = main.last_human
    # The next reading starts at the oldest call that still waits, so that its result finds it.
    waiting = [call.offset for thread in conversation.threads() for call in thread.unanswered(last_human)]
    offset = min(waiting, default=reader.offset)
    skipped = reader.skipped_bytes
    if main.actor == "agent":
        skipped += _complete_sub_agent(main, reader.path, conversation.first_session_id)
    found = [thread.transcript(last_human) for thread in conversation.threads()]
    if main.actor == "human":
        found[0] = _complete_session(found[0], conversation, from_start=reader.seen == 0)
    return Parsed(
        # A file of titles and snapshots alone is no conversation.
        transcripts=tuple(one for one in found if one.turns or one.calls),
        offset=offset,
        prefix_hash=hash_prefix(reader.path, offset, reader.offset),
        skipped_bytes=skipped,
        drift=dict(conversation.drift),
        restarted=reader.restarted,
    )


def _complete_sub_agent(thread: Thread, path: Path, session_id: str | None) -> int:
    """Add what stands outside the records: whose sub-agent it is, and its sidecar. Returns bytes not understood.

    The client's ids of sub-agents are short; with the session's in front they stay apart.
    """
    thread.parent = thread.parent or session_id
    if thread.parent:
        thread.native_id = f"{thread.parent}/{thread.native_id}"
    sidecar, skipped = _sidecar(path.with_suffix(".meta.json"))
    thread.agent_type = text_field(sidecar.get("agentType")) or thread.agent_type
    thread.description = text_field(sidecar.get("description")) or thread.description
    depth = sidecar.get("spawnDepth")
    # type() and not isinstance(): True is an int as well, and a depth of a million is no depth.
    thread.spawn_depth = depth if type(depth) is int and 0 <= depth < 1000 else None
    return skipped


def _sidecar(path: Path) -> tuple[dict[str, Any], int]:
    try:
        data = path.read_bytes()
    # Not every build writes a sidecar: none is no fault.
    except FileNotFoundError:
        return {}, 0
    except OSError as error:
        raise refuse_source(path, error) from error
    try:
        return msgspec.json.decode(data, type=dict[str, Any]), 0
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return {}, len(data)


def _complete_session(transcript: Transcript, conversation: Conversation, *, from_start: bool) -> Transcript:
    """Add the title, and the origin when this file is a copy that still names it."""
    prompts = (turn.content for turn in transcript.turns if turn.role == "human")
    title = conversation.titles.best(conversation.uuids, next(prompts, None) if from_start else None)
    origin, own = conversation.first_session_id or "", transcript.native_id
    # Only a reading from the start saw the first record, which names the session copied from.
    copied = from_start and origin != own and _UUID.match(origin) and _UUID.match(own)
    return msgspec.structs.replace(transcript, title=title, forked_from=origin if copied else None)


ADAPTER: Adapter = Claude()


# Where Claude Code keeps its transcripts.
#
# ``projects/<encoded directory>/<session>.jsonl`` below the configuration directory; a session's sub-agents lie in
# ``<session>/subagents/`` (older builds: ``agent-<id>.jsonl`` beside the sessions). The encoding is lossy, so folder
# names only narrow the search.

# The client cuts a folder's name there and puts a hash behind it.
_LONGEST = 200
_OTHER = lazy_pattern(r"[^A-Za-z0-9]")
# They lie where transcripts lie and are none.
_NOT_TRANSCRIPTS = frozenset({"journal.jsonl", "history.jsonl"})


def config_directories(where: Where) -> list[Path]:
    """``CLAUDE_CONFIG_DIR`` when set, else ``~/.claude`` and the ``~/.config/claude`` of some builds."""
    if configured := where.env.get("CLAUDE_CONFIG_DIR", "").strip():
        # The client's settings file may hold a tilde that no shell has replaced.
        if configured == "~" or configured.startswith(("~/", "~\\")):
            return [where.home / configured[2:]]
        return [Path(configured)]
    return [where.home / ".claude", where.home / ".config" / "claude"]


def encode_directory(path: str) -> str:
    """The folder name of a directory, lower-cased and without the hash that ends a long one.

    The client counts UTF-16 units: a character outside the basic plane becomes two dashes.
    """
    widened = "".join(ch if ord(ch) < 0x10000 else "--" for ch in path)
    return _OTHER.sub("-", widened)[:_LONGEST].lower()


class Narrowing:
    """Folder names that may hold sessions of some roots: of the roots, below them, and of their ancestors.

    Worktrees that the agent made under ``.claude/worktrees`` are below a root.
    """

    def __init__(self, roots: tuple[Path, ...]) -> None:
        self._exact = {encode_directory(str(path)) for root in roots for path in (root, *root.parents)}
        self._below = tuple({(encode_directory(str(root)).rstrip("-") + "-")[:_LONGEST] for root in roots})

    def admits(self, folder: str) -> bool:
        name = folder.lower()
        # Ancestors count because the agent is often started above the repository and then moves into it.
        return name[:_LONGEST] in self._exact or name.startswith(self._below)


def find_sources(where: Where, agent: str) -> Iterator[Source]:
    """Every transcript that may concern ``where.roots``, sessions before their sub-agents, in order of path.

    A folder that cannot be listed is itself a source: reading it fails and says why.
    """
    narrowing = Narrowing(where.roots)
    for projects in (config / "projects" for config in config_directories(where)):
        try:
            folders = [projects / name for name in _list_names(projects) if narrowing.admits(name)]
        except OSError:
            yield Source(agent, str(projects), projects, 0, 0)
            continue
        for folder in folders:
            try:
                yield from _of_folder(folder, agent)
            except OSError:
                yield Source(agent, str(folder), folder, 0, 0)


def _list_names(folder: Path) -> list[str]:
    try:
        return sorted(path.name for path in folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _of_folder(folder: Path, agent: str) -> Iterator[Source]:
    names = _list_names(folder)  # there may be 200,000, and a path takes much more memory
    for name in names:
        if name.endswith(".jsonl") and (source := _source(folder / name, agent)):
            yield source
    # Sessions first: a sub-agent's parent must be stored before a commit is linked to both.
    for name in names:
        if not name.endswith(".jsonl"):
            for path in sorted((folder / name / "subagents").rglob("*.jsonl")):
                if source := _source(path, agent, str(folder / f"{name}.jsonl")):
                    yield source


def _source(path: Path, agent: str, parent_key: str | None = None) -> Source | None:
    if path.name in _NOT_TRANSCRIPTS:
        return None
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    except OSError:  # reading it fails, too, and says why
        return Source(agent, str(path), path, 0, 0, parent_key)
    return Source(agent, str(path), path, stat.st_size, stat.st_mtime_ns, parent_key)


def is_sub_agent(path: Path) -> bool:
    return path.name.startswith("agent-") or "subagents" in path.parts[:-1]


def session_above(path: Path) -> str | None:
    """The session whose ``subagents`` folder holds ``path``."""
    folders = path.parts[:-1]
    if "subagents" not in folders:
        return None
    # From the right: a repository may itself lie in a directory called subagents.
    at = len(folders) - 1 - folders[::-1].index("subagents")
    return folders[at - 1] if at > 0 else None
