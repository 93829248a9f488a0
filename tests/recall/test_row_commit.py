"""Below the rows of a session stand its title, the commit that its best row led to, and whether that is merged."""

from __future__ import annotations

from rekal.cli.verbs.recall import answer_lines
from rekal.recall.answer import Answer, Hit, Row
from tests.conftest import git
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession

ASKED = "why did we choose a bounded queue for the importer"


def commit(rekal: Rekal, session: ClaudeSession, name: str, text: str, said: str, subject: str) -> str:
    (rekal.root / name).write_text(text, encoding="utf-8")
    session.writes(rekal.root / name, text, text=said)
    git(rekal.root, "add", name)
    git(rekal.root, "commit", "-q", "-m", subject)
    rekal("checkpoint")
    return git(rekal.root, "rev-parse", "HEAD").strip()


def test_the_commit_shown_is_the_one_that_the_row_led_to(rekal: Rekal) -> None:
    session = ClaudeSession(rekal.home, rekal.root, "one")
    session.human("Please write the parser for timetables.")
    first = commit(
        rekal, session, "parser.py", "def parse_timetable(text):\n    return text\n", "Done.", "Add a parser"
    )
    session.human("Now the importer: why not a bounded queue?")
    said = "We choose a bounded queue for the importer, since an unbounded one took all memory."
    second = commit(rekal, session, "queue.py", "IMPORT_QUEUE = Queue(maxsize=100)\n", said, "Bound the queue")

    def shown() -> dict[str, object]:
        (hit,) = rekal("recall", ASKED, "--file", "queue.py", "--json").json["sessions"]
        return {key: hit[key] for key in ("commit", "subject", "merged")}

    assert shown() == {"commit": second, "subject": "Bound the queue", "merged": None}  # there is no remote
    git(rekal.root, "update-ref", "refs/remotes/origin/main", first)
    git(rekal.root, "symbolic-ref", "refs/remotes/origin/HEAD", "refs/remotes/origin/main")
    assert shown()["merged"] is False
    assert f'led to {second[:8]} "Bound the queue", not merged' in rekal("recall", ASKED, "--file", "queue.py").out
    git(rekal.root, "update-ref", "refs/remotes/origin/main", second)
    assert shown()["merged"] is True


def test_a_session_without_title_or_commit_has_its_handle_alone() -> None:
    row = Row(3, "human", None, "why a queue", False, 1.0)
    bare = Hit("27tn23jge7abc", "claude", "Ada", "a@b", "local", "human", None, [], None, None, 1.0, [row])
    lines = list(answer_lines(Answer("INJECT", "", 0.9, "why", [bare], [], [], 0), explain=False))
    assert lines[1:] == ["27tn23jge7  ----------  claude  -", '  27tn23jge7:3  Ada  "why a queue"']
