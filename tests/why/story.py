"""A repository with known truth: who wrote each line, four agents in twelve sessions, and by hand.

Every block of lines starts with a line of its own; the lines below it include some that all blocks share and some too
thin to have a hash. So the truth of a line follows from its block and its text, wherever git moved it.
"""

from __future__ import annotations

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest

from tests.conftest import git
from tests.support import conversations
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession

HAND = "by hand"
ROUND = timedelta(minutes=10)  # between two turns of a session
BEGIN = datetime(2026, 3, 2, 9, tzinfo=UTC)
STORES = ("claude", "codex", "gemini document", "opencode database")
FILES = ("queue.py", "log.py", "http.py", "store.py")


def block(tag: str) -> str:
    """Nine lines: four of its own, three that others have too, two thin ones."""
    return (
        f"def {tag}(queue):\n    {tag}_total = queue.sum(\n        '{tag}_key',\n    )\n    if not queue:\n"
        f"        return None\n    log.info('sent')\n    return {tag}_total\n\n"
    )


class Teller:
    """One session that is being told: its rounds so far, in the way of its agent."""

    def __init__(self, number: int, home: Path, root: Path, at: datetime) -> None:
        self.name = f"session {number}"
        self.store = STORES[number % len(STORES)]
        self.at = at
        self._root = root
        self._talk = conversations.Conversation(home, root, self.name, [])
        self._claude = ClaudeSession(home, root, self.name, start=at) if self.store == "claude" else None

    @property
    def native_id(self) -> str:
        """The agent's id of the session."""
        return f"ses_{self._talk.id}" if self.store.startswith("opencode") else self._talk.id

    def writes(self, file: str, added: str, old: str = "") -> str:
        """Put ``added`` into the file, in the place of ``old`` or at the end; the prompt that asked for it."""
        place = len(self._talk.rounds)
        asked = f"Please do part {place} of {self.name}"
        path = self._root / file
        before = path.read_text("utf-8") if path.exists() else ""
        after = before.replace(old, added) if old else before + added
        path.write_text(after, encoding="utf-8")
        if self._claude:
            self._claude.now = self.at + place * ROUND
            self._claude.human(asked).edits(path, added, old, text=f"Part {place}: I add it since it was missing.")
            self._talk = msgspec.structs.replace(self._talk, rounds=[*self._talk.rounds, None])
            return asked
        # Gemini CLI and OpenCode write files whole, Codex sends a patch with what it adds.
        text = added if self.store == "codex" else after
        one = conversations.Round(asked, path, text, f"Part {place}: I add it since it was missing.")
        self._talk = msgspec.structs.replace(self._talk, rounds=[*self._talk.rounds, one])
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(conversations, "START", self.at)
            conversations.STORES[self.store](self._talk)
        return asked


Truth = tuple[str, str]
"""Native id of the session and the prompt, or twice :data:`HAND`."""


class Story:
    """The repository, its sessions and its truth: block tag and text of a line -> who wrote it."""

    def __init__(self, rekal: Rekal) -> None:
        self.rekal, self.root, self.home = rekal, rekal.root, rekal.home
        self.truth: dict[tuple[str, str], Truth] = {}
        self.now = BEGIN
        self._sessions = 0

    def session(self) -> Teller:
        """A new session, an hour after what came last."""
        self.now += timedelta(hours=1)
        self._sessions += 1
        return Teller(self._sessions - 1, self.home, self.root, self.now)

    def turn(self, who: Teller, file: str, tag: str) -> None:
        """A turn of a session adds a block."""
        asked = who.writes(file, block(tag))
        self._note(tag, block(tag), (who.native_id, asked))

    def changes(self, who: Teller, file: str, tag: str, old: str, new: str) -> None:
        """A turn changes one line of a block."""
        asked = who.writes(file, new, old)
        self._note(tag, new, (who.native_id, asked))

    def hand(self, file: str, tag: str) -> None:
        """Somebody types a block."""
        path = self.root / file
        path.write_text((path.read_text("utf-8") if path.exists() else "") + block(tag), encoding="utf-8")
        self._note(tag, block(tag), (HAND, HAND))

    def _note(self, tag: str, text: str, truth: Truth) -> None:
        for line in text.splitlines():
            self.truth[tag, fold(line)] = truth

    def commit(self, message: str, *, worker: bool = True) -> str:
        """Commit everything three minutes later, and let the worker see it unless the next commit's will."""
        self.now += timedelta(minutes=3)
        git(self.root, "add", "-A")
        self.git("commit", "-q", "-m", message)
        return self.work() if worker else ""

    def git(self, *args: str, **env: str) -> str:
        """git at the story's time."""
        with environment(GIT_COMMITTER_DATE=self.now.isoformat(), GIT_AUTHOR_DATE=self.now.isoformat(), **env):
            return git(self.root, *args)

    def rewrites(self, *args: str, **env: str) -> None:
        """git at a later time that leaves authors' dates alone, and the worker."""
        self.now += timedelta(minutes=30)
        with environment(GIT_COMMITTER_DATE=self.now.isoformat(), **env):
            git(self.root, *args)
        self.work()

    def work(self) -> str:
        """Run the worker; HEAD."""
        assert self.rekal("_worker").code == 0
        log = self.rekal.layout.log
        said = log.read_text("utf-8") if log.exists() else ""
        assert "unexpected" not in said and "not compared" not in said, said
        return git(self.root, "rev-parse", "HEAD").strip()


def fold(line: str) -> str:
    """A line without what a formatter changes."""
    return " ".join(line.split()).replace('"', "'")


@contextmanager
def environment(**values: str) -> Iterator[None]:
    """Environment variables for the block."""
    with pytest.MonkeyPatch.context() as patch:
        for name, value in values.items():
            patch.setenv(name, value)
        yield


def tell(rekal: Rekal) -> Story:
    """Twelve sessions of two turns each and four blocks by hand: the branch ``work`` upon ``main``."""
    story = Story(rekal)
    story.hand("queue.py", "typed_first")
    story.commit("Begin by hand")
    for number in range(4):
        _session(story, number, one_commit=False)
    story.hand("log.py", "typed_second")
    story.commit("More by hand")
    git(story.root, "checkout", "-q", "-b", "work")
    for number in range(4, 12):
        _session(story, number, one_commit=number % 3 == 0)
        if number in (6, 9):
            story.hand(FILES[number % 4], f"typed_{number}")
            story.commit(f"By hand {number}")
    return story


def _session(story: Story, number: int, *, one_commit: bool) -> None:
    who = story.session()
    file = FILES[(number + number // 4) % 4]
    story.turn(who, file, f"part{number}a")
    if not one_commit:
        story.commit(f"Part {number}a", worker=number == 0)
    story.now = who.at + ROUND
    if number == 7:  # changes a line of an earlier session
        old = "    return part2a_total\n"
        story.changes(who, FILES[2], "part2a", old, "    return part2a_total + rounding\n")
    else:
        story.turn(who, file, f"part{number}b")
    story.commit(f"Part {number}b")


class Score(msgspec.Struct):
    """Lines by what came of them. ``wrong`` names another turn, or a session for a line by hand."""

    right: int = 0
    wrong: int = 0
    wrong_session: int = 0
    missed: int = 0
    hand_left_alone: int = 0
    details: list[str] = msgspec.field(default_factory=list)

    @property
    def precision(self) -> float:
        """Right among the lines that got an answer."""
        return self.right / max(self.right + self.wrong, 1)

    @property
    def recall(self) -> float:
        """Right among the lines that a session wrote."""
        return self.right / max(self.right + self.missed + (self.wrong - self.by_hand), 1)

    by_hand: int = 0


def score(story: Story) -> Score:
    """Ask ``why`` for every file as it is, and compare."""
    sql = "SELECT id, native_id FROM sessions"
    native = dict(story.rekal("query", "--json", sql).json["rows"])
    out = Score()
    for path in sorted(p for p in git(story.root, "ls-files").split() if p.endswith(".py")):
        lines = (story.root / path).read_text("utf-8").splitlines()
        answer = story.rekal("why", path, "--json").json
        reasons = {n: r for r in answer["reasons"] for n in range(r["first"], r["last"] + 1)}
        tag = ""
        for number, line in enumerate(lines, start=1):
            if line.startswith("def "):
                tag = line[4:].partition("(")[0]
            truth = story.truth[tag, fold(line)]
            reason = reasons[number]
            said = None
            if reason["level"] != "none":
                said = (native[reason["session_id"]], reason["prompt"]["text"])
            count(out, truth, said, f"{path}:{number} {line!r} {truth} {said} {reason['level']} {reason['subject']}")
    return out


def count(out: Score, truth: Truth, said: Truth | None, detail: str) -> None:
    """Add one line."""
    if said == truth:
        out.right += 1
        return
    if said is None:
        if truth[0] == HAND:
            out.hand_left_alone += 1
        else:
            out.missed += 1
            out.details.append(f"missed {detail}")
        return
    out.wrong += 1
    out.wrong_session += said[0] != truth[0]
    out.by_hand += truth[0] == HAND
    out.details.append(f"WRONG {detail}")


class Stage:
    """Puts the repository back to where the story ended."""

    def __init__(self, story: Story, template: Path) -> None:
        self.story, self.template = story, template
        self._now, self._truth, self._sessions = story.now, dict(story.truth), story._sessions
        shutil.copytree(story.root, template, symlinks=True)

    def restore(self, rekal: Rekal) -> Story:
        """The story as it was told, with this test's command line."""
        self.story.rekal = rekal
        shutil.rmtree(self.story.root)
        shutil.copytree(self.template, self.story.root, symlinks=True)
        self.story.now, self.story.truth = self._now, dict(self._truth)
        self.story._sessions = self._sessions
        return self.story


def editor(script: Path, body: str) -> str:
    """A sequence editor: a Python program that gets the todo list's lines as ``rows`` and leaves them in ``rows``."""
    script.write_text(
        "import sys, pathlib\np = pathlib.Path(sys.argv[-1])\nrows = p.read_text().splitlines()\n"
        f"{body}\np.write_text('\\n'.join(rows) + '\\n')\n",
        encoding="utf-8",
    )
    return f"{sys.executable} {script}"
