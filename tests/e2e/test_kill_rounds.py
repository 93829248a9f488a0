"""Two hundred kills at random moments of whatever changes a store: nothing lost, doubled or back, no file left."""

from __future__ import annotations

import os
import random
import shutil
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from rekal.store.layout import FORGOTTEN
from tests.conftest import git
from tests.e2e.test_upgrade import Person, older, remote
from tests.e2e.test_workers import list_workers
from tests.support.installed_rekal import REKAL, Live, listing, until, worked

__all__ = ["older", "remote"]  # fixtures

pytestmark = [
    pytest.mark.soak,
    pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="workers are found in /proc"),
]

ROUNDS = int(os.environ.get("KILL_ROUNDS", "200"))
SEED = int(os.environ.get("KILL_SEED", "20261201"))
_VANISHING = {"log", "log.1", "usage", "daemon"}


class World:
    """Two clones of a remote, one that is set up and cleaned, a store of 0.1.0; what was asked and forgotten."""

    def __init__(self, remote: Path, tmp_path: Path, home: Path, older: Path) -> None:
        self.remote, self.home, self.draw = remote, home, random.Random(SEED)
        self.ann = Person(tmp_path / "ann", remote, "ann", REKAL).live
        self.ben = Person(tmp_path / "ben", remote, "ben", REKAL).live
        self.asked: dict[str, Live] = {}
        self.forgotten: set[str] = set()
        self.killed: Counter[str] = Counter()
        self.former = tmp_path / "former"
        self.spare = tmp_path / "spare"
        mel = Person(tmp_path / "mel", remote, "mel", older)
        mel.work(home, "melon")
        self.sessions_of_mel = self._settled_sessions(mel)
        shutil.move(mel.live.root, self.former)
        self.place_of_mel = mel.live.root

    def _settled_sessions(self, mel: Person) -> str:
        until(lambda: not list_workers(mel.live.root), lambda: "the older worker does not end")
        return mel("query", "SELECT id FROM sessions ORDER BY id")

    def ask(self, live: Live) -> str:
        """A session with a word that no other has, not yet committed; the word."""
        word = "w" + "".join(self.draw.choices("bcdfghjklmnpqrstvwxz", k=14))
        worked(self.home, live.root, word, f"{word}.py", f"{word} = 1\n")
        self.asked[word] = live
        return word

    def work(self, live: Live, *, hooks: bool = False) -> None:
        """Ask, commit and push the commit; the hooks start a worker only with ``hooks``."""
        quiet = () if hooks else ("-c", "core.hooksPath=/dev/null")
        self.ask(live)
        live.git("add", "-A")
        live.git(*quiet, "commit", "-q", "-m", "more")
        live.git(*quiet, "pull", "-q", "--rebase", "origin", "main")
        live.git(*quiet, "push", "-q", "origin", "HEAD:main")

    def kill(self, name: str, live: Live, *words: str) -> None:
        """Run a verb and kill it, with the gits it started, after a moment; some are done by then."""
        process = subprocess.Popen(
            [REKAL, *words], cwd=live.root, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        try:
            process.wait(timeout=self.draw.uniform(0.02, 0.5))
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)
            process.wait()
            self.killed[name] += 1

    # One round each: make work, kill what does it, and have it done.

    def capture(self) -> None:
        self.ask(self.ann)
        self.kill("capture", self.ann, "checkpoint")
        run(self.ann, "checkpoint")

    def worker(self) -> None:
        self.work(self.ann, hooks=True)
        time.sleep(self.draw.uniform(0, 0.8))
        for pid in list_workers(self.ann.root):
            try:
                os.kill(pid, signal.SIGKILL)
                self.killed["worker"] += 1
            except ProcessLookupError:
                continue
        run(self.ann, "_worker")

    def index(self) -> None:
        self.work(self.ann)
        self.kill("index", self.ann, "index", "--full")
        run(self.ann, "checkpoint")

    def push(self) -> None:
        self.work(self.ann)
        run(self.ann, "checkpoint")
        self.kill("push", self.ann, "push")
        run(self.ann, "push")

    def sync(self) -> None:
        self.work(self.ben)
        run(self.ben, "checkpoint", "push")
        self.kill("sync", self.ann, "sync")
        run(self.ann, "sync")

    def forget(self) -> None:
        run(self.ann, "checkpoint")
        own = [word for word, live in self.asked.items() if live is self.ann and word not in self.forgotten]
        if not own:
            self.capture()
            return
        word = self.draw.choice(own)
        self.forgotten.add(word)
        self.kill("forget", self.ann, "forget", "--yes", "--text", word)
        run(self.ann, "_worker")
        self.ann("forget", "--yes", "--text", word, code=None)

    def init(self) -> None:
        self.kill("init", self.ann, "init", "--hooks-only", "--backfill", "0")
        self.ann("init", "--hooks-only", "--backfill", "0")

    def clean(self) -> None:
        git(self.spare.parent, "clone", "-q", str(self.remote), str(self.spare))
        before = listing(self.spare)
        live = Live(self.spare)
        self.kill("init", live, "init", "--backfill", "0")
        live("init", "--backfill", "0")
        worked(self.home, self.spare, "spare", "README.md", "spare\n")
        run(live, "checkpoint")
        self.kill("clean", live, "clean", "--yes")
        live("clean", "--yes", code=None)
        until(lambda: not list_workers(self.spare), lambda: "a worker does not end")
        live.git("checkout", "-q", "--", "README.md")
        assert listing(self.spare) == before
        shutil.rmtree(self.spare)

    def migration(self) -> None:
        shutil.copytree(self.former, self.place_of_mel, symlinks=True)
        live = Live(self.place_of_mel)
        salt = (live.root / ".rekal/run/salt").read_bytes()
        self.kill("migration", live, *self.draw.choice((("status",), ("checkpoint",), ("recall", "melon"))))
        assert live("query", "SELECT id FROM sessions ORDER BY id").out == self.sessions_of_mel
        assert (live.root / ".git/rekal/salt").read_bytes() == salt
        assert not (live.root / ".rekal/run").exists()
        until(lambda: not list_workers(live.root), lambda: "a worker does not end")
        shutil.rmtree(live.root)

    def check(self, live: Live, whose: set[Live], why: object) -> None:
        """Each word that was asked by ``whose`` is there once, none that was forgotten is."""
        rows = live.rows("SELECT content FROM turns WHERE role = 'human'")
        found = Counter(word for (content,) in rows for word in self.asked if word in content)
        wanted = {word for word, asker in self.asked.items() if asker in whose and word not in self.forgotten}
        assert found.keys() - self.forgotten >= wanted, (why, wanted - found.keys())
        assert not found.keys() & self.forgotten, why
        assert set(found.values()) <= {1}, (why, found.most_common(3))


def _names(live: Live) -> set[str]:
    """Files of rekal's two directories, as kinds: numbers and ids in a name do not count."""
    layout = live.layout
    until(lambda: not list_workers(live.root), lambda: "a worker does not end")
    paths = [*layout.directory.rglob("*"), *layout.run.rglob("*")]
    # Each request to forget keeps a file of its own, with what it asked for as hashes.
    return {path.name for path in paths if path.is_file() and path.parent.name != FORGOTTEN} - _VANISHING


@pytest.mark.timeout(3600)
def test_nothing_is_lost_doubled_or_back_whatever_is_killed(
    older: Path, remote: Path, tmp_path: Path, home: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    world = World(remote, tmp_path, home, older)
    kinds: tuple[Callable[[], None], ...] = (
        world.capture, world.worker, world.index, world.push, world.sync, world.forget, world.init, world.clean,
        world.migration,
    )  # fmt: skip
    done: Counter[str] = Counter()
    for number in range(ROUNDS):
        kind = kinds[number] if number < len(kinds) else world.draw.choice(kinds)
        kind()
        done[kind.__name__] += 1
        run(world.ann, "_worker", "checkpoint")
        world.check(world.ann, {world.ann}, f"round {number}, {kind.__name__}, seed {SEED}")
    for live in (world.ann, world.ben, world.ann, world.ben):
        world.work(live)
        run(live, "checkpoint", "push", "sync", "index")
    run(world.ann, "sync", "index")
    both = {world.ann, world.ben}
    world.check(world.ann, both, "at the end")
    world.check(world.ben, both, "at the end")
    kept = _kept(world.ann)
    for live in both:
        live.git("fsck", "--no-dangling")
        assert _names(live) - kept == set()
        assert not list(live.layout.spool.iterdir())
    git(remote, "fsck", "--no-dangling")
    assert sum(world.killed.values()) > ROUNDS / 3
    with capsys.disabled():
        print(f"\n{ROUNDS} rounds {dict(done)}; killed {dict(world.killed)}; {len(world.asked)} asked, "
              f"{len(world.forgotten)} forgotten")  # fmt: skip


def run(live: Live, *verbs: str) -> None:
    """Run verbs to their end; 1 says that there was nothing to do."""
    for verb in verbs:
        done = live(verb, code=None)
        assert done.code in (0, 1), (verb, done)


def _kept(live: Live) -> set[str]:
    """Names that a store which nobody disturbed has."""
    fresh = live.root.parent / f"undisturbed-{live.root.name}"
    if not fresh.exists():
        git(live.root.parent, "clone", "-q", str(live.root.parent / "remote.git"), str(fresh))
    other = Live(fresh)
    for words in (("init", "--hooks-only", "--backfill", "0"), ("share", "origin"), ("checkpoint",), ("sync",),
                  ("push",), ("index",), ("forget", "--yes", "--text", "nothing has this")):  # fmt: skip
        other(*words, code=None)
    worked(Path.home(), fresh, "undisturbed", "undisturbed.py")
    other.commit("undisturbed")
    other.settle()
    return _names(other)
