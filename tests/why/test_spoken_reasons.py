"""The prompt and the sentence that ``why`` and ``report`` show: of all around an edit, or none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.capture.test_link import commit, work
from tests.conftest import git
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
CODE = "def drain(spool):\n    return spool.pop_everything()\n"


def captured(rekal: Rekal, session: ClaudeSession, text: str, message: str = "Drain the spool") -> None:
    """Let the session write spool.py, saying ``text``, and commit it with ``message``."""
    session.writes(work(rekal.root, "spool.py", CODE), CODE, text=text)
    commit(rekal.root, START + timedelta(minutes=30), message)
    assert rekal("_worker").code == 0


def explained(rekal: Rekal) -> tuple[dict[str, object] | None, dict[str, object] | None]:
    (reason,) = rekal("why", "spool.py:1", "--json").json["reasons"]
    return reason["prompt"], reason["because"]


def test_the_closing_summary_explains_what_was_only_announced(rekal: Rekal, home: Path) -> None:
    session = ClaudeSession(home, rekal.root, "one", start=START).human("The spool keeps events of removed clones")
    session.writes(work(rekal.root, "spool.py", CODE), CODE, text="Let me fix the spool now:")
    session.says("All done. The spool is drained at start because events of removed clones blocked all others.")
    commit(rekal.root, START + timedelta(minutes=30), "Drain the spool")
    assert rekal("_worker").code == 0
    _, because = explained(rekal)
    assert because is not None
    assert because["kind"] == "reason"
    assert because["text"] == "The spool is drained at start because events of removed clones blocked all others."
    handle = f"{str(because['session_id'])[:10]}:{because['seq']}"
    assert f"  because  {handle}  " in rekal("why", "spool.py:1").out


def test_narration_alone_shows_no_reason_and_where_to_read(rekal: Rekal, home: Path) -> None:
    session = ClaudeSession(home, rekal.root, "one", start=START).human("The spool keeps events of removed clones")
    captured(rekal, session, "Now let me write the function:")
    assert explained(rekal)[1] is None
    lines = rekal("why", "spool.py:1").out.splitlines()
    assert lines[2].startswith("  turn     ")
    assert "let me" not in "\n".join(lines)


def test_the_message_of_the_commit_is_asked_last(rekal: Rekal, home: Path) -> None:
    session = ClaudeSession(home, rekal.root, "one", start=START).human("The spool keeps events of removed clones")
    body = (
        "One event that cannot be read must not hold up\nthe others, because nobody would notice.\n\nReviewed-by: A B"
    )
    captured(rekal, session, "Now let me write it:", f"Drain the spool\n\n{body}\n")
    because = explained(rekal)[1]
    assert because is not None
    assert (because["kind"], because["session_id"], because["seq"]) == ("message", None, None)
    assert because["text"] == (
        "One event that cannot be read must not hold up the others, because nobody would notice."
    )
    sha = git(rekal.root, "rev-parse", "HEAD")[:10]
    assert f"  message  {sha}  One event" in rekal("report", "HEAD~1..HEAD").out


def test_a_bare_yes_is_shown_with_what_it_answers(rekal: Rekal, home: Path) -> None:
    session = ClaudeSession(home, rekal.root, "one", start=START).human("Why do events of removed clones stay?")
    session.says("Nobody takes them out. Shall I drain the spool whenever the worker starts?").human("yes please")
    captured(rekal, session, "The worker drains the spool at start, so that old events block nothing.")
    prompt = explained(rekal)[0]
    assert prompt is not None
    assert (prompt["text"], prompt["answers"]) == (
        "yes please",
        "Shall I drain the spool whenever the worker starts?",
    )
    assert '"yes please" to: Shall I drain the spool' in rekal("why", "spool.py:1").out


def test_go_on_shows_the_prompt_before_it(rekal: Rekal, home: Path) -> None:
    session = ClaudeSession(home, rekal.root, "one", start=START).human("Drain the spool of removed clones at start")
    session.says("I looked at it.").human("just keep going")
    captured(rekal, session, "The worker drains the spool at start, so that old events block nothing.")
    prompt = explained(rekal)[0]
    assert prompt is not None
    assert (prompt["seq"], prompt["text"]) == (0, "Drain the spool of removed clones at start")


def test_one_sentence_does_not_explain_two_commits(rekal: Rekal, home: Path) -> None:
    session = ClaudeSession(home, rekal.root, "one", start=START).human("Make the spool and the journal smaller")
    for number, name in enumerate(("spool.py", "journal.py")):
        session.writes(
            work(rekal.root, name, CODE.replace("drain", name[:-3])), CODE.replace("drain", name[:-3]), text="Next:"
        )
        commit(rekal.root, START + timedelta(minutes=30 + number), f"Make {name} smaller")
    session.says("Both files are smaller now because each record is packed before it is written.")
    assert rekal("_worker").code == 0
    rows = rekal("report", "HEAD~2..HEAD", "--json").json["commits"]
    said = [row["reasons"][0]["because"] for row in rows]
    assert sum(one is not None and one["kind"] == "reason" for one in said) == 1


REASON = "The spool is drained at start because events of removed clones blocked all others."


def test_what_is_said_between_an_edit_and_its_commit_explains_it_and_no_later_edit(rekal: Rekal, home: Path) -> None:
    session = ClaudeSession(home, rekal.root, "one", start=START).human("Make the spool and the journal smaller")
    session.writes(work(rekal.root, "spool.py", CODE), CODE, text="Let me write it:")
    session.says(REASON).runs('git add . && git commit -m "Drain the spool"')
    commit(rekal.root, START + timedelta(minutes=30), "Drain the spool")
    later = CODE.replace("drain", "pack")
    session.writes(work(rekal.root, "journal.py", later), later, text="Next:").runs('git commit -am "Pack it"')
    commit(rekal.root, START + timedelta(minutes=31), "Pack the journal")
    session.says("Committed.")
    assert rekal("_worker").code == 0
    (of_spool,) = rekal("why", "spool.py:1", "--json").json["reasons"]
    assert of_spool["because"]["text"] == REASON
    (of_journal,) = rekal("why", "journal.py:1", "--json").json["reasons"]
    assert of_journal["because"] is None


@pytest.mark.parametrize("target", ["spool.py:1", "HEAD"])
def test_text_and_json_name_the_same_turn(rekal: Rekal, home: Path, target: str) -> None:
    session = ClaudeSession(home, rekal.root, "one", start=START).human("The spool keeps events of removed clones")
    session.says("The root cause is that nobody removes the events of a clone that is gone.")
    captured(rekal, session, "Let me fix it:")
    (reason,) = rekal("why", target, "--json").json["reasons"]
    assert reason["because"]["seq"] != reason["turn"]
    assert f":{reason['because']['seq']}  The root cause is" in rekal("why", target).out
