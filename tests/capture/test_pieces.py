"""However a growing transcript is cut into captures, the store holds what one capture of the whole gives."""

from __future__ import annotations

import os
import shutil
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from rekal.app.context import App
from rekal.capture.capture import capture_commits
from rekal.capture.read_sources import Job
from rekal.git import find_repo
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
CONTENT = (
    "SELECT role, content, occurred_at, uid FROM turns",
    "SELECT uid, tool, path, command FROM tool_calls",
    "SELECT c.uid, e.path, e.line_hashes FROM edits e JOIN tool_calls c ON c.seq = e.tool_call_seq",
)
KINDS = ("human", "steer", "deliver", "says", "edit", "fail", "run", "read")

Step = tuple[str, str]
_WORDS = st.sampled_from(("alpha", "beta", "gamma", "delta"))
_STEPS = st.lists(st.tuples(st.sampled_from(KINDS), _WORDS), max_size=9)


class Bench(msgspec.Struct, frozen=True):
    """A store to start from again and again, without git's part and without the index: only reading and storing."""

    app: App
    job: Job
    template: Path

    def fresh(self) -> None:
        shutil.copy(self.template, self.app.layout.data)

    def capture(self, path: Path, data: bytes) -> None:
        """Capture with the transcript grown to ``data``."""
        path.write_bytes(data)
        # Growth within one tick of the clock is growth all the same: the size says so.
        os.utime(path, ns=(0, 0))
        assert capture_commits(self.app.layout, self.app.repo, self.job).warnings == ()

    def content(self) -> list[Counter[str]]:
        """What is stored, as multisets, turns checked for doubles."""
        with duckdb.connect(str(self.app.layout.data), read_only=True) as con:
            found = [Counter(map(repr, con.execute(sql).fetchall())) for sql in CONTENT]
            numbers = [row[0] for row in con.execute("SELECT seq FROM turns ORDER BY seq").fetchall()]
        assert numbers == list(range(len(numbers)))
        return found


@pytest.fixture
def bench(rekal: Rekal, tmp_path: Path) -> Bench:
    template = tmp_path / "template.db"
    shutil.copy(rekal.layout.data, template)
    app = App(find_repo(rekal.root), rekal.home, {})
    return Bench(app, app.job(), template)


def _written(app: App, steps: list[Step]) -> ClaudeSession:
    root = app.repo.root
    session = ClaudeSession(app.home, root, "pieces", start=START, step=timedelta(seconds=7))
    session.path.write_bytes(b"")
    session.human("Begin")
    for kind, word in steps:
        if kind == "human":
            session.human(f"Please do {word}")
        elif kind == "steer":
            session.steer(f"Mind the {word}")
        elif kind == "deliver":
            session.steer(f"Also {word}").human(f"Also {word}")
        elif kind == "says":
            session.says(f"I did {word}.")
        elif kind == "edit":
            session.edits(root / f"{word}.py", f"the line about {word}\n", text=f"Now {word}.")
        elif kind == "fail":
            session.runs(f"make {word}", f"no rule for {word}", error=True)
        elif kind == "read":
            session.uses("Read", {"file_path": str(root / f"{word}.py")}, "text")
        else:
            session.runs(f"ls {word}", "fine", error=False)
    return session


def _ends(data: bytes) -> list[int]:
    return [at + 1 for at, byte in enumerate(data) if byte == 10]


def _check(bench: Bench, session: ClaudeSession, cuts: list[int]) -> None:
    data = session.path.read_bytes()
    bench.fresh()
    bench.capture(session.path, data)
    whole = bench.content()
    bench.capture(session.path, data)
    assert bench.content() == whole
    for cut in cuts:
        bench.fresh()
        bench.capture(session.path, data[:cut])
        bench.capture(session.path, data)
        assert bench.content() == whole, data[:cut]


def test_cut_at_every_record(bench: Bench) -> None:
    steps = [("edit", "alpha"), ("steer", "beta"), ("fail", "gamma"), ("deliver", "delta"), ("says", "alpha")]
    session = _written(bench.app, steps)
    _check(bench, session, _ends(session.path.read_bytes())[:-1])


def test_cut_inside_a_record_and_with_a_call_still_running(bench: Bench) -> None:
    session = _written(bench.app, [("run", "alpha"), ("edit", "beta"), ("says", "gamma")])
    data = session.path.read_bytes()
    _check(bench, session, [data.index(b'"tool_result"'), data.index(b'"tool_use"') + 4, len(data) - 3, 1])


@settings(deadline=None, max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture], derandomize=True)
@given(steps=_STEPS, data=st.data())
def test_cut_anywhere_in_any_session(bench: Bench, steps: list[Step], data: st.DataObject) -> None:
    session = _written(bench.app, steps)
    ends = _ends(session.path.read_bytes())
    cut = data.draw(st.sampled_from(ends[:-1])) if len(ends) > 1 else ends[0]
    _check(bench, session, [cut])


@pytest.mark.soak
@settings(deadline=None, max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(steps=_STEPS, data=st.data())
def test_cut_anywhere_in_many_sessions(bench: Bench, steps: list[Step], data: st.DataObject) -> None:
    session = _written(bench.app, steps)
    size = len(session.path.read_bytes())
    _check(bench, session, [data.draw(st.integers(1, size))])
