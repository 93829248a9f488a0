"""Prompts that ask for nothing are answered before anything is opened."""

from __future__ import annotations

import os
import subprocess
import sys
from datetime import UTC, datetime

import pytest

from rekal.recall.question import refuse_thin

NOW = datetime(2026, 3, 12, 15, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    "text", ["yes do it", "commit and push", "continue", "ok, let's fix both", "what broke last time"]
)
def test_talk_asks_for_nothing(text: str) -> None:
    answer = refuse_thin(text, NOW)
    assert answer is not None
    assert (answer.verdict, answer.reason, answer.question) == ("SILENCE", "thin_question", text)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "why is the queue in Postgres",
        "what happened yesterday",
        "what happened on main",
        "what did Will do",
        "retry",
        "commit bbb2222",
        "src/cache.py",
        "dev",
        "why 928257331",
        "为什么",
    ],
)
def test_what_a_store_may_know_is_left_to_it(text: str) -> None:
    assert refuse_thin(text, NOW) is None


def test_a_first_look_loads_nothing_that_opens_a_store() -> None:
    program = (
        "import sys; import rekal.cli.verbs.recall\n"
        "print(sorted({'numpy', '_duckdb', 'duckdb', 'xllamacpp', 'rekal.index.reader'} & set(sys.modules)))"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], env=dict(os.environ), capture_output=True, text=True, timeout=60, check=True
    )
    assert done.stdout == "[]\n"
