"""Teammates' clones for the tests of receiving: a bare remote, stores that publish records, real git between them."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import duckdb
from msgspec.structs import replace

from rekal import ids
from rekal.git import Repo, find_repo
from rekal.model import Author, Checkpoint, Edit, FileChange, Session, SessionRange, ToolCall, Turn
from rekal.store.layout import Layout
from rekal.store.ledger import open_ledger
from rekal.transport.import_queue import Budget
from rekal.transport.receive import Received, receive_refs
from rekal.transport.refs import OwnRef, clone_id, email_slug, fetch_refspec, own_ref, publish_segments
from rekal.wire.segment import Record, encode_segments
from tests.conftest import git

START = datetime(2026, 2, 3, 9, tzinfo=UTC)
_COMPARED = {
    "sessions": "* EXCLUDE (recorded_at, pos, origin)",
    "turns": "* EXCLUDE (recorded_at, pos)",
    "tool_calls": "* EXCLUDE (pos)",
    "edits": "* EXCLUDE (pos)",
    "checkpoints": "* EXCLUDE (recorded_at, pos, origin)",
    "checkpoint_sessions": "* EXCLUDE (pos)",
    "files_touched": "* EXCLUDE (pos)",
    "memory_events": "* EXCLUDE (recorded_at, pos, origin)",
}


def author(name: str) -> Author:
    """A teammate."""
    return Author(name.title(), f"{name}@example.com")


def talk(who: str, name: str, *texts: str, path: str = "queue.py") -> Session:
    """A session of ``who``: turns a minute apart, the second one editing ``path``."""
    email = author(who).email
    session_id = ids.session_id("claude", name, email)
    texts = texts or (f"Why does {name} wait?", f"Because {name} holds the lock.")
    turns = tuple(
        Turn(i, ids.derive("turn", session_id, str(i)), "assistant" if i % 2 else "human", text, at(i))
        for i, text in enumerate(texts)
    )
    call = ToolCall(0, ids.derive("call", session_id), min(1, len(turns) - 1), "Edit", path, None, "ok", None, at(1))
    return Session(
        session_id,
        "claude",
        name,
        author(who).name,
        email,
        title=texts[0][:40],
        started_at=START,
        turns=turns,
        tool_calls=(call,),
        edits=(Edit(0, 0, path, (1 << 40,)),),
    )


def at(minutes: int) -> datetime:
    """Minutes after the start."""
    return START + timedelta(minutes=minutes)


def commit_of(session: Session, sha: str, *, email: str | None = None) -> Checkpoint:
    """The commit that a whole session led to."""
    email = email or session.author_email
    name = ids.content_hash(sha) + "00000000"
    return Checkpoint(
        ids.checkpoint_id(name, email),
        name,
        email,
        subject=f"commit {sha}",
        branch="main",
        committed_at=at(9),
        files=(FileChange("queue.py", "M"),),
        sessions=(SessionRange(session.id, 0, len(session.turns) - 1, "edited"),),
    )


def format_text(ref: OwnRef) -> str:
    """The FORMAT file of layout 1: version, store, author."""
    return f"rekal 1\nstore {ref.store_id}\nauthor {ref.author.name} <{ref.author.email}>\n"


def segments_on(root: Path, ref: str) -> list[bytes]:
    """The bytes of every segment that any commit of a ref holds."""
    commits = git(root, "rev-list", ref).split()
    rows = {row for commit in commits for row in git(root, "ls-tree", "-r", commit).splitlines()}
    blobs = sorted({row.split()[2] for row in rows if row.endswith(".rkl")})
    show = ("git", "cat-file", "blob")
    return [subprocess.run([*show, blob], cwd=root, capture_output=True, check=True).stdout for blob in blobs]


class Clone:
    """One clone with a store. ``who`` publishes from it."""

    def __init__(self, root: Path, remote: Path, who: str) -> None:
        git(root.parent, "clone", "-q", str(remote), str(root))
        git(root, "config", "--add", "remote.origin.fetch", fetch_refspec("origin", "rekal"))
        self.root = root
        self.who = author(who)
        self.layout = Layout(root / ".rekal")
        self.layout.create()
        with open_ledger(self.layout.data, read_only=False, create=True) as ledger:
            # An id begins with the time in milliseconds: two stores made at once would be one clone.
            ledger.con.execute("UPDATE meta SET value = ? WHERE key = 'store_id'", [ids.derive("store", str(root))])
            self.store_id = ledger.meta("store_id") or ""

    @property
    def repo(self) -> Repo:
        """As git sees it."""
        return find_repo(self.root)

    @property
    def ref(self) -> OwnRef:
        """The ref that this clone writes."""
        return own_ref(self.who, self.store_id, "rekal")

    @property
    def origin(self) -> str:
        """What others call what comes from here."""
        return f"{email_slug(self.who.email)}/{clone_id(self.store_id)}"

    def publish(self, *records: Record, root: bool = False) -> None:
        """Add records to the ref and push it."""
        publish_segments(self.repo, self.ref, list(encode_segments(records)), root=root)
        self.push()

    def push(self) -> None:
        """Push the ref, also where it does not fast-forward."""
        git(self.root, "push", "-q", "origin", f"+{self.ref.name}:{self.ref.name}")

    def raw(self, files: Sequence[tuple[str, bytes]], *, ref: str | None = None, on: str | None = None) -> str:
        """A commit with any files at all on a ref (by default this clone's), pushed."""
        ref = ref or self.ref.name
        scratch = {"GIT_INDEX_FILE": str(self.root / ".git" / "scratch-index")}
        (self.root / ".git" / "scratch-index").unlink(missing_ok=True)
        if on:
            self.repo.run("read-tree", on, env=scratch)
        for path, data in files:
            blob = self.repo.run("hash-object", "-w", "--stdin", stdin=data).strip()
            self.repo.run("update-index", "--add", "--cacheinfo", f"100644,{blob},{path}", env=scratch)
        tree = self.repo.run("write-tree", env=scratch).strip()
        commit = self.repo.run("commit-tree", tree, "-m", "raw").strip()
        self.repo.run("update-ref", ref, commit)
        git(self.root, "push", "-q", "origin", f"+{ref}:{ref}")
        return commit

    def receive(self, budget: Budget | None = None) -> Received:
        """Fetch as the user does, and import."""
        git(self.root, "fetch", "-q")
        return receive_refs(self.layout, self.repo, ["origin"], budget)

    def rows(self, sql: str) -> list[tuple[object, ...]]:
        """The rows of a SELECT on the ledger."""
        with duckdb.connect(str(self.layout.data), read_only=True) as con:
            return con.execute(sql).fetchall()

    def texts(self) -> list[str]:
        """What all turns say."""
        return [str(row[0]) for row in self.rows("SELECT content FROM turns ORDER BY session_id, seq")]

    def holds(self) -> dict[str, list[str]]:
        """Everything that travels, comparable between clones."""
        return {
            table: [repr(row) for row in self.rows(f"SELECT {columns} FROM {table} ORDER BY ALL")]
            for table, columns in _COMPARED.items()
        }


def bare(parent: Path) -> Path:
    """A bare remote with one commit."""
    remote, first = parent / "remote.git", parent / "first"
    git(parent, "init", "-q", "--bare", "-b", "main", str(remote))
    git(parent, "init", "-q", str(first))
    git(first, "commit", "-q", "--allow-empty", "-m", "first")
    git(first, "push", "-q", str(remote), "main")
    return remote


def stamped(session: Session, **more: object) -> Session:
    """A session with other fields."""
    return replace(session, **more)
