"""Two hundred kills at random statements and renames, in one store that lives on: nothing lost, doubled or back."""

from __future__ import annotations

import random
import shutil
import signal
import subprocess
import sys
from collections import Counter
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tests.capture.test_link import commit, work
from tests.conftest import git
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession
from tests.support.installed_rekal import Live
from tests.transport.test_forget import where

DIE = Path(__file__).parents[1] / "support" / "kill_at_step.py"
ROUNDS = 200
CHECKED_EVERY = 10
MOST_STEPS = {"_worker": 160, "index": 60, "push": 60, "sync": 60, "forget": 90, "checkpoint": 120, "init": 40}
START = datetime(2026, 3, 2, 9, tzinfo=UTC)


class Life:
    """A store with a remote and a teammate, its sessions by name, and those of them that were forgotten."""

    def __init__(self, rekal: Rekal, remote: Path) -> None:
        self.rekal, self.remote = rekal, remote
        self.draw = random.Random(20261201)
        self.words: dict[str, str] = {}
        self.forgotten: set[str] = set()
        self.verbs: Counter[str] = Counter()
        self.killed: Counter[str] = Counter()
        self.now = START

    def add_session(self) -> None:
        """Let an agent write a file, and commit it; each session has a word that stands nowhere else."""
        name = f"s{len(self.words)}"
        word = f"{name}q" + "".join(self.draw.choices("bcdfghklmnprstvz", k=12))
        session = ClaudeSession(self.rekal.home, self.rekal.root, name, start=self.now)
        session.human(f"Please add {word} to the queue")
        path = work(self.rekal.root, f"{name}.py", f"{word} = 1\n")
        session.writes(path, f"{word} = 1\n", text=f"I added {word}, since the queue asks for it.")
        commit(self.rekal.root, session.now, f"Add {name}")
        self.words[name] = word
        self.now = session.now + timedelta(minutes=7)
        if self.draw.random() < 0.5:
            git(self.rekal.root, "push", "-q", "--no-verify")

    def choose_verb(self) -> list[str]:
        """Words of a verb that writes."""
        left = sorted(set(self.words) - self.forgotten)
        verb = self.draw.choice(["_worker"] * 4 + ["checkpoint", "index", "push", "push", "sync", "forget", "init"])
        if verb == "forget":
            if len(left) < 6:
                return ["_worker"]
            name = self.draw.choice(left)
            self.forgotten.add(name)
            return ["forget", "--yes", "--text", self.words[name]]
        return {"index": ["index", "--full"], "init": ["init", "--backfill", "0"]}.get(verb, [verb])

    def kill(self, words: list[str]) -> None:
        """Run a verb that dies at a random step; one that has fewer steps ends well."""
        step = self.draw.randint(1, MOST_STEPS[words[0]])
        command = [sys.executable, str(DIE), str(step), *words]
        done = subprocess.run(
            command, cwd=self.rekal.root, capture_output=True, text=True, timeout=100, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        self.verbs[words[0]] += 1
        self.killed[words[0]] += done.returncode == -signal.SIGKILL
        assert "unexpected" not in done.stderr and "Traceback" not in done.stderr, (words, step, done.stderr)
        if words[0] == "forget" and done.returncode == -signal.SIGKILL and self.draw.random() < 0.5:
            assert self.rekal(*words).code in (0, 1, 2), (
                words
            )  # asked again at once by some, left to the worker by others

    def check(self, at: int) -> None:
        """What is stored is what was said and not forgotten, once; nothing else lies around."""
        rekal = self.rekal
        for name in sorted(self.forgotten):
            assert rekal("forget", "--yes", "--text", self.words[name]).code in (0, 1, 2), (at, name)
        assert rekal("_worker").code == 0, at
        Live(rekal.root).settle()
        sql = "SELECT s.native_id, t.content FROM sessions s JOIN turns t ON t.session_id = s.id"
        held = Counter((str(name), str(text)) for name, text in rekal("query", "--json", sql).json["rows"])
        assert not [turn for turn, count in held.items() if count > 1], at
        for name, word in self.words.items():
            if name in self.forgotten:
                assert where(rekal, word) == [], (at, name)
            else:
                assert sum(word in text for _, text in held) == 2, (at, name)
        linked = rekal("query", "--json", "SELECT count(*), count(DISTINCT git_sha) FROM checkpoints").json["rows"][0]
        assert linked[0] == linked[1], at
        left = {path.name for path in rekal.layout.directory.iterdir()} - {"data.db", "index.db", "README", "vectors"}
        assert left == set(), at
        assert list(rekal.layout.spool.iterdir()) == [], at
        assert git(rekal.root, "fsck", "--no-dangling").strip() == "", at


def live_through(rekal: Rekal, remote: Path, rounds: int) -> Life:
    """Kill ``rounds`` times; then the memory of a fresh clone is compared with this one."""
    life = Life(rekal, remote)
    for _ in range(4):
        life.add_session()
    for at in range(1, rounds + 1):
        if life.draw.random() < 0.4:
            life.add_session()
        life.kill(life.choose_verb())
        if at % CHECKED_EVERY == 0:
            life.check(at)
    git(rekal.root, "push", "-q", "--no-verify")
    life.check(rounds)
    assert rekal("push").code == 0
    return life


@pytest.mark.soak
@pytest.mark.timeout(1500)
def test_two_hundred_kills_at_random(rekal: Rekal, remote: Path, tmp_path: Path) -> None:
    life = live_through(rekal, remote, ROUNDS)
    assert sum(life.killed.values()) > ROUNDS // 3, (life.verbs, life.killed)
    assert set(life.killed) == set(MOST_STEPS)
    clone = tmp_path / "clone"
    git(tmp_path, "clone", "-q", str(remote), str(clone))
    other = Live(clone)
    other("init", "--backfill", "0", "--hooks-only", "--share", "origin")
    other("sync", code=None)
    said = " ".join(str(text) for (text,) in other.rows("SELECT content FROM turns"))
    for name, word in life.words.items():
        assert (word in said) is (name not in life.forgotten), name
    shutil.rmtree(clone)
