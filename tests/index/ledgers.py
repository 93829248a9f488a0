"""Small ledgers, their index, and what a search of it answers, for the tests of this room."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import numpy as np

from rekal import ids
from rekal.index.bm25 import Floats, score_lexical
from rekal.index.build import Indexed, update_index
from rekal.index.filters import NO_FILTERS, Filters
from rekal.index.reader import IndexReader, Ints, open_index
from rekal.index.text import query_terms
from rekal.model import Checkpoint, FileChange, Session, SessionRange, ToolCall, Turn
from rekal.store.ledger import open_ledger

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


def session(name: str, *texts: str, day: float = 0, author: str = "Ada", **more: object) -> Session:
    """A session whose turns alternate between a person and the agent, a minute apart from ``day`` on."""
    at = START + timedelta(days=day)
    turns = tuple(
        Turn(
            seq,
            ids.derive("turn", name, str(seq)),
            "assistant" if seq % 2 else "human",
            text,
            at + timedelta(minutes=seq),
        )
        for seq, text in enumerate(texts)
    )
    email = f"{author.lower()}@example.com"
    made = Session(ids.session_id("claude", name, email), "claude", name, author, email, started_at=at, turns=turns)
    return msgspec.structs.replace(made, **more)


def calls(name: str, *paths: str, command: str | None = None) -> tuple[ToolCall, ...]:
    """Tool calls that touched ``paths``."""
    return tuple(
        ToolCall(seq, ids.derive("call", name, str(seq)), 0, "Edit", path=path, command=command)
        for seq, path in enumerate(paths)
    )


def checkpoint(sha: str, of: Session, *paths: str, subject: str = "", branch: str = "main") -> Checkpoint:
    """A commit of the whole session ``of``."""
    return Checkpoint(
        ids.checkpoint_id(sha, of.author_email),
        sha,
        of.author_email,
        branch=branch,
        subject=subject,
        files=tuple(FileChange(path, "M") for path in paths),
        sessions=(SessionRange(of.id, 0, len(of.turns) - 1, "edited"),),
    )


class Store:
    """A data.db and an index.db in one directory."""

    def __init__(self, directory: Path) -> None:
        self.data, self.index = directory / "data.db", directory / "index.db"

    def append(self, *sessions: Session, checkpoints: Sequence[Checkpoint] = ()) -> None:
        """Add to the ledger in one transaction."""
        with open_ledger(self.data, read_only=False, create=True) as ledger, ledger.transaction():
            for one in sessions:
                ledger.append(one)
            for made in checkpoints:
                ledger.add_checkpoint(made)

    def update(self, *, full: bool = False) -> Indexed:
        """Bring the index up to the ledger."""
        with open_ledger(self.data, read_only=True) as ledger:
            return update_index(ledger, self.index, full=full)

    def find(self, question: str, filters: Filters = NO_FILTERS, limit: int = 10) -> list[tuple[str, int]]:
        """The best turns as (native session id, seq)."""
        with open_index(self.index) as reader:
            scores = score_lexical(reader, query_terms(question), filters).turns
            return named_turns(self, reader, best_turns(reader, scores, limit).tolist())

    def find_sessions(self, question: str, filters: Filters = NO_FILTERS, *, facets: bool = False) -> list[str]:
        """The best sessions by their turns, or by their facets, as native ids."""
        with open_index(self.index) as reader:
            found = score_lexical(reader, query_terms(question), filters)
            order = best_sessions(reader, found.facets if facets else found.sessions, 10)
            names = self.names()
            return [names[reader.sessions.ids[number]] for number in order]

    def names(self) -> dict[str, str]:
        """Native ids by session id."""
        with open_ledger(self.data, read_only=True) as ledger:
            rows = ledger.con.execute("SELECT id, native_id FROM sessions").fetchall()
        return {str(session_id): str(name) for session_id, name in rows}

    def answers(self, *questions: str, filters: Filters = NO_FILTERS) -> bytes:
        """Everything a search answers, as bytes: what two indexes of the same ledger must agree on."""
        with open_index(self.index) as reader:
            return msgspec.json.encode([answer(reader, question, filters) for question in questions])


def best_turns(reader: IndexReader, scores: Floats, limit: int) -> Ints:
    """Places of the best ``limit`` turns with a positive score, best first; ties go by session id, then seq."""
    turns = reader.units("turn")
    places = np.flatnonzero(scores > 0)
    rank = reader.sessions.rank[turns.session[places]]
    return places[np.lexsort((turns.seq[places], rank, -scores[places]))][:limit].astype(np.int32)


def best_sessions(reader: IndexReader, scores: Floats, limit: int) -> Ints:
    """Numbers of the best ``limit`` sessions with a positive score, best first; ties go by session id."""
    numbers = np.flatnonzero(scores > 0)
    return numbers[np.lexsort((reader.sessions.rank[numbers], -scores[numbers]))][:limit].astype(np.int32)


def named_turns(store: Store, reader: IndexReader, places: list[int]) -> list[tuple[str, int]]:
    """Turns by place as (native session id, seq)."""
    names, turns = store.names(), reader.units("turn")
    return [(names[reader.sessions.ids[turns.session[place]]], int(turns.seq[place])) for place in places]


def answer(reader: IndexReader, question: str, filters: Filters = NO_FILTERS) -> dict[str, object]:
    """Turns, sessions and facets of one question with their scores, and the texts of the first turns."""
    found = score_lexical(reader, query_terms(question), filters)
    turns, ids_ = reader.units("turn"), reader.sessions.ids
    best = best_turns(reader, found.turns, 50).tolist()
    return {
        "turns": [(ids_[turns.session[at]], int(turns.seq[at]), float(found.turns[at])) for at in best],
        "sessions": [
            (ids_[at], float(found.sessions[at])) for at in best_sessions(reader, found.sessions, 50).tolist()
        ],
        "facets": [(ids_[at], float(found.facets[at])) for at in best_sessions(reader, found.facets, 50).tolist()],
        "texts": [text.text for text in reader.texts([int(turns.doc[at]) for at in best[:5]])],
        "idf": found.idf.tolist(),
    }
