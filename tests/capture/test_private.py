"""What is private, or cut through the middle of a secret, is nowhere in the store."""

from __future__ import annotations

from pathlib import Path

from tests.support.app import Rekal
from tests.support.claude import ClaudeSession

TOKEN = "ghp_" + "q7Zt4LmX9vB2cR8yW5nK1dF3hJ6pS0aGtE4u"


def stored(rekal: Rekal, sql: str) -> list[list[object]]:
    done = rekal("checkpoint", "--json")
    assert (done.code, done.json["warnings"]) == (0, []), done.err
    return list(rekal("query", "--json", sql).json["rows"])


def nowhere(rekal: Rekal, word: bytes) -> None:
    for path in rekal.layout.directory.rglob("*"):
        assert not path.is_file() or word not in path.read_bytes(), path


def test_private_words_leave_a_mark_in_what_is_not(rekal: Rekal, home: Path) -> None:
    words = "Fix the login. <private>zanzibarquux\nis its name</private> Then test it."
    ClaudeSession(home, rekal.root).human(words).says("Not of <private>xylophonequux</private> either.")
    (asked,), (answered,) = stored(rekal, "SELECT content FROM turns ORDER BY seq")
    assert str(asked).startswith("Fix the login. [redacted:private]") and str(asked).endswith("Then test it.")
    assert answered == "Not of [redacted:private] either."
    nowhere(rekal, b"quux")


def test_a_prompt_that_is_all_private_is_no_turn(rekal: Rekal, home: Path) -> None:
    session = ClaudeSession(home, rekal.root).human("<private>onlyquux</private>\n<private>notquux</private>")
    session.says("I will.").human("Now the queue.").runs("make", "no rule", error=True)
    rows = stored(rekal, "SELECT seq, role, content FROM turns ORDER BY seq")
    assert rows == [[0, "assistant", "I will."], [1, "human", "Now the queue."]]
    assert stored(rekal, "SELECT turn_seq FROM tool_calls") == [[1]]
    assert stored(rekal, "SELECT title FROM sessions") == [[None]]
    nowhere(rekal, b"quux")


def test_what_follows_a_private_prompt_stays_in_its_place(rekal: Rekal, home: Path) -> None:
    session = ClaudeSession(home, rekal.root).human("The queue first.").says("Done.")
    assert stored(rekal, "SELECT count(*) FROM turns") == [[2]]
    session.human("<private>onlyquux</private>").runs("make", "no rule", error=True).says("It failed.")
    assert stored(rekal, "SELECT count(*) FROM turns") == [[3]]
    session.human("And again.").runs("make", "no rule", error=True)
    rows = stored(rekal, "SELECT seq, content FROM turns ORDER BY seq")
    assert rows == [[0, "The queue first."], [1, "Done."], [2, "It failed."], [3, "And again."]]
    assert stored(rekal, "SELECT turn_seq FROM tool_calls ORDER BY seq") == [[1], [3]]
    nowhere(rekal, b"quux")


def test_a_session_that_is_all_private_has_no_turns(rekal: Rekal, home: Path) -> None:
    ClaudeSession(home, rekal.root).human("<private>onlyquux</private>")
    assert stored(rekal, "SELECT content FROM turns") == []
    assert rekal("recall", "onlyquux").code == 1
    nowhere(rekal, b"quux")


def test_a_long_title_is_cut_after_it_was_scrubbed(rekal: Rekal, home: Path) -> None:
    """With its end outside the cut a token would have been none to the scrubber."""
    session = ClaudeSession(home, rekal.root).human("Rotate it.").says("Done.")
    session._write({"type": "custom-title", "customTitle": f"{'t' * 175} {TOKEN}", "sessionId": session.session_id})
    ((title,),) = stored(rekal, "SELECT title FROM sessions")
    assert str(title).startswith("ttt") and len(str(title)) <= 200
    nowhere(rekal, TOKEN[:12].encode())
