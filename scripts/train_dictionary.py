"""Train the wire format's zstd dictionary and write it into the package.

    python scripts/train_dictionary.py [--check]

The samples are payloads of invented sessions, made from ``dictionary_words.py`` with a fixed seed, so training again
gives the same bytes on the same zstd. No one's transcript is in them. The dictionary belongs to the format byte:
once a version is released its file never changes; another dictionary is another format.
"""

from __future__ import annotations

import argparse
import hashlib
import random
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import dictionary_words as words
import zstandard

from rekal import ids
from rekal.model import (
    Checkpoint,
    Edit,
    FileChange,
    MemoryEvent,
    Outcome,
    Rewrite,
    Session,
    SessionRange,
    Tombstone,
    ToolCall,
    Turn,
)
from rekal.wire import frames, records
from rekal.wire.session_parts import SessionPart, pack_parts

SIZE = 32 << 10
TARGET = Path(frames.__file__).with_name(frames.DICTIONARY)
_START = datetime(2025, 6, 1, 9, 0, tzinfo=UTC)


class Inventor:
    """Invents sessions; the same seed invents the same ones."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def one(self, lines: str) -> str:
        """One of ``lines``."""
        return self.random.choice(lines.split("\n"))

    def word(self, names: str) -> str:
        """One of the blank-separated ``names``."""
        return self.random.choice(names.split())

    def filled(self, template: str) -> str:
        """``template`` with every field invented anew."""
        makers: dict[str, Callable[[], str]] = {
            "{name}": lambda: self.word(words.NAMES),
            "{path}": self.path,
            "{clause}": lambda: self.one(words.CLAUSES),
            "{request}": lambda: self.one(words.REQUESTS),
        }
        for field, make in makers.items():
            while field in template:
                template = template.replace(field, make(), 1)
        return template.replace("{{", "{").replace("}}", "}")

    def path(self) -> str:
        """A path below a repository's root."""
        template = self.one(words.PATHS)
        return template.replace("{name}", self.word(words.NAMES))

    def key(self) -> str:
        """An id."""
        return ids.encode(self.random.getrandbits(128))

    def sha(self) -> str:
        """A commit."""
        return f"{self.random.getrandbits(160):040x}"

    def said(self) -> str:
        """What an assistant says."""
        kind = self.random.random()
        if kind < 0.5:
            return self.one(words.OPENINGS)
        if kind < 0.7:
            clause = self.one(words.CLAUSES)
            return f"{self.one(words.OPENINGS)} It seems that {clause}, so {self.one(words.CLAUSES)}."
        return self.filled(self.random.choice(words.SUMMARY.split("\n---\n")))

    def turn(self, seq: int, model: str, when: datetime) -> Turn:
        """One turn; every fourth is a person's."""
        if seq % 4:
            return Turn(seq, self.key(), "assistant", self.said(), when, model)
        return Turn(seq, self.key(), "human", self.one(words.REQUESTS), when)

    def call(self, seq: int, turn_seq: int, when: datetime) -> ToolCall:
        """One tool call, of which some fail."""
        tool = self.word(words.TOOLS)
        path = self.path() if self.random.random() < 0.6 else None
        command = self.filled(self.one(words.COMMANDS)) if path is None else None
        failed = self.random.random() < 0.1
        excerpt = self.one(words.ERRORS) if failed else None
        outcome: Outcome = "error" if failed else "ok"
        return ToolCall(seq, self.key(), turn_seq, tool, path, command, outcome, excerpt, when)

    def part(self, session_id: str) -> SessionPart:
        """Some turns of a session with calls and edits."""
        model = self.word(words.MODELS)
        when = _START + timedelta(seconds=self.random.randrange(30_000_000))
        turns: list[Turn] = []
        calls: list[ToolCall] = []
        edits: list[Edit] = []
        for seq in range(self.random.randrange(2, 12)):
            when += timedelta(milliseconds=self.random.randrange(500, 90_000))
            turns.append(self.turn(seq, model, when))
            for _ in range(self.random.randrange(3)):
                when += timedelta(milliseconds=self.random.randrange(500, 20_000))
                calls.append(self.call(len(calls), seq, when))
                last = calls[-1]
                if last.path and last.tool in ("Edit", "Write"):
                    hashes = tuple(self.random.getrandbits(63) for _ in range(self.random.randrange(1, 6)))
                    edits.append(Edit(len(edits), last.seq, last.path, hashes))
        return SessionPart(session_id, tuple(turns), tuple(calls), tuple(edits))

    def head(self) -> Session:
        """A session's head."""
        agent, native = self.word(words.AGENTS), str(self.random.getrandbits(60))
        email = f"{self.word(words.NAMES)}@users.noreply.github.com"
        return Session(
            id=ids.session_id(agent, native, email),
            agent=agent,
            native_id=native,
            author_name=self.word(words.NAMES),
            author_email=email,
            branch=self.random.choice(("main", "master", "develop", f"feature/{self.word(words.NAMES)}")),
            cwd=".",
            model=self.word(words.MODELS),
            title=self.one(words.REQUESTS).capitalize(),
            started_at=_START + timedelta(seconds=self.random.randrange(30_000_000)),
        )

    def checkpoint(self, session_id: str) -> Checkpoint:
        """A commit that carried work."""
        sha, email = self.sha(), f"{self.word(words.NAMES)}@users.noreply.github.com"
        count = self.random.randrange(1, 5)
        return Checkpoint(
            id=ids.checkpoint_id(sha, email),
            git_sha=sha,
            author_email=email,
            tree_sha=self.sha(),
            patch_id=self.sha(),
            parent_sha=self.sha(),
            branch="main",
            subject=f"{self.word('Add Fix Update Remove Refactor feat: fix: docs: chore:')} {self.one(words.CLAUSES)}",
            committed_at=_START + timedelta(seconds=self.random.randrange(30_000_000)),
            files=tuple(FileChange(self.path(), self.random.choice("AMMM")) for _ in range(count)),  # type: ignore[arg-type]
            sessions=(SessionRange(session_id, 0, self.random.randrange(20), "edited"),),
        )

    def event(self) -> MemoryEvent:
        """An entry of the memory log."""
        type_ = self.word("decision dead_end fact preference procedure context note")
        payload = (
            f'{{"type":"{type_}","text":"{self.one(words.CLAUSES)}","because":"{self.one(words.CLAUSES)}","tags":[]}}'
        )
        kind = self.word("assert assert rule_out accept observe")
        actor = self.word("human agent")
        return MemoryEvent(self.key(), self.key(), kind, payload, actor, actor, _START, _START, f"{self.key()}#4")


def samples(count: int = 2_500) -> list[bytes | bytearray | memoryview]:
    """Payloads of every kind of frame, most of them small: the dictionary matters where there is little else."""
    inventor = Inventor(20_250_601)
    out: list[bytes | bytearray | memoryview] = []
    for _ in range(count):
        head = inventor.head()
        out.append(records.pack_heads([head]))
        out += [pack_parts([inventor.part(head.id)]) for _ in range(3)]
        out.append(records.pack_checkpoints([inventor.checkpoint(head.id)]))
        out.append(records.pack_events([inventor.event()]))
    sha, other = inventor.sha(), inventor.sha()
    out.append(records.pack_rewrites([Rewrite(sha, other, "rebase")]))
    out.append(records.pack_tombstones([Tombstone(inventor.key(), "forgotten by its author", "human", _START)]))
    return out


def train() -> bytes:
    """The dictionary's bytes, at most ``SIZE``."""
    made = zstandard.train_dictionary(SIZE, samples(), level=frames.LEVEL, k=256, d=8, f=20, accel=1, split_point=1.0)
    return made.as_bytes()


def main(arguments: Sequence[str] | None = None) -> None:
    """Write the dictionary, or with ``--check`` only compare it with the one that is there."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="exit 1 if the packaged dictionary differs")
    check = parser.parse_args(arguments).check
    data = train()
    digest = hashlib.blake2b(data, digest_size=16).hexdigest()
    if check:
        raise SystemExit(TARGET.read_bytes() != data)
    TARGET.write_bytes(data)
    print(f"{TARGET.name}: {len(data):,} bytes, DICTIONARY_HASH = {digest!r}")


if __name__ == "__main__":
    main()
