"""``why`` on lines of files that are not UTF-8."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

import pytest

from tests.capture.test_link import commit
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession
from tests.why.test_why import START

ENCODINGS = [
    ("gbk", "你好，世界"),
    ("latin-1", "café"),
    ("utf-16", "café"),
    ("utf-16-be", "café"),
    ("cp932", "こんにちは"),
]


@pytest.mark.parametrize(("encoding", "word"), ENCODINGS, ids=[name for name, _ in ENCODINGS])
def test_the_session_of_a_line_is_named(rekal: Rekal, home: Path, encoding: str, word: str) -> None:
    text = f'greeting = "{word}"\nother_greeting = "{word} {word}"\n'
    path = rekal.root / "greet.py"
    path.write_bytes(text.encode(encoding))
    ClaudeSession(home, rekal.root, "one", start=START).human("Add the greeting").writes(path, text)
    commit(rekal.root, START + timedelta(minutes=5), "Greeting")
    assert rekal("_worker").code == 0

    for line in (1, 2):
        assert "Add the greeting" in rekal("why", f"greet.py:{line}").out


def test_a_line_that_no_edit_matches_is_not_said_to_be_by_hand(rekal: Rekal, home: Path) -> None:
    path = rekal.root / "greet.py"
    path.write_bytes('greeting = "你好，世界"\n'.encode("gbk"))
    session = ClaudeSession(home, rekal.root, "one", start=START).human("Add the greeting")
    session.writes(path, 'greeting = "��ã�����"\n')
    commit(rekal.root, START + timedelta(minutes=5), "Greeting")
    assert rekal("_worker").code == 0

    out = rekal("why", "greet.py:1").out

    assert "not UTF-8" in out and "did not write it" not in out


@pytest.mark.parametrize(("encoding", "word"), ENCODINGS, ids=[name for name, _ in ENCODINGS])
def test_lines_that_a_file_had_are_not_claimed_when_it_is_written_whole(
    rekal: Rekal, home: Path, encoding: str, word: str
) -> None:
    path = rekal.root / "greet.py"
    old = f'by_hand = "{word}"\n'
    path.write_bytes(old.encode(encoding))
    commit(rekal.root, START - timedelta(minutes=5), "By hand")
    new = old + f'other_greeting = "{word} {word}"\n'
    path.write_bytes(new.encode(encoding))
    ClaudeSession(home, rekal.root, "one", start=START).human("Add a greeting").writes(path, new)
    commit(rekal.root, START + timedelta(minutes=5), "Greeting")
    assert rekal("_worker").code == 0
    (row,) = rekal("query", "--json", "SELECT len(line_hashes) FROM edits").json["rows"]
    assert row == [1]
