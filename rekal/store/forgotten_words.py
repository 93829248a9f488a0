"""Words that were forgotten, kept so that a text can be tested for them while the words cannot be read.

A tombstone names a record or the hash of a whole text. The same words also come back in other texts: a fork's title,
a copied command, the subject of an amended commit. So the ledger keeps of every forgotten stretch of text its length
and two hashes under a key of this store: a rolling one, which finds its places in a long text at once, and a strong
one, which confirms them. They stay in this clone, and an undo removes them.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from typing import Literal

import msgspec

from rekal.store.database import Connection

# Of shorter texts every second text has one; they are forgotten where they stand and may come back.
LEAST = 3
# A title is cut from a prompt's first line: so much of its beginning tells whose it is.
_TITLE = 60
_LEAST_TITLE = 20
_META = "forgotten_words"
_NAME = re.compile(r"[\w-]")

Scope = Literal["any", "path", "title"]
"""``any`` stands anywhere, ``path`` as a whole name only, ``title`` at the start of a title or subject only."""


class Word(msgspec.Struct, frozen=True, array_like=True):
    """One forgotten stretch: its request, its size in bytes, its two hashes and the texts it is kept out of."""

    request: str
    length: int
    rolling: int
    digest: str
    scope: Scope


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
        return word.scope == "any" or not (_NAME.match(before) or _NAME.match(after))


def _digest_words(key: bytes, data: bytes) -> str:
    return hashlib.blake2b(data, key=key, digest_size=16).hexdigest()


def read_forgotten_words(con: Connection) -> ForgottenWords:
    """The words that this clone forgot."""
    return ForgottenWords(_read_kept_words(con))


def _read_kept_words(con: Connection) -> _KeptWords | None:
    row = con.execute("SELECT value FROM meta WHERE key = ?", [_META]).fetchone()
    return msgspec.json.decode(row[0], type=_KeptWords) if row else None


def add_forgotten_words(con: Connection, request: str, texts: Iterable[tuple[str, Scope]]) -> None:
    """Keep ``texts`` as forgotten by ``request``. Inside a transaction."""
    import secrets  # 2 ms, with random and base64; only a forgetting makes a salt

    kept = _read_kept_words(con) or _KeptWords(secrets.token_hex(32), secrets.randbits(64) | 1, [])
    words = list(kept.words)
    for text, scope in dict.fromkeys(texts):
        if scope == "title":
            text = text.strip().split("\n", 1)[0][:_TITLE]
        if len(text) >= (_LEAST_TITLE if scope == "title" else LEAST):
            data = text.encode("utf-8", "surrogatepass")
            digest = _digest_words(bytes.fromhex(kept.key), data)
            words.append(Word(request, len(data), _rolling(kept.base, data), digest, scope))
    _write_kept_words(con, _KeptWords(kept.key, kept.base, words))


def remove_forgotten_words(con: Connection, request: str) -> None:
    """Let the words of one request come in again. Inside a transaction."""
    kept = _read_kept_words(con)
    if kept is not None:
        _write_kept_words(
            con, _KeptWords(kept.key, kept.base, [word for word in kept.words if word.request != request])
        )


def _rolling(base: int, data: bytes) -> int:
    value = 0
    for byte in reversed(data):
        value = (value * base + byte) % (1 << 64)
    return value


def _write_kept_words(con: Connection, kept: _KeptWords) -> None:
    con.execute("DELETE FROM meta WHERE key = ?", [_META])
    if kept.words:
        con.execute("INSERT INTO meta VALUES (?, ?)", [_META, msgspec.json.encode(kept).decode()])
