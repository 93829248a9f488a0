"""Two processes capture growing transcripts while four recall."""

from __future__ import annotations

import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.support.app import Rekal
from tests.support.claude import ClaudeSession
from tests.support.installed_rekal import answer_readily
from tests.support.many_processes import ALARMS, crowd, growing

QUESTION = "durable queue broker"


def _sessions(rekal: Rekal, count: int) -> list[ClaudeSession]:
    start = datetime.now(UTC) - timedelta(days=1)
    return [
        ClaudeSession(rekal.home, rekal.root, f"s{n}", start=start, step=timedelta(seconds=1)) for n in range(count)
    ]


def _check(
    rekal: Rekal, scratch: Path, sessions: list[ClaudeSession], recalls: int | None, rounds: Iterator[int]
) -> int:
    """Runs the crowd; returns how many rounds there were."""
    answer_readily(rekal.home)
    for session in sessions:
        session.says("Let us begin with the durable queue of the broker.")
    assert rekal("checkpoint").code == 0
    seen: list[int] = []

    def counted() -> Iterator[int]:
        for number in rounds:
            seen.append(number)
            yield number

    for ended in crowd(rekal.root, scratch, recalls, QUESTION, counted(), patience=110):
        assert (ended.code, ended.err) == (0, ""), ended
        assert not any(alarm in ended.out for alarm in ALARMS), ended
        if ended.words[0] == "recall":
            answers = sum(line.startswith(("INJECT ", "SILENCE ")) for line in ended.out.splitlines())
            assert answers >= 5 if recalls is None else answers == recalls
    assert rekal("checkpoint").code == 0
    rows = rekal("query", "--json", "SELECT session_id, seq, content FROM turns ORDER BY ALL").json["rows"]
    said = [content for _, _, content in rows]
    asked = {f"Question {n} about the durable queue in {one.session_id[:8]}" for one in sessions for n in seen}
    assert asked <= set(said)
    by_session: dict[str, list[int]] = {}
    for session_id, seq, _ in rows:
        by_session.setdefault(session_id, []).append(seq)
    assert [by_session[one] for one in by_session] == [list(range(1 + 2 * len(seen)))] * len(sessions)
    assert rekal("query", "--json", "SELECT count(*) FROM tool_calls").json["rows"] == [[len(sessions) * len(seen)]]
    assert rekal("status", "--json").json["index_behind"] == 0
    assert rekal("recall", QUESTION).out.startswith("INJECT")
    return len(seen)


@pytest.mark.timeout(240)
def test_nothing_is_lost_and_nothing_fails(rekal: Rekal, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    sessions = _sessions(rekal, 2)
    assert _check(rekal, scratch, sessions, 8, growing(sessions, 12, scratch)) == 12


@pytest.mark.soak
@pytest.mark.timeout(300)
def test_nothing_is_lost_and_nothing_fails_for_a_minute(rekal: Rekal, tmp_path: Path) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    sessions = _sessions(rekal, 4)
    end = time.monotonic() + 60

    def minute() -> Iterator[int]:
        for number in growing(sessions, 100_000, scratch):
            yield number
            if time.monotonic() > end:
                return

    assert _check(rekal, scratch, sessions, None, minute()) > 20
