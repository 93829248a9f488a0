"""How far a session is believed when several claim the same line or commit.

Every clone can push records about anybody's lines, with whatever times it likes. So what this clone captured comes
first, then what the author of the commit sent, then refs with a good signature, then the rest.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from enum import IntEnum
from typing import Literal

from rekal.model import LOCAL, UNVERIFIED
from rekal.store.database import Connection
from rekal.store.why_rows import SessionOrigin, select_session_origins, select_signatures

Signature = Literal["good", "bad", "none", "unchecked"]

_WORDS: Mapping[str, Signature] = {"G": "good", "B": "bad", "N": "none"}
_UNKNOWN = SessionOrigin("", "", "", "", ())  # edits whose session is not here


class Trust(IntEnum):
    """Grounds to believe a session, best first."""

    OWN = 0
    AUTHOR = 1
    SIGNED = 2
    CLAIMED = 3


class Origins:
    """Origins of sessions; each is looked up once."""

    def __init__(self, con: Connection) -> None:
        self._con = con
        self._known: dict[str, SessionOrigin] = {}

    def load(self, sessions: Collection[str]) -> None:
        """Look up sessions that were not asked for yet, all in one query."""
        missing = set(sessions) - self._known.keys()
        if missing:
            found = select_session_origins(self._con, missing)
            self._known |= {name: found.get(name, _UNKNOWN) for name in missing}

    def find(self, session_id: str) -> SessionOrigin:
        """Return where a session came from; its origin is empty when it is not stored."""
        self.load([session_id])
        return self._known[session_id]

    def trust(self, session_id: str, author_email: str) -> Trust:
        """Return the grounds to believe a session about a commit of ``author_email`` (empty without a commit)."""
        one = self.find(session_id)
        if one.origin == LOCAL:
            return Trust.OWN
        if not one.origin or one.origin.startswith(UNVERIFIED):
            return Trust.CLAIMED  # the ref's owner is not the one whom the session names
        if author_email and one.author_email.lower() == author_email.lower():
            return Trust.AUTHOR
        return Trust.SIGNED if read_signature(one) == "good" else Trust.CLAIMED


def read_signature(one: SessionOrigin) -> Signature | None:
    """Return the verdict on the signature of the ref a session came with; None for one of this clone."""
    if one.origin == LOCAL:
        return None
    return _name_verdict(one.signatures)


def _name_verdict(letters: Iterable[str]) -> Signature:
    # The same ref may come from several remotes: the worst of them holds, since the session may be from there.
    words = [_WORDS.get(letter, "unchecked") for letter in letters] or ["unchecked"]
    return next(word for word in ("bad", "none", "unchecked", "good") if word in words)


def list_signatures(con: Connection, origins: Iterable[str]) -> dict[str, Signature]:
    """Return the verdicts on the signatures of the refs that records came with, by origin, those of this clone out."""
    others = sorted(set(origins) - {LOCAL})
    letters = select_signatures(con, others) if others else {}
    return {one: _name_verdict(letters.get(one, ())) for one in others}
