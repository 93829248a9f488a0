"""``rekal why``: one line, a range, a commit, with real git and transcripts in the real shape."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.capture.test_link import commit, work
from tests.conftest import git
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession

START = datetime(2026, 3, 2, 9, tzinfo=UTC)
QUEUE = (
    'def retry(queue):\n    """Retry what failed."""\n    while queue.failed():\n        queue.again()\n    return\n'
)


def queue_session(rekal: Rekal, home: Path) -> ClaudeSession:
    """A session that wrote queue.py, committed five minutes after its start."""
    session = ClaudeSession(home, rekal.root, "one", start=START)
    session.human("Make failed jobs run again")
    words = "Let me write it. The queue retries in a loop because the broker drops jobs on restart."
    session.writes(work(rekal.root, "queue.py", QUEUE), QUEUE, text=words)
    return session


@pytest.fixture
def session(rekal: Rekal, home: Path) -> ClaudeSession:
    """The session of :func:`queue_session`, captured."""
    made = queue_session(rekal, home)
    commit(rekal.root, START + timedelta(minutes=5), "Retry failed jobs")
    assert rekal("_worker").code == 0
    return made


def test_a_line_names_turn_prompt_and_reason(rekal: Rekal, session: ClaudeSession) -> None:
    done = rekal("why", "queue.py:3")
    assert done.code == 0, done.err
    head, prompt, because = done.out.splitlines()
    sha = git(rekal.root, "rev-parse", "HEAD")[:10]
    assert head == f"queue.py:3  line  {sha}  2026-03-02  Test Person  Retry failed jobs"
    assert ":0  Test Person, claude: Make failed jobs run again" in prompt
    assert because.endswith(":1  The queue retries in a loop because the broker drops jobs on restart.")


def test_json_has_the_same_as_records(rekal: Rekal, session: ClaudeSession) -> None:
    answer = rekal("why", "queue.py:3", "--json").json
    (reason,) = answer["reasons"]
    assert (answer["path"], answer["lines"], answer["recorded"]) == ("queue.py", 1, 1)
    assert (reason["level"], reason["turn"], reason["prompt"]["seq"]) == ("line", 1, 0)
    assert rekal("show", f"{reason['session_id']}#{reason['turn']}").code == 0


def test_a_thin_line_belongs_to_its_hunk(rekal: Rekal, session: ClaudeSession) -> None:
    (reason,) = rekal("why", "queue.py:5", "--json").json["reasons"]
    assert (reason["level"], reason["turn"], reason["first"], reason["last"]) == ("line", 1, 5, 5)
    work(rekal.root, "queue.py", QUEUE.replace("    return\n", "    )\n\n") + "# the end of it\n")
    reasons = rekal("why", "queue.py:5", "--json").json["reasons"]
    assert [(r["level"], r["commit"]) for r in reasons] == [("none", None)]


def test_what_a_hand_wrote_has_no_record(rekal: Rekal, session: ClaudeSession) -> None:
    work(rekal.root, "queue.py", QUEUE + "LIMIT = 5  # typed by hand\n")
    commit(rekal.root, START + timedelta(minutes=9), "Limit")
    rekal("_worker")
    done = rekal("why", "queue.py:6")
    assert done.code == 1
    assert done.out.startswith("queue.py:6  no record  ")
    assert done.out.endswith("Limit  (its commit has no session)\n")


def test_uncommitted_lines_are_looked_up_directly(rekal: Rekal, session: ClaudeSession) -> None:
    session.human("Give it a limit").edits(work(rekal.root, "queue.py", "MAXIMUM = 7\n" + QUEUE), "MAXIMUM = 7\n")
    assert rekal("_worker").code == 0
    out = rekal("why", "queue.py:1").out
    assert out.startswith("queue.py:1  line  uncommitted")
    assert "Give it a limit" in out


def test_a_file_that_git_does_not_know_is_answered(rekal: Rekal, home: Path) -> None:
    queue_session(rekal, home)
    assert rekal("_worker").code == 0
    assert "Make failed jobs run again" in rekal("why", "queue.py:3").out


def test_a_commit_is_answered_with_its_sessions(rekal: Rekal, session: ClaudeSession) -> None:
    done = rekal("why", "HEAD")
    assert done.code == 0
    assert "Make failed jobs run again" in done.out
    assert rekal("why", "HEAD~1").code == 1


def test_a_whole_file_stays_within_twelve_lines(rekal: Rekal, home: Path) -> None:
    text = ""
    for number in range(9):
        name = f"session-{number}"
        line = f"value_{number} = compute({number})\n"
        text += line
        at = START + timedelta(minutes=10 * number)
        ClaudeSession(home, rekal.root, name, start=at).human(f"Add value {number}").edits(
            work(rekal.root, "values.py", text), line
        )
        commit(rekal.root, at + timedelta(minutes=5), name)
    assert rekal("_worker").code == 0
    out = rekal("why", "values.py").out.splitlines()
    assert len(out) <= 12
    assert "+6 more, 6 lines" in out[-2]
    assert out[-1] == "9 of 9 lines have a record"
    reasons = rekal("why", "values.py:2-4", "--json").json["reasons"]
    assert [r["prompt"]["text"] for r in reasons] == ["Add value 1", "Add value 2", "Add value 3"]


@pytest.mark.parametrize(
    ("target", "said"),
    [
        ("nowhere.py:1", "there is no nowhere.py"),
        ("queue.py:99", "has only 5 lines"),
        ("queue.py:3-2", "is not a range"),
        ("../outside.py:1", "outside of this repository"),
        ("no-such-commit", "no file and no commit"),
    ],
)
def test_what_is_not_there_is_said_in_one_sentence(
    rekal: Rekal, session: ClaudeSession, target: str, said: str
) -> None:
    done = rekal("why", target)
    assert done.code == 2
    assert said in done.err
    assert len(done.err.splitlines()) == 1


def test_paths_are_relative_to_where_one_stands(rekal: Rekal, home: Path) -> None:
    text = "colour = choose_colour()\n"
    s = ClaudeSession(home, rekal.root, "deep", start=START).human("Choose a colour")
    s.writes(work(rekal.root, "src/deep/näme x.py", text), text)
    commit(rekal.root, START + timedelta(minutes=5), "Colour")
    rekal("_worker")
    done = rekal("why", "näme x.py:1", cwd=rekal.root / "src" / "deep")
    assert done.code == 0, done.err
    assert "Choose a colour" in done.out


def test_edits_by_shell_are_named_as_such(rekal: Rekal, home: Path) -> None:
    s = ClaudeSession(home, rekal.root, "one", start=START).human("Rename alpha to omega everywhere")
    work(rekal.root, "a.py", "omega_value = 1\n")
    work(rekal.root, "b.py", "omega_other = 1\n")
    s.says("I use sed since there are many places.").runs("sed -i s/alpha/omega/ a.py")
    commit(rekal.root, START + timedelta(minutes=5), "Rename")
    rekal("_worker")
    levels = [rekal("why", f"{name}:1", "--json").json["reasons"][0]["level"] for name in ("a.py", "b.py")]
    assert levels == ["file", "commit"]
    assert "Rename alpha to omega" in rekal("why", "a.py:1").out


def test_a_file_that_git_sees_otherwise_than_the_disk(rekal: Rekal, session: ClaudeSession) -> None:
    (rekal.root / "alias.py").symlink_to("queue.py")
    git(rekal.root, "config", "filter.twice.clean", "sed p")
    (rekal.root / ".gitattributes").write_text("twice.txt filter=twice\n", encoding="utf-8")
    work(rekal.root, "twice.txt", "typed by hand once\n")
    commit(rekal.root, START + timedelta(minutes=9), "Links and filters")
    for name in ("alias.py", "twice.txt"):
        assert rekal("why", name).code == 1
