"""Time and bytes of every page of the web page over a large store.

    python -m benchmarks.bench_web [--turns 200000] [--vectors]

One line a page: medians of processor time (git's included) and of wall clock, in milliseconds, and the bytes sent.
Questions are answered by keywords alone, or with random vectors and the default model. Making the store takes two
minutes.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks import corpus
from benchmarks.bench_recall import add_random_vectors
from rekal.app.resources import kept_between_commands
from rekal.cli.main import run_command_line
from rekal.git import find_repo
from rekal.store.layout import Layout
from rekal.store.ledger import open_ledger
from rekal.web.access import Access, make_access
from rekal.web.pages.asked import ServedClone
from rekal.web.site import page_app

_ROUNDS = 9
_WARMING = 4  # the file of vectors comes into memory
_FILE_LINES = 3_000


def _git(root: Path, *args: str) -> None:
    subprocess.run(["git", *args], cwd=root, check=True, capture_output=True, timeout=60)


def make_clone(base: Path, turns: int, *, vectors: bool) -> tuple[Path, dict[str, str]]:
    """A clone with a store of ``turns`` turns and its index; names of what is in it."""
    root = base / "app"
    root.mkdir()
    os.environ.update(HOME=str(base), XDG_DATA_HOME=str(base), REKAL_EMBED_ENGINE="off", REKAL_DAEMON="off")
    if vectors:
        del os.environ["REKAL_EMBED_ENGINE"]
    _git(root, "init", "-q", "-b", "main")
    for name, value in (("user.name", "Author 1"), ("user.email", "author1@example.com")):
        _git(root, "config", name, value)
    (root / "long.py").write_text("".join(f"line_{n} = {n}\n" for n in range(_FILE_LINES)), encoding="utf-8")
    _git(root, "add", "-A")
    _git(root, "commit", "-q", "-m", "first")
    os.chdir(root)
    run_command_line(["init", "--backfill", "0", "--hooks-only"])
    found = find_repo(root)
    layout = Layout(found.store_dir, found.private_dir)
    for path in (layout.data, layout.second, layout.index):
        path.unlink(missing_ok=True)
    vocabulary = corpus.write(layout.data, turns)
    run_command_line(["index"])
    if vectors:
        add_random_vectors(layout)
    for _ in range(40):
        run_command_line(["decide", vocabulary.sample(12), "--because", vocabulary.sample(8)])
    with open_ledger(layout.data, read_only=True) as ledger:
        ((session, content),) = ledger.con.execute(
            "SELECT session_id, content FROM turns LIMIT 1 OFFSET 9000"
        ).fetchall()
        ((commit,),) = ledger.con.execute("SELECT git_sha FROM checkpoints LIMIT 1 OFFSET 100").fetchall()
        ((memory,),) = ledger.con.execute("SELECT memory_id FROM memory_events LIMIT 1").fetchall()
    # Everything is new: the first page has as much to tell as it can have.
    layout.web_visit.write_text("2026-01-01T00:00:00+00:00", encoding="ascii")
    words = "+".join(str(content).split()[:6])
    return root, {"session": session, "commit": commit, "memory": memory, "words": words}


async def ask(app: Any, access: Access, path: str) -> tuple[int, int]:
    """Status and bytes of one page."""
    place, _, query = path.partition("?")
    sent = [0, 0]

    async def receive() -> dict[str, Any]:
        return {"type": "http.request", "body": b"", "more_body": False}

    async def send(message: Any) -> None:
        if message["type"] == "http.response.start":
            sent[0] = message["status"]
        else:
            sent[1] += len(message.get("body", b""))

    scope = {
        "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
        "path": place, "raw_path": place.encode(), "query_string": query.encode(), "root_path": "",
        "headers": [(b"host", access.hosts[0].encode()), (b"cookie", f"{access.cookie}={access.token}".encode())],
        "client": ("127.0.0.1", 1), "server": ("127.0.0.1", access.port), "state": {},
    }  # fmt: skip
    await app(scope, receive, send)
    return sent[0], sent[1]


def _spent() -> float:
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


async def _measure(root: Path, names: dict[str, str]) -> None:
    access = make_access(8765)
    app = page_app(ServedClone(find_repo(root), Path.home(), dict(os.environ)), access)
    pages = (
        "/", "/grounds", "/search", f"/search?q={names['words']}", "/search?q=nothing+of+that+kind+anywhere+here",
        "/sessions", "/sessions?offset=4000", f"/session/{names['session']}", f"/session/{names['session']}/20",
        f"/session/{names['session']}/20/whole", "/files", "/file/long.py", "/file/long.py?from=2000",
        f"/commit/{names['commit']}", "/timeline", "/timeline?days=3650", "/review", "/memories",
        f"/memory/{names['memory']}", "/graph", "/sharing", "/stats", "/live",
    )  # fmt: skip
    for path in pages:
        taken, waited, size, status = [], [], 0, 0
        for _ in range(_WARMING):
            await ask(app, access, path)
        for _ in range(_ROUNDS):
            before, start = _spent(), time.monotonic()
            status, size = await ask(app, access, path)
            taken.append(_spent() - before)
            waited.append(time.monotonic() - start)
        cpu, wall = statistics.median(taken) * 1000, statistics.median(waited) * 1000
        print(f"{cpu:7.0f} ms cpu {wall:7.0f} ms wall {size:9,} bytes  {status}  {path[:60]}")


def main() -> None:
    """Print one line a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--turns", type=int, default=200_000)
    parser.add_argument("--vectors", action="store_true", help="the questions are answered with vectors, too")
    chosen = parser.parse_args()
    with tempfile.TemporaryDirectory() as base:
        root, names = make_clone(Path(base), chosen.turns, vectors=chosen.vectors)
        with kept_between_commands():
            asyncio.run(_measure(root, names))
        os.chdir("/")


if __name__ == "__main__":
    main()
