"""A store of made-up sessions, the same on every machine: Zipf-distributed words, identifiers, paths and commands."""

from __future__ import annotations

import random
from datetime import datetime, timedelta
from itertools import accumulate
from pathlib import Path

from rekal.ids import derive
from rekal.store.database import insert_rows
from rekal.store.ledger import Ledger, open_ledger

_START = datetime(2026, 1, 1, 9)
_SYLLABLES = [a + b for a in "bcdfghklmnprstvz" for b in ("a", "en", "i", "or", "u")] + ["ing", "er", "ment", "tion"]
_TURNS_A_SESSION = 40


class Vocabulary:
    """Words by Zipf's law: ``sample`` draws text as an agent and its user would write it."""

    def __init__(self, seed: int, words: int = 30_000) -> None:
        self._random = random.Random(seed)
        self.words = [self._word() for _ in range(words)]
        self._weights = list(accumulate(1 / (rank + 2.7) for rank in range(words)))
        self.files = [f"src/{self._word()}/{self._word()}_{self._word()}.py" for _ in range(600)]

    def _word(self) -> str:
        return "".join(self._random.choices(_SYLLABLES, k=self._random.randint(1, 4)))

    def sample(self, length: int) -> str:
        """``length`` words, about one in twelve an identifier or a path, with punctuation."""
        words = self._random.choices(self.words, cum_weights=self._weights, k=length)
        for at in range(self._random.randint(0, 12), length, 12):
            words[at] = self._identifier(words[at])
        for at in range(9, length, 10):
            words[at] += self._random.choice((",", ".", ":", "."))
        return " ".join(words)

    def _identifier(self, word: str) -> str:
        other = self._random.choice(self.words)
        shape = self._random.randrange(4)
        return (self._random.choice(self.files), f"{word}_{other}", f"{word}{other.title()}", f"`{word}.{other}()`")[
            shape
        ]

    def number(self, least: int, most: int) -> int:
        """A whole number between both, included."""
        return self._random.randint(least, most)


def write(path: Path, turns: int, seed: int = 7) -> Vocabulary:
    """Make a data.db at ``path`` with ``turns`` turns in sessions of forty; returns the vocabulary it used."""
    vocabulary = Vocabulary(seed)
    with open_ledger(path, read_only=False, create=True) as ledger:
        for first in range(0, turns // _TURNS_A_SESSION, 250):
            count = min(250, turns // _TURNS_A_SESSION - first)
            with ledger.transaction():
                add_sessions(ledger, vocabulary, first, count)
    return vocabulary


def add_sessions(ledger: Ledger, vocabulary: Vocabulary, first: int, count: int) -> None:
    """Append ``count`` sessions numbered from ``first``, each with its turns, calls and a commit."""
    rows: dict[str, list[tuple[object, ...]]] = {
        table: []
        for table in ("sessions", "turns", "tool_calls", "checkpoints", "checkpoint_sessions", "files_touched")
    }
    for number in range(first, first + count):
        for table, made in _session(ledger.pos, vocabulary, number).items():
            rows[table] += made
    for table, made in rows.items():
        insert_rows(ledger.con, table, made)


def _session(pos: int, vocabulary: Vocabulary, number: int) -> dict[str, list[tuple[object, ...]]]:
    session, at = derive("session", str(number)), _START + timedelta(hours=number)
    branch = f"topic-{number % 17}"
    who = (f"Author {number % 5}", f"author{number % 5}@example.com", "local")
    head = (session, ("claude", "codex")[number % 2], str(number), None, None, "human", None, None, None)
    rest = (branch, ".", None, f"session {number}", at, at, pos)
    turns: list[tuple[object, ...]] = [
        (session, seq, derive("turn", session, str(seq)), ("human", "assistant", "assistant", "assistant")[seq % 4],
         vocabulary.sample(vocabulary.number(10, 100)), at + timedelta(minutes=seq), at, None, pos)
        for seq in range(_TURNS_A_SESSION)
    ]  # fmt: skip
    files = [vocabulary.files[(number * 7 + k * k) % 600] for k in range(6)]
    calls: list[tuple[object, ...]] = [
        (session, k, derive("call", session, str(k)), k, "Edit", files[k % 6], f"pytest {files[k % 6]} -k case{k}",
         "ok", None, at, pos)
        for k in range(12)
    ]  # fmt: skip
    commit = derive("commit", str(number))
    checkpoint = (commit, commit, None, None, None, branch, vocabulary.sample(8), who[1], at, at, "local", pos)
    return {
        "sessions": [(*head, *who, *rest)],
        "turns": turns,
        "tool_calls": calls,
        "checkpoints": [checkpoint],
        "checkpoint_sessions": [(commit, session, 0, _TURNS_A_SESSION - 1, "edited", pos)],
        "files_touched": [(commit, path, "M", None, pos) for path in files],
    }
