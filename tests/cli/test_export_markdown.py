"""``rekal export``: a session or an answer as Markdown whose structure nobody's words can change."""

from __future__ import annotations

import pytest

from tests.support.app import Rekal
from tests.support.claude import ClaudeSession


@pytest.fixture
def handle(rekal: Rekal) -> str:
    session = ClaudeSession(rekal.home, rekal.root, "one")
    session.human("Why should the retry queue live in Postgres?\n# Not a heading\n<script>alert(1)</script>")
    session.runs("echo `date` | tee log", "no", error=True)
    session.says("It survives a restart there, and one service less has to run.")
    assert rekal("checkpoint").code == 0
    return str(rekal("sessions", "--json").json["sessions"][0]["id"])


def test_a_session_with_turns_and_calls(rekal: Rekal, handle: str) -> None:
    done = rekal("export", handle[:10])
    assert done.code == 0
    lines = done.out.splitlines()
    assert lines[0].startswith("# Why should the retry queue live in Postgres?")
    assert f"Session `{handle}` of claude for Test Person" in done.out
    assert "> # Not a heading" in lines and "> <script>alert(1)</script>" in lines
    assert "- Bash `` echo `date` | tee log `` (error)" in lines
    assert [line for line in lines if line.startswith("#") and "heading" in line.lower()] == [
        line for line in lines[:1] if "eading" in line
    ], "words of a session are no headings"


def test_an_answer_with_its_evidence(rekal: Rekal, handle: str) -> None:
    done = rekal("export", "--answer", "why does the retry queue live in postgres")
    assert done.code == 0 and "**INJECT**" in done.out
    assert "> It survives a restart there" in done.out


def test_a_silent_answer_says_why(rekal: Rekal, handle: str) -> None:
    done = rekal("export", "--answer", "how do we bake bread with rye flour")
    assert done.code == 1 and "**SILENCE**: " in done.out


def test_what_nobody_has_is_a_sentence(rekal: Rekal, handle: str) -> None:
    done = rekal("export", "zzzzzzz")
    assert done.code == 2 and "rekal sessions" in done.err
    assert rekal("export", handle, "--answer", "why").code == 2
