"""The records that cross from room to room, all frozen.

Two families. What an agent's transcript says, still *raw*: :class:`Transcript` with :class:`RawTurn` and
:class:`RawCall`. What the store keeps, *scrubbed*: :class:`Session` with :class:`Turn`, :class:`ToolCall` and
:class:`Edit`. Only ``rekal.scrub`` turns the first into the second (and the wire decoder, whose bytes were scrubbed
before they left), and the store accepts nothing but the second: that is how nothing unscrubbed is ever written.

Times are aware UTC datetimes. Text is valid Unicode without lone surrogates.
"""

from __future__ import annotations

from datetime import datetime
from typing import Literal

import msgspec

Role = Literal["human", "steering", "assistant", "summary"]
Actor = Literal["human", "agent"]
Outcome = Literal["ok", "error"]
Evidence = Literal["edited", "active", "backfill"]
Change = Literal["A", "M", "D", "R", "T"]

# Any other origin is the name of the ref that a record came by, which no ref of ours can be called.
LOCAL = "local"
UNVERIFIED = "unverified:"  # begins the origin of records whose author could not be proved


class RawTurn(msgspec.Struct, frozen=True):
    """One thing somebody said, as the transcript has it.

    ``native_id`` is the agent's own id of the message. ``shared`` says that this id names the same message in every
    copy of the history (a resumed or forked file repeats it); without it the id counts within the session only.
    Without a ``native_id`` the turn is known by role, content and how often that came before in this transcript, so
    such a transcript must always be parsed from its beginning.
    """

    role: Role
    content: str
    native_id: str | None = None
    shared: bool = False
    occurred_at: datetime | None = None
    model: str | None = None


class RawCall(msgspec.Struct, frozen=True):
    """One tool call that was answered (or passed over). ``turn`` indexes the transcript's turns, -1 before the first.

    ``path`` is as recorded, absolute or relative to ``cwd``. ``wrote`` holds the lines an editing call put into
    ``path``; empty for any other call and for a call that failed. One call that edits several files is several
    RawCalls with the native id suffixed ``#1``, ``#2``...
    """

    tool: str
    turn: int = -1
    native_id: str | None = None
    shared: bool = False
    path: str | None = None
    command: str | None = None
    outcome: Outcome | None = None
    excerpt: str | None = None
    occurred_at: datetime | None = None
    wrote: tuple[str, ...] = ()
    cwd: str | None = None


class Transcript(msgspec.Struct, frozen=True):
    """One conversation read from one source, unscrubbed: the whole of it or what was added since the last reading.

    ``cwds`` are all working directories recorded in it, absolute, in order of appearance; ``branches`` likewise.
    ``parent_native_id`` is set on a sub-agent's session, ``forked_from`` on a copy that names its origin.
    """

    agent: str
    native_id: str
    turns: tuple[RawTurn, ...] = ()
    calls: tuple[RawCall, ...] = ()
    cwds: tuple[str, ...] = ()
    branches: tuple[str, ...] = ()
    actor: Actor = "human"
    parent_native_id: str | None = None
    forked_from: str | None = None
    agent_type: str | None = None
    description: str | None = None
    spawn_depth: int | None = None
    model: str | None = None
    title: str | None = None
    started_at: datetime | None = None


class Turn(msgspec.Struct, frozen=True):
    """One scrubbed turn. ``seq`` is its place in the session; ``uid`` is the same in every copy of it."""

    seq: int
    uid: str
    role: Role
    content: str
    occurred_at: datetime | None = None
    model: str | None = None


class ToolCall(msgspec.Struct, frozen=True):
    """One scrubbed tool call; ``turn_seq`` is -1 when it came before the first turn."""

    seq: int
    uid: str
    turn_seq: int
    tool: str
    path: str | None = None
    command: str | None = None
    outcome: Outcome | None = None
    excerpt: str | None = None
    occurred_at: datetime | None = None


class Edit(msgspec.Struct, frozen=True):
    """The lines one tool call wrote, as hashes (:func:`rekal.ids.line_hash`): what ``why`` looks for."""

    seq: int
    tool_call_seq: int
    path: str
    line_hashes: tuple[int, ...]


class Session(msgspec.Struct, frozen=True):
    """One conversation as the store keeps it. ``cwd`` is relative to the repository's root (``.`` at the root)."""

    id: str
    agent: str
    native_id: str
    author_name: str
    author_email: str
    origin: str = LOCAL
    parent_id: str | None = None
    forked_from: str | None = None
    actor: Actor = "human"
    agent_type: str | None = None
    description: str | None = None
    spawn_depth: int | None = None
    branch: str | None = None
    cwd: str | None = None
    model: str | None = None
    title: str | None = None
    started_at: datetime | None = None
    turns: tuple[Turn, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    edits: tuple[Edit, ...] = ()


# Lower case without underscores, since agents spell the same tool in three ways.
_WHOLE = frozenset({"write", "writefile", "createfile", "create", "fswrite", "writetofile"})


def writes_whole(tool: str) -> bool:
    """True if a tool hands over the whole new text of a file: what the file had before is then not its doing."""
    return tool.lower().replace("_", "") in _WHOLE


class FileChange(msgspec.Struct, frozen=True):
    """One path of a commit. ``T``: only a tool call says it was touched."""

    path: str
    change: Change
    old_path: str | None = None


class SessionRange(msgspec.Struct, frozen=True):
    """The turns of one session that led to one commit, both ends included."""

    session_id: str
    first_seq: int
    last_seq: int
    evidence: Evidence


class Checkpoint(msgspec.Struct, frozen=True):
    """A commit that carried work."""

    id: str
    git_sha: str
    author_email: str
    tree_sha: str | None = None
    patch_id: str | None = None
    parent_sha: str | None = None
    branch: str | None = None
    subject: str | None = None
    committed_at: datetime | None = None
    origin: str = LOCAL
    files: tuple[FileChange, ...] = ()
    sessions: tuple[SessionRange, ...] = ()


class Rewrite(msgspec.Struct, frozen=True):
    """One commit became another."""

    old_sha: str
    new_sha: str
    how: Literal["amend", "rebase", "squash", "patch-id"]


class Tombstone(msgspec.Struct, frozen=True):
    """A name of what must never come back: an id, or the hash of a content."""

    target: str
    reason: str
    actor: str
    recorded_at: datetime
    origin: str = LOCAL


class MemoryEvent(msgspec.Struct, frozen=True):
    """One entry of the memory log. ``payload`` is JSON text whose shape depends on ``kind``.

    ``source`` says what it rests on: ``<session>#<turn>``, a commit, a file or an import.
    """

    id: str
    memory_id: str
    kind: str
    payload: str
    actor: str
    actor_type: str
    occurred_at: datetime
    recorded_at: datetime
    source: str | None = None
    origin: str = LOCAL


class CitedMemory(msgspec.Struct, frozen=True):
    """A memory beside the turn or commit that it rests on, for rooms that stand below memories.

    ``label`` is RULED-OUT, DECIDED or NOTED, ``source`` what it cites (``<session>#<turn>``, a commit), ``commit`` the
    HEAD that it was made at.
    """

    id: str
    label: str
    text: str
    because: str | None
    state: str
    actor: str
    source: str | None
    commit: str | None


class Author(msgspec.Struct, frozen=True):
    """The owner of sessions: git's ``user.name`` and ``user.email``."""

    name: str
    email: str
