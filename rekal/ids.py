"""Ids and content hashes.

A derived id is content: the same named parts give the same id on every machine, so capturing or importing twice
changes nothing. 128 bits of BLAKE2b over length-prefixed parts, 26 characters of lower-case base32. A ULID is the
same length, for the things that have no content of their own.
"""

from __future__ import annotations

import hashlib
import os
import time

ID_LENGTH = 26
_ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"  # Crockford: no i, l, o, u
_PAIRS = [high + low for high in _ALPHABET for low in _ALPHABET]
_SHIFTS = range(5 * (ID_LENGTH - 2), -1, -10)


def encode(value: int) -> str:
    """Write a 128-bit integer as 26 lower-case base32 characters, most significant first."""
    return "".join([_PAIRS[value >> shift & 1023] for shift in _SHIFTS])


def derive(kind: str, *parts: str) -> str:
    """Id of ``parts`` within the name space ``kind``. Parts are length-prefixed, so ("a", "bc") is not ("ab", "c")."""
    digest = hashlib.blake2b(digest_size=16, person=kind.encode()[:16])
    for part in parts:
        data = part.encode("utf-8", "surrogatepass")
        digest.update(len(data).to_bytes(8, "little"))
        digest.update(data)
    return encode(int.from_bytes(digest.digest(), "big"))


def ulid(now_ms: int | None = None) -> str:
    """A fresh id: 48 bits of Unix milliseconds, then 80 random bits."""
    stamp = int(time.time() * 1000) if now_ms is None else now_ms
    return encode((stamp & ((1 << 48) - 1)) << 80 | int.from_bytes(os.urandom(10), "big"))


def session_id(agent: str, native_id: str, author_email: str) -> str:
    """Id of a session: which agent, its own id for it, whose it is."""
    return derive("session", agent, native_id, author_email)


def checkpoint_id(git_sha: str, author_email: str) -> str:
    """Id of a checkpoint: which commit, whose capture."""
    return derive("checkpoint", git_sha, author_email)


def content_hash(text: str) -> str:
    """32 hexadecimal characters that name a text."""
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


def line_hash(line: str) -> int | None:
    """63-bit hash of a line with its white space folded, or None for a line too thin to tell two edits apart.

    Only letters and digits count towards thinness: ``}``, ``else:`` and blank lines would match everywhere.
    """
    folded = " ".join(line.split())
    # The beginning of most lines decides, at a third of the cost of the whole.
    if sum(map(str.isalnum, folded[:12])) < 5 and sum(map(str.isalnum, folded)) < 5:
        return None
    return int.from_bytes(hashlib.blake2b(folded.encode("utf-8", "replace"), digest_size=8).digest(), "big") >> 1
