"""A fresh clone receives a team's memory: from fetch to the first answer by keywords.

    python -m benchmarks.bench_receive [SESSIONS]       (default: 10000, ten turns each, from ten teammates)

Prints one JSON object: seconds of wall clock and, with ``_cpu``, of processor time (which a busy machine changes less)
for each step, their sum against the budget of 20 s, and the same for receiving again and for one session more.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

from benchmarks.corpus import Vocabulary
from rekal import ids
from rekal.git import find_repo
from rekal.index.build import update_index
from rekal.index.filters import Filters
from rekal.index.reader import open_index
from rekal.model import Author, Checkpoint, FileChange, Session, SessionRange, ToolCall, Turn
from rekal.recall.recall import Options, answer_question
from rekal.store.layout import Layout
from rekal.store.ledger import open_ledger
from rekal.transport.receive import receive_refs
from rekal.transport.refs import fetch_refspec, own_ref, publish_segments
from rekal.wire.segment import Record, encode_segments

_TURNS = 10
_TEAM = 10
_BUDGET = 20.0
_START = datetime(2026, 1, 1, 9, tzinfo=UTC)


class Timer:
    """Wall-clock and processor seconds by name, child processes included."""

    def __init__(self) -> None:
        self.taken: dict[str, float] = {}

    @contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        wall, cpu = time.perf_counter(), time.process_time()
        yield
        self.taken[name] = time.perf_counter() - wall
        self.taken[f"{name}_cpu"] = time.process_time() - cpu


def main(sessions: int) -> None:
    """Make a team's remote, then measure a clone of it."""
    with tempfile.TemporaryDirectory() as directory:
        print(json.dumps(measure(Path(directory), sessions)), flush=True)


def _git(where: Path, *args: str) -> None:
    subprocess.run(["git", *args], cwd=where, check=True, capture_output=True, timeout=600)


def measure(directory: Path, sessions: int) -> dict[str, float | int]:
    """All figures for a team with so many sessions."""
    remote, writer, reader = directory / "remote.git", directory / "writer", directory / "reader"
    _git(directory, "init", "-q", "--bare", "-b", "main", str(remote))
    _git(directory, "init", "-q", "-b", "main", str(writer))
    vocabulary = Vocabulary(7)
    timer = Timer()
    with timer("publish"):
        for person in range(_TEAM):
            share = range(person, sessions, _TEAM)
            _publish(writer, person, [one for number in share for one in _session(vocabulary, person, number)])
    _git(writer, "push", "-q", str(remote), "refs/rekal/*:refs/rekal/*")
    _git(directory, "init", "-q", str(reader))
    _git(reader, "remote", "add", "origin", str(remote))
    layout = Layout(reader / ".rekal")
    layout.create()
    with open_ledger(layout.data, read_only=False, create=True):
        pass
    turns = _receive(reader, layout, timer, "")
    question = vocabulary.sample(5)
    with timer("first_recall"):
        _ask(layout, question)
    _receive(reader, layout, timer, "again_")
    _publish(writer, 0, _session(vocabulary, 0, sessions))
    _git(writer, "push", "-q", str(remote), "refs/rekal/*:refs/rekal/*")
    _receive(reader, layout, timer, "one_more_")
    total = timer.taken["fetch"] + timer.taken["receive"] + timer.taken["index"]
    cpu = timer.taken["fetch_cpu"] + timer.taken["receive_cpu"] + timer.taken["index_cpu"]
    return {
        "sessions": sessions,
        "turns": turns,
        "wire_mb": round(sum(p.stat().st_size for p in remote.rglob("*") if p.is_file()) / 1e6, 1),
        "ledger_mb": round(layout.data.stat().st_size / 1e6, 1),
        "seconds_to_recallable": round(total, 2),
        "cpu_to_recallable": round(cpu, 2),
        "share_of_budget": round(total / _BUDGET, 2),
        **{name: round(value, 3) for name, value in timer.taken.items()},
    }


def _receive(reader: Path, layout: Layout, timer: Timer, prefix: str) -> int:
    with timer(f"{prefix}fetch"):
        _git(reader, "fetch", "-q", "origin", fetch_refspec("origin", "rekal"))
    with timer(f"{prefix}receive"):
        received = receive_refs(layout, find_repo(reader), ["origin"])
    assert received.notes == (), received.notes
    with timer(f"{prefix}index"), open_ledger(layout.data, read_only=True) as ledger:
        update_index(ledger, layout.index)
    return received.imported.turns


def _ask(layout: Layout, question: str) -> None:
    with open_index(layout.index) as reader:
        answer_question(reader, question, Filters(), Options(0.5, 600, 5, False))


def _publish(writer: Path, person: int, records: list[Record]) -> None:
    author = Author(f"Author {person}", f"author{person}@example.com")
    ref = own_ref(author, ids.derive("store", str(person)), "rekal")
    publish_segments(find_repo(writer), ref, list(encode_segments(records)))


def _session(vocabulary: Vocabulary, person: int, number: int) -> list[Record]:
    email = f"author{person}@example.com"
    session_id = ids.session_id("claude", str(number), email)
    at = _START + timedelta(minutes=7 * number)
    turns = tuple(
        Turn(
            seq,
            ids.derive("turn", session_id, str(seq)),
            "assistant" if seq % 4 else "human",
            vocabulary.sample(vocabulary.number(10, 100)),
            at + timedelta(seconds=40 * seq),
        )
        for seq in range(_TURNS)
    )
    files = [vocabulary.files[(number * 7 + k * k) % 600] for k in range(3)]
    calls = tuple(
        ToolCall(k, ids.derive("call", session_id, str(k)), 3 * k, "Edit", path, f"pytest {path}", "ok", None, at)
        for k, path in enumerate(files)
    )
    sha = ids.content_hash(session_id) + "00000000"
    head = Session(
        session_id, "claude", str(number), f"Author {person}", email, branch=f"topic-{number % 17}", started_at=at,
        title=vocabulary.sample(6), turns=turns, tool_calls=calls,
    )  # fmt: skip
    commit = Checkpoint(
        ids.checkpoint_id(sha, email), sha, email, subject=vocabulary.sample(8), committed_at=at,
        files=tuple(FileChange(path, "M") for path in dict.fromkeys(files)),
        sessions=(SessionRange(session_id, 0, _TURNS - 1, "edited"),),
    )  # fmt: skip
    return [head, commit]


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 10_000)
