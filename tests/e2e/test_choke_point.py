"""No secret reaches a file of the store or a remote: not of any kind, not by any way in, not when scrubbing fails."""

from __future__ import annotations

import json
import random
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pytest

from rekal.scrub import Scrubber
from rekal.store.layout import Layout
from rekal.wire.segment import decode_segments
from tests.capture.test_link import commit, work
from tests.conftest import git
from tests.scrub.examples import ALL, ALNUM, TOKENS, chars, example
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession

# Secrets are looked for by pieces of this length, so that half of one is found, too.
PIECE = 12
COMMON = ("PRIVATE KEY", "<private>", "</private>")


def needles(kinds: dict[str, Any]) -> list[tuple[str, bytes]]:
    """Pieces from the middle and the end of every secret's every line."""
    out = []
    for kind in kinds:
        for line in example(kind).secret.split("\n"):
            for mark in COMMON[1:]:
                line = line.replace(mark, "")
            if COMMON[0] not in line:
                middle = max(0, len(line) // 2 - PIECE // 2)
                out += [(kind, line[middle : middle + PIECE].encode()), (kind, line[-PIECE:].encode())]
    return out


def files(layout: Layout) -> Iterator[tuple[str, bytes]]:
    """Every file's bytes in both of rekal's directories, and every row of every database as text.

    Strings may be compressed in a database's file.
    """
    for path in sorted([*layout.directory.rglob("*"), *layout.run.rglob("*")]):
        if path.is_file():
            yield path.name, path.read_bytes()
            if path.suffix == ".db":
                yield f"rows of {path.name}", rows(path).encode()


def rows(path: Path) -> str:
    with duckdb.connect(str(path), read_only=True) as con:
        names = [name for (name,) in con.execute("SELECT table_name FROM duckdb_tables() ORDER BY 1").fetchall()]
        return "\n".join(repr(row) for name in names for row in con.execute(f'SELECT * FROM "{name}"').fetchall())


def blobs(remote: Path) -> Iterator[tuple[str, bytes]]:
    """Everything under the refs of memory on a remote: objects as they are, and segments decoded."""
    listed = git(remote, "rev-list", "--objects", "--glob=refs/rekal").split("\n")
    for line in filter(None, listed):
        sha, _, name = line.partition(" ")
        kind = git(remote, "cat-file", "-t", sha).strip()
        data = subprocess.run(["git", "cat-file", kind, sha], cwd=remote, capture_output=True, check=True).stdout
        yield f"{kind} {name}", data
        if name.endswith(".rkl"):
            yield f"records of {name}", repr(decode_segments([data])[0]).encode()


def found(secrets: list[tuple[str, bytes]], places: Iterator[tuple[str, bytes]]) -> set[tuple[str, str]]:
    """(where, kind) of every secret that stands somewhere; nothing to look in is an error of the test."""
    seen = list(places)
    assert seen
    return {(where, kind) for where, data in seen for kind, secret in secrets if secret in data}


def leaky_session(rekal: Rekal) -> ClaudeSession:
    """Every example in a prompt, an answer, a command, a failed call; every token also in a path."""
    session = ClaudeSession(rekal.home, rekal.root, "leaky", branch=f"fix/{example('github-token').secret}")
    for kind in ALL:
        made = example(kind)
        session.human(f"Please use {made.text}").says(f"I will use\n{made.text}\nin the queue.")
        session.runs(f"run '{made.text}'", f"failed with\n{made.text}\n", error=True)
        session.uses("Task", {"description": f"try {made.text}", "prompt": made.text, "subagent_type": "x"}, made.text)
        session.writes(rekal.root / "new.py", f"first line of code\nkey = '{made.text}'\n")
    for kind in TOKENS:
        session.edits(rekal.root / "notes" / example(kind).secret / "todo.md", "one more line of code")
    title = {"type": "ai-title", "aiTitle": f"Use {example('npm-token').text}", "sessionId": session.session_id}
    with session.path.open("a", encoding="utf-8") as file:
        file.write(json.dumps(title) + "\n")
    work(rekal.root, f"docs/{example('npm-token').secret}.md", f"# Notes\n\n{example('jwt').text}\n")
    session.writes(work(rekal.root, "queue.py", "the queue lives in this file\n"), "the queue lives in this file")
    return session


def test_no_kind_of_secret_reaches_store_or_remote(rekal: Rekal, remote: Path) -> None:
    session = leaky_session(rekal)
    commit(rekal.root, session.now, f"Add the queue with {example('gitlab-token').secret}")
    git(rekal.root, "push", "-q")
    assert rekal("_worker").code == 0
    for kind in ALL:
        assert rekal("recall", f"what of the queue and {example(kind).text}").code in (0, 1)
    assert rekal("index", "--full").code == 0
    pushed = rekal("push", "--json").json
    assert (pushed["sessions"], pushed["sent"], pushed["held"]) == (1, True, [])
    secrets = needles(ALL)
    assert found(secrets, files(rekal.layout)) == set()
    assert found(secrets, blobs(remote)) == set()
    said = dict(files(rekal.layout))["rows of data.db"]
    missing = {kind for kind in ALL if f"[redacted:{kind}]".encode() not in said}
    assert missing == set()
    assert any(where.startswith("records of ") and b"in the queue" in data for where, data in blobs(remote))


SECRET = "gh" + "p_" + chars(random.Random("planted"), ALNUM, 36)
VERBS = [
    ("_worker",),
    ("checkpoint",),
    ("recall", f"why is {SECRET} in the queue"),
    ("find", SECRET),
    ("why", f"notes/{SECRET}.md"),
    ("show", SECRET),
    ("log",),
    ("report",),
    ("status",),
    ("audit",),
    ("index",),
    ("index", "--full"),
    ("push",),
    ("sync",),
    ("receive",),
    ("scrub", "--store"),
    ("_worker",),
]


class Broken(Exception):
    """Scrubbing went wrong; as a bug's would, its text quotes what it was given."""


@pytest.mark.parametrize("broken", ["text", "session", "find"])
def test_nothing_is_written_when_scrubbing_fails(
    rekal: Rekal, remote: Path, broken: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = ClaudeSession(rekal.home, rekal.root, "clean")
    first.human("Please write the queue").writes(work(rekal.root, "queue.py", "queue line one\n"), "queue line one")
    commit(rekal.root, first.now, "Add the queue")
    git(rekal.root, "push", "-q")
    assert rekal("_worker").code == 0

    def fail(*args: object, **options: object) -> str:
        raise Broken(f"{SECRET} {args!r}")

    if broken == "session":
        monkeypatch.setattr("rekal.scrub.scrub_session", fail)
    else:
        monkeypatch.setattr(Scrubber, broken, fail)
    second = ClaudeSession(rekal.home, rekal.root, "leaky", start=first.now, branch=SECRET)
    second.human(f"Use {SECRET} now").runs(f"login {SECRET}", f"bad {SECRET}", error=True)
    second.writes(work(rekal.root, f"notes/{SECRET}.md", f"note {SECRET}\n"), f"note {SECRET}")
    git(rekal.root, "checkout", "-q", "-b", f"fix/{SECRET}")
    commit(rekal.root, second.now, f"Use {SECRET}")
    for verb in VERBS:
        rekal(*verb)
        assert found([(" ".join(verb), SECRET.encode())], files(rekal.layout)) == set()
    assert found([("push", SECRET.encode())], iter([("no ref", b""), *blobs(remote)])) == set()
