"""Three clones that work, push, fetch, forget and rebuild in any order agree in the end; nothing leaks on the way."""

from __future__ import annotations

import random
from pathlib import Path

import pytest
from msgspec.structs import replace

from rekal import ids
from rekal.config import Transport
from rekal.forget.own_ref import replace_on_remote
from rekal.forget.own_store import ForgetPlace, forget_locally
from rekal.forget.request import ForgetRequest
from rekal.git.repo import read_measured_objects
from rekal.model import Checkpoint, FileChange, Session, SessionRange
from rekal.scrub import Rules, Scrubber
from rekal.store.ledger import open_ledger
from rekal.transport import push as pushing
from rekal.transport.arrivals import BAD, find_readable, list_segments
from rekal.wire.segment import SegmentReader
from tests.conftest import git
from tests.transport.team import Clone, at, bare, talk

NAMES = ("mara", "noor", "ines")


class Member:
    """One clone and what its agent's transcripts hold: they outlive every forgetting."""

    def __init__(self, team: Team, name: str) -> None:
        self.team = team
        self.clone = Clone(team.parent / name, team.remote, name)
        self.root = self.clone.root
        git(self.root, "config", "user.email", f"{name}@example.com")
        git(self.root, "config", "user.name", name.title())
        self.transcripts: list[tuple[Session, Checkpoint]] = []
        settings = Transport(share="full", remotes={"origin": str(team.remote)}, mainline="main")
        who = self.clone.who
        self.sender = pushing.Sender(self.clone.layout, self.clone.repo, who, settings, Scrubber(Rules(salt="x")))

    def work(self, draw: random.Random) -> None:
        """A session and its commit: on the mainline, or on a branch of its own that may be merged later."""
        number = len(self.transcripts)
        name = f"{self.clone.who.name}-{number}"
        topic = draw.random() < 0.4
        if topic:
            git(self.root, "checkout", "-q", "-b", f"topic-{name}")
            self.team.topics.append((self, f"topic-{name}"))
        texts = tuple(f"turn {n} of {name} says {draw.getrandbits(64):016x}" for n in range(draw.randint(2, 4)))
        (self.root / f"{name}.py").write_text(f"{name} = 1\n", encoding="utf-8")
        git(self.root, "add", f"{name}.py")
        git(self.root, "commit", "-q", "-m", f"write {name}")
        sha = git(self.root, "rev-parse", "HEAD").strip()
        git(self.root, "checkout", "-q", "main")
        session = replace(talk(self.clone.who.name.lower(), name, *texts, path=f"{name}.py"), title=None)
        checkpoint = Checkpoint(
            ids.checkpoint_id(sha, session.author_email),
            sha,
            session.author_email,
            subject=f"write {name}",
            committed_at=at(number),
            files=(FileChange(f"{name}.py", "A"),),
            sessions=(SessionRange(session.id, 0, len(texts) - 1, "edited"),),
        )
        self.transcripts.append((session, checkpoint))
        self.team.said.update(dict.fromkeys(texts, sha))
        self.capture()

    def capture(self) -> None:
        """Read all transcripts from their beginning, as after a lost note of where reading stopped."""
        with open_ledger(self.clone.layout.data, read_only=False) as ledger, ledger.transaction():
            for session, checkpoint in self.transcripts:
                ledger.append(session)
                ledger.add_checkpoint(checkpoint)

    def push(self) -> None:
        """The user's push and ours."""
        git(self.root, "pull", "-q", "--no-edit", "--no-rebase", "origin", "main")
        git(self.root, "push", "-q", "--no-verify", "origin", "main")
        pushing.push_memory(self.sender, pushing.Destination("origin", str(self.team.remote)))
        self.team.check_remote()

    def fetch(self) -> None:
        """A plain fetch, and what the next writer does."""
        received = self.clone.receive()
        assert [note for note in received.notes if "left out" in note or BAD in note] == []

    def forget(self, draw: random.Random) -> None:
        """One of its own sessions or turns, by id or by text."""
        here = {row[0] for row in self.clone.rows("SELECT id FROM sessions WHERE origin = 'local'")}
        known = [session for session, _ in self.transcripts if session.id in here]
        if not known:
            return
        session = draw.choice(known)
        turns = self.clone.rows(f"SELECT seq, content FROM turns WHERE session_id = '{session.id}' ORDER BY seq")
        if not turns or draw.random() < 0.4:
            gone, request = [turn.content for turn in session.turns], ForgetRequest((session.id,))
        else:
            seq, content = draw.choice(turns)
            gone = [str(content)]
            request = (
                ForgetRequest((f"{session.id}#{seq}",)) if draw.random() < 0.5 else ForgetRequest(texts=(str(content),))
            )
        done = forget_locally(ForgetPlace(self.clone.layout, self.clone.repo, "rekal"), request)
        self.team.forgotten.update(gone)
        if done.unpublished.remotes and draw.random() < 0.5:  # else the next push takes it along
            assert replace_on_remote(self.clone.repo, self.clone.layout.run, self.clone.ref, "origin", 60) == ""
        assert self.team.forgotten.isdisjoint(self.own_texts())

    def own_texts(self) -> list[str]:
        """What the clone has of its own."""
        sql = "SELECT content FROM turns t JOIN sessions s ON s.id = t.session_id WHERE origin = 'local'"
        return [str(row[0]) for row in self.clone.rows(sql)]

    def rebuild(self) -> None:
        """Read every transcript and every teammate's ref from the beginning."""
        self.capture()
        with open_ledger(self.clone.layout.data, read_only=False) as ledger:
            ledger.con.execute("DELETE FROM received")
        self.fetch()


class Team:
    """Three members around a bare remote."""

    def __init__(self, parent: Path, seed: int) -> None:
        self.parent, self.remote = parent, bare(parent)
        self.draw = random.Random(seed)
        self.said: dict[str, str] = {}  # text of a turn -> its commit
        self.forgotten: set[str] = set()
        self.topics: list[tuple[Member, str]] = []
        self.members = [Member(self, name) for name in NAMES]

    def step(self) -> None:
        """Anybody does anything."""
        member = self.draw.choice(self.members)
        does = self.draw.choices(["work", "push", "fetch", "forget", "rebuild", "merge"], [5, 4, 4, 2, 1, 1])[0]
        if does == "merge":
            self.merge()
        elif does in ("work", "forget"):
            getattr(member, does)(self.draw)
        else:
            getattr(member, does)()

    def merge(self) -> None:
        """Somebody's topic joins that member's mainline, as a merge or squashed."""
        if self.topics:
            member, branch = self.topics.pop(self.draw.randrange(len(self.topics)))
            git(member.root, "merge", "-q", "--no-edit", "--no-ff", branch)

    def check_remote(self) -> None:
        """What is on the remote now: nothing of a commit that its mainline has not, nor ever had."""
        merged = set(git(self.remote, "rev-list", "main").split())
        member = self.members[0]
        for line in git(self.remote, "for-each-ref", "--format=%(objectname)", "refs/rekal").split():
            found = readable_at(member, self.remote, line)
            for text, sha in self.said.items():
                assert text not in found or sha in merged, f"{text} left before its commit was merged"

    def settle(self) -> None:
        """Everything is merged, pushed and fetched by everybody."""
        while self.topics:
            self.merge()
        for _ in range(2):
            for member in self.members:
                member.push()
        for member in self.members:
            member.fetch()


def readable_at(member: Member, remote: Path, tip: str) -> str:
    """Everything that one tip on the remote says."""
    from rekal.git import find_repo

    repo = find_repo(remote)
    reader = SegmentReader()
    blobs = find_readable(repo, list_segments(repo, tip, None).segments)
    return "".join(
        repr(record) for _, data in read_measured_objects(repo, dict(blobs.values())) for record in reader.read(data)
    )


def run(parent: Path, seed: int, steps: int) -> None:
    team = Team(parent, seed)
    for _ in range(steps):
        team.step()
    team.settle()
    first, *others = [member.clone.holds() for member in team.members]
    for other in others:
        for table, rows in first.items():
            assert other[table] == rows, (seed, table)
    left = team.members[0].clone.texts()
    assert sorted(left) == sorted(set(team.said) - team.forgotten), seed
    for member in team.members:
        member.rebuild()
        data = member.clone.layout.data.read_bytes()
        assert member.clone.holds() == first, (seed, "rebuilt")
        assert [text for text in team.forgotten if text.encode() in data] == []


@pytest.mark.parametrize("seed", [1, 2])
def test_clones_that_exchanged_everything_hold_the_same(tmp_path: Path, seed: int) -> None:
    run(tmp_path, seed, 14)


@pytest.mark.soak
@pytest.mark.timeout(3600)
@pytest.mark.parametrize("seed", range(100, 140))
def test_clones_that_exchanged_everything_hold_the_same_in_the_long_run(tmp_path: Path, seed: int) -> None:
    run(tmp_path, seed, 60)
