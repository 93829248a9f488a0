"""Names of what must never come back.

A tombstone's target is an id (of a session, a turn, a tool call, a memory), a name derived from one, or the hash of a
content: nothing that tells what was forgotten. A tombstone made here holds for everything that comes in. A teammate's
holds for what comes from that teammate and for nothing else, or anybody could keep others' work out of a store.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from msgspec.structs import replace

from rekal import ids
from rekal.ids import content_hash
from rekal.model import LOCAL, Checkpoint, MemoryEvent, Session, ToolCall, Turn
from rekal.store.database import Connection
from rekal.store.forgotten_words import ForgottenWords, read_forgotten_words

_HASH_LENGTH = 32


def words_id(owner_id: str) -> str:
    """The target that blanks the words of a record which itself stays: a session's title, a checkpoint's subject."""
    return ids.derive("words", owner_id)


def is_hash(target: str) -> bool:
    """True if a target is the hash of a content, and not an id."""
    return len(target) == _HASH_LENGTH


class Forgotten:
    """The targets of some tombstones; its methods ask them about records, or take the forgotten out of one."""

    def __init__(self, targets: Collection[str], words: ForgottenWords | None = None) -> None:
        self._targets = frozenset(targets)
        self._words = words or ForgottenWords(None)
        self._hashes = any(map(is_hash, self._targets))

    def __bool__(self) -> bool:
        return bool(self._targets) or bool(self._words)

    def __contains__(self, name: str) -> bool:
        return name in self._targets

    def content(self, text: str | None) -> bool:
        """True if the hash of a text, or words in it, were forgotten."""
        hashed = self._hashes and text is not None and content_hash(text) in self._targets
        return hashed or self._words.are_in(text)

    def turn(self, turn: Turn) -> bool:
        """True if a turn was forgotten."""
        return turn.uid in self._targets or self.content(turn.content)

    def call(self, call: ToolCall) -> bool:
        """True if a tool call was forgotten."""
        texts = (call.tool, call.command, call.excerpt)
        return call.uid in self._targets or self.content(call.path) or any(map(self._words.are_in, texts))

    def event(self, event: MemoryEvent) -> bool:
        """True if a memory event was forgotten."""
        named = event.id in self._targets or event.memory_id in self._targets
        return named or self._words.are_in(event.payload) or self._words.are_in(event.source)

    def words_in(self, text: str | None, *, title: bool = False) -> bool:
        """True if ``text`` has forgotten words; ``title`` says that it is a title or the subject of a commit."""
        return self._words.are_in(text, title=title)

    def without_words(self, session: Session) -> Session:
        """A session's head, its words blank if they were forgotten."""
        if self._targets and words_id(session.id) in self._targets:
            return replace(session, title=None, description=None, branch=None, cwd=None)
        if not self._words:
            return session
        return replace(
            session,
            title=None if self.words_in(session.title, title=True) else session.title,
            description=None if self.words_in(session.description, title=True) else session.description,
            branch=None if self.words_in(session.branch) else session.branch,
            cwd=None if self.words_in(session.cwd) else session.cwd,
        )

    def left_of(self, checkpoint: Checkpoint) -> Checkpoint | None:
        """A checkpoint without its forgotten parts; None if it, or every session of it, was forgotten."""
        if not self:
            return checkpoint
        sessions = tuple(r for r in checkpoint.sessions if r.session_id not in self._targets)
        if checkpoint.id in self._targets or (checkpoint.sessions and not sessions):
            return None
        files = tuple(f for f in checkpoint.files if not (self.content(f.path) or self.content(f.old_path)))
        if words_id(checkpoint.id) in self._targets:
            checkpoint = replace(checkpoint, subject=None, branch=None)
        if self.words_in(checkpoint.subject, title=True):
            checkpoint = replace(checkpoint, subject=None)
        if self.words_in(checkpoint.branch):
            checkpoint = replace(checkpoint, branch=None)
        return replace(checkpoint, sessions=sessions, files=files)


def forgotten(con: Connection, origins: Sequence[str] = (LOCAL,)) -> Forgotten:
    """Everything that tombstones of these origins name."""
    rows = con.execute(
        "SELECT DISTINCT target FROM tombstones WHERE list_contains(?::VARCHAR[], origin)", [origins]
    ).fetchall()
    # The words are this clone's own: what it forgot is also kept out of what others send.
    words = read_forgotten_words(con) if LOCAL in origins else None
    return Forgotten({str(row[0]) for row in rows}, words)


def forgotten_among(con: Connection, names: Iterable[str]) -> Forgotten:
    """The part of ``names`` that this clone's own tombstones name."""
    rows = con.execute(
        "SELECT target FROM tombstones WHERE origin = ? AND list_contains(?::VARCHAR[], target)", [LOCAL, list(names)]
    ).fetchall()
    return Forgotten({str(row[0]) for row in rows}, read_forgotten_words(con))
