"""What must never come back: the names of forgotten records, and forgotten words.

A tombstone's target is an id (of a session, a turn, a tool call, a memory), a name derived from one, or the hash of a
content: nothing that tells what was forgotten. A tombstone made here holds for everything that comes in. A teammate's
holds for what comes from that teammate and for nothing else, or anybody could keep others' work out of a store.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Literal, cast

import msgspec
from msgspec.structs import replace

from rekal import ids
from rekal.ids import content_hash
from rekal.model import LOCAL, Checkpoint, MemoryEvent, Session, Tombstone, ToolCall, Turn
from rekal.store.database import Connection, with_zone

# Of shorter texts every second text has one; they are forgotten where they stand and may come back.
_LEAST = 3
# A title is cut from a prompt's first line: so much of its beginning tells whose it is.
_TITLE = 60
_LEAST_TITLE = 20
_META = "forgotten_words"
_NAME_CHARACTER = re.compile(r"[\w-]")

WordScope = Literal["any", "path", "title"]
"""``any`` stands anywhere, ``path`` as a whole name only, ``title`` at the start of a title or subject only."""


class Word(msgspec.Struct, frozen=True, array_like=True):
    """One forgotten stretch: its request, its size in bytes, its two hashes and the texts it is kept out of."""

    request: str
    length: int
    rolling: int
    digest: str
    scope: WordScope


class _KeptWords(msgspec.Struct, frozen=True):
    key: str
    base: int
    words: list[Word]


class ForgottenWords:
    """Tests texts for forgotten words."""

    def __init__(self, kept: _KeptWords | None) -> None:
        self._kept = kept
        self._key = bytes.fromhex(kept.key) if kept else b""
        self._by_length: dict[int, list[Word]] = {}
        for word in kept.words if kept else ():
            self._by_length.setdefault(word.length, []).append(word)

    def __bool__(self) -> bool:
        return bool(self._by_length)

    def are_in(self, text: str | None, *, title: bool = False) -> bool:
        """True if ``text`` has one of the words; ``title`` says that it is a title or the subject of a commit."""
        if self._kept is None or not self._by_length or not text:
            return False
        data = text.encode("utf-8", "surrogatepass")
        lengths = [length for length in self._by_length if length <= len(data)]
        if not lengths:
            return False
        import numpy as np  # loaded only where something was forgotten: it costs a hook more than all the rest

        # With uint64 everything is modulo 2**64, which is what makes subtraction undo a sum.
        powers = np.multiply.accumulate(np.full(len(data), self._kept.base, dtype=np.uint64))
        sums = np.zeros(len(data) + 1, dtype=np.uint64)
        np.cumsum(np.frombuffer(data, np.uint8) * powers, out=sums[1:])
        for length in lengths:
            windows = sums[length:] - sums[:-length]
            for word in self._by_length[length]:
                if word.scope == "title" and not title:
                    continue
                places = np.flatnonzero(windows == np.uint64(word.rolling) * powers[: len(windows)])
                if any(self._is_word(data, int(at), word) for at in places):
                    return True
        return False

    def _is_word(self, data: bytes, at: int, word: Word) -> bool:
        end = at + word.length
        if _digest_words(self._key, data[at:end]) != word.digest:
            return False
        if word.scope == "title":
            return at == 0
        before, after = data[:at].decode("utf-8", "replace")[-1:], data[end:].decode("utf-8", "replace")[:1]
        return word.scope == "any" or not (_NAME_CHARACTER.match(before) or _NAME_CHARACTER.match(after))


def _digest_words(key: bytes, data: bytes) -> str:
    return hashlib.blake2b(data, key=key, digest_size=16).hexdigest()


def read_forgotten_words(con: Connection) -> ForgottenWords:
    """The words that this clone forgot."""
    return ForgottenWords(_read_kept_words(con))


def _read_kept_words(con: Connection) -> _KeptWords | None:
    row = con.execute("SELECT value FROM meta WHERE key = ?", [_META]).fetchone()
    return msgspec.json.decode(row[0], type=_KeptWords) if row else None


def add_forgotten_words(con: Connection, request: str, texts: Iterable[tuple[str, WordScope]]) -> None:
    """Keep ``texts`` as forgotten by ``request``. Inside a transaction."""
    import secrets  # 2 ms, with random and base64; only a forgetting makes a salt

    kept = _read_kept_words(con) or _KeptWords(secrets.token_hex(32), secrets.randbits(64) | 1, [])
    words = list(kept.words)
    for text, scope in dict.fromkeys(texts):
        if scope == "title":
            text = text.strip().split("\n", 1)[0][:_TITLE]
        if len(text) >= (_LEAST_TITLE if scope == "title" else _LEAST):
            data = text.encode("utf-8", "surrogatepass")
            digest = _digest_words(bytes.fromhex(kept.key), data)
            words.append(Word(request, len(data), _rolling_hash(kept.base, data), digest, scope))
    _write_kept_words(con, _KeptWords(kept.key, kept.base, words))


def remove_forgotten_words(con: Connection, request: str) -> None:
    """Let the words of one request come in again. Inside a transaction."""
    kept = _read_kept_words(con)
    if kept is not None:
        _write_kept_words(
            con, _KeptWords(kept.key, kept.base, [word for word in kept.words if word.request != request])
        )


def _rolling_hash(base: int, data: bytes) -> int:
    value = 0
    for byte in reversed(data):
        value = (value * base + byte) % (1 << 64)
    return value


def _write_kept_words(con: Connection, kept: _KeptWords) -> None:
    con.execute("DELETE FROM meta WHERE key = ?", [_META])
    if kept.words:
        con.execute("INSERT INTO meta VALUES (?, ?)", [_META, msgspec.json.encode(kept).decode()])


# Names of what must never come back.
#
# A tombstone's target is an id (of a session, a turn, a tool call, a memory), a name derived from one, or the hash of a
# content: nothing that tells what was forgotten. A tombstone made here holds for everything that comes in. A teammate's
# holds for what comes from that teammate and for nothing else, or anybody could keep others' work out of a store.

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


def own_tombstones(con: Connection) -> list[Tombstone]:
    """Return the tombstones made in this clone, oldest first."""
    rows = con.execute(
        "SELECT target, reason, actor, recorded_at FROM tombstones WHERE origin = ? ORDER BY recorded_at, target",
        [LOCAL],
    ).fetchall()
    return [Tombstone(target, reason, actor, cast("datetime", with_zone(at))) for target, reason, actor, at in rows]
