"""What many small pushes leave on a remote: ten clones, many pushes each, in half of the rounds at the same time.

    python -m benchmarks.bench_writers [PUSHES]         (default: 40 by each of ten clones; 200 take some ten minutes)

Every push is the real thing: a commit in a ledger with four turns, as large as four recorded turns are on average; the
merge gate; git to a bare remote that refuses whatever is no fast-forward. The payload is the sum of the bytes of the
distinct segments that the remote's refs hold; the remote's size is everything below ``objects`` and ``packed-refs``
after ``git gc``. The remote holds no code. Prints one JSON object, sizes in bytes.
"""

from __future__ import annotations

import json
import sys
import tempfile
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

from benchmarks.corpus import Vocabulary
from rekal import ids
from rekal.config import Transport
from rekal.git import Repo, find_repo, run_bytes
from rekal.model import Author, Checkpoint, Edit, FileChange, Session, SessionRange, ToolCall, Turn
from rekal.scrub import Rules, Scrubber
from rekal.store.layout import Layout
from rekal.store.ledger import open_ledger
from rekal.transport import arrivals
from rekal.transport.push import Destination, Pushed, Sender, push_memory
from rekal.transport.refs import OwnRef, fetch_refspec, own_ref

WRITERS = 10
PUSHES = 40
_TURNS = 4  # a push
_COMMITS = 8  # a session
_START = datetime(2026, 1, 1, 9, tzinfo=UTC)
_EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"


def _git(directory: Path, *args: str) -> str:
    done = run_bytes(args, directory, timeout=600.0)
    if done.returncode:
        raise RuntimeError(f"git {args[0]}: {done.stderr.decode()}")
    return done.stdout.decode()


class Writer:
    """One clone of a person who works with an agent. ``said`` is every text that it has in its ledger."""

    def __init__(self, root: Path, remote: Path, number: int) -> None:
        self.remote, self.author = remote, Author(f"Writer {number}", f"writer{number}@example.com")
        _git(root.parent, "init", "-q", str(root))
        _git(root, "remote", "add", "origin", str(remote))
        _git(root, "config", "--add", "remote.origin.fetch", fetch_refspec("origin", "rekal"))
        for name, value in (("user.name", self.author.name), ("user.email", self.author.email), ("gc.auto", "0")):
            _git(root, "config", name, value)
        self.repo: Repo = find_repo(root)
        self.layout = Layout(root / ".rekal")
        self.layout.create()
        with open_ledger(self.layout.data, read_only=False, create=True) as ledger:
            # An id begins with the time in milliseconds: two stores made at once would be one clone.
            self.store_id = ids.derive("store", str(root))
            ledger.con.execute("UPDATE meta SET value = ? WHERE key = 'store_id'", [self.store_id])
        settings = Transport(share="full", remotes={"origin": str(remote)}, mainline="main")
        self._sender = Sender(self.layout, self.repo, self.author, settings, Scrubber(Rules(salt="x")))
        self._words, self._draw = Vocabulary(number), Random(number)
        self.tip, self.pushes, self.said = "", 0, list[str]()

    @property
    def ref(self) -> OwnRef:
        """The ref that it writes."""
        return own_ref(self.author, self.store_id, "rekal")

    def work(self) -> None:
        """Some turns, and the commit they led to as part of the mainline."""
        parents = ("-p", self.tip) if self.tip else ()
        self.tip = _git(self.repo.root, "commit-tree", _EMPTY_TREE, *parents, "-m", f"step {self.pushes}").strip()
        _git(self.repo.root, "update-ref", "refs/remotes/origin/main", self.tip)
        session = self._session()
        self.said += [turn.content for turn in session.turns]
        with open_ledger(self.layout.data, read_only=False) as ledger, ledger.transaction():
            ledger.append(session)
            ledger.add_checkpoint(self._checkpoint(session))

    def _session(self) -> Session:
        native, first = str(self.pushes // _COMMITS), self.pushes % _COMMITS * _TURNS
        id_ = ids.session_id("claude", native, self.author.email)
        turns = tuple(self._turn(id_, seq) for seq in range(first, first + _TURNS))
        calls = tuple(self._call(turn) for turn in turns[1:])
        edits = tuple(self._edit(call) for call in calls if call.tool == "Edit")
        title, author = f"Task {native}", (self.author.name, self.author.email)
        return Session(
            id_, "claude", native, *author, title=title, started_at=_START, turns=turns, tool_calls=calls, edits=edits
        )

    def _turn(self, session_id: str, seq: int) -> Turn:
        when = _START + timedelta(minutes=30 * self.pushes, seconds=self._draw.uniform(60, 90) * (seq % _TURNS))
        uid, words = ids.derive("turn", session_id, str(seq)), self._words.sample(self._draw.randint(10, 90))
        if seq % _TURNS == 0:
            return Turn(seq, uid, "human", words, when)
        return Turn(seq, uid, "assistant", words, when, "claude-opus-4")

    def _call(self, turn: Turn) -> ToolCall:
        uid, path = ids.derive("call", turn.uid), self._draw.choice(self._words.files[:40])
        if turn.seq % _TURNS == 1:
            command = f"grep -rn {self._words.sample(2)} {path}"
            return ToolCall(turn.seq, uid, turn.seq, "Bash", None, command, "ok", None, turn.occurred_at)
        return ToolCall(turn.seq, uid, turn.seq, "Edit", path, None, "ok", None, turn.occurred_at)

    def _edit(self, call: ToolCall) -> Edit:
        hashes = tuple(self._draw.getrandbits(63) for _ in range(self._draw.randint(2, 12)))
        return Edit(call.seq, call.seq, call.path or "", hashes)

    def _checkpoint(self, session: Session) -> Checkpoint:
        email, first, last = self.author.email, session.turns[0], session.turns[-1]
        tree_sha, patch_id = (ids.content_hash(last.uid + kind) + "00000000" for kind in ("tree", "patch"))
        return Checkpoint(
            ids.checkpoint_id(self.tip, email),
            self.tip,
            email,
            tree_sha,
            patch_id,
            branch="main",
            subject=self._words.sample(6),
            committed_at=last.occurred_at,
            files=tuple(FileChange(path, "M") for path in sorted({edit.path for edit in session.edits})),
            sessions=(SessionRange(session.id, first.seq, last.seq, "edited"),),
        )

    def push(self) -> Pushed:
        """Send what is merged, as `rekal push` does. Raises :class:`rekal.errors.GitError` where git refuses."""
        self.pushes += 1
        return push_memory(self._sender, Destination("origin", str(self.remote)))

    def fetch(self) -> None:
        """The user's `git fetch`."""
        _git(self.repo.root, "fetch", "-q", "origin")


def team(parent: Path, writers: int) -> list[Writer]:
    """Writers around a bare remote that takes nothing but fast-forwards."""
    remote = parent / "remote.git"
    _git(parent, "init", "-q", "--bare", str(remote))
    for name in ("receive.denyNonFastForwards", "receive.denyDeletes", "receive.fsckObjects"):
        _git(remote, "config", name, "true")
    _git(remote, "config", "gc.autoDetach", "false")
    return [Writer(parent / f"writer-{number}", remote, number) for number in range(writers)]


def interleave(writers: Sequence[Writer], pushes: int) -> Iterator[Pushed]:
    """Let everyone work and push that often: in every other round at the same time, else in any order, with fetches."""
    draw = Random(1)

    def turn(writer: Writer) -> Pushed:
        writer.work()
        return writer.push()

    with ThreadPoolExecutor(len(writers)) as pool:
        for number in range(pushes):
            order = draw.sample(writers, len(writers))
            if number % 2:
                yield from pool.map(turn, order)
                continue
            yield from map(turn, order)
            order[0].fetch()


def payload(remote: Path) -> dict[str, int]:
    """Size of every distinct segment that the refs on a remote hold, by name."""
    repo = find_repo(remote)
    tips = _git(remote, "for-each-ref", "--format=%(objectname)", "refs/rekal").split()
    found = [arrivals.find_readable(repo, arrivals.list_segments(repo, tip, None).segments) for tip in tips]
    return {name: size for segments in found for name, (_, size) in segments.items()}


def size(remote: Path) -> int:
    """What a bare repository takes: its objects with their indexes, and its refs."""
    files = [path for path in (remote / "objects").rglob("*") if path.is_file()]
    return sum(path.stat().st_size for path in [*files, *remote.glob("packed-refs")])


def measure(directory: Path, writers: int, pushes: int) -> dict[str, float]:
    """Make a team push, collect, and weigh what is there."""
    members = team(directory, writers)
    done = sum(one.sent for one in interleave(members, pushes))
    remote = members[0].remote
    before = size(remote)
    _git(remote, "gc", "-q")
    sizes = payload(remote)
    after, whole = size(remote), sum(sizes.values())
    return {
        "pushes": done,
        "segments": len(sizes),
        "payload": whole,
        "segment": round(whole / len(sizes)),
        "remote_before_gc": before,
        "remote": after,
        "ratio": round(after / whole, 3),
        "overhead_a_push": round((after - whole) / done),
    }


def main(pushes: int) -> None:
    """Measure and print."""
    with tempfile.TemporaryDirectory() as directory:
        print(json.dumps(measure(Path(directory), WRITERS, pushes)), flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else PUSHES)
