"""The installed ``rekal`` and the real git as separate processes, the background worker included."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

from rekal.errors import StoreBusy, StoreError
from rekal.git import find_repo
from rekal.index.freshness import read_position
from rekal.store.layout import Layout
from rekal.store.ledger import open_ledger
from rekal.store.locks import hold_lock
from tests.support.app import Ran
from tests.support.claude import ClaudeSession

REKAL = Path(sys.executable).parent / "rekal"
ASKED = "why should the retry queue live in postgres"
_PATIENCE = 90.0


def answer_readily(home: Path) -> None:
    """Let recall answer whatever it finds: what is tested is whether it is there, not whether it is evidence enough."""
    settings = home / "rekal" / "config.yml"
    settings.parent.mkdir(exist_ok=True)
    settings.write_text("recall: {strictness: 0}\n", encoding="utf-8")


def worked(home: Path, root: Path, name: str, file: str = "queue.py", text: str = "retry queue lives here\n") -> str:
    """An agent's session in ``root`` that wrote ``file``, really; its native id."""
    session = ClaudeSession(home, root, name, start=datetime.now(UTC), step=timedelta(milliseconds=1))
    session.human(f"Why should the retry queue live in postgres, {name}?")
    path = root / file
    path.write_text(text, encoding="utf-8")
    session.writes(path, text, text="A retry queue in postgres survives a restart of the broker.")
    return session.session_id


class Live:
    """``rekal`` and git in the repository at ``root``; neither knows of this process but by its environment."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def __call__(self, *args: str, cwd: Path | None = None, code: int | None = 0, **more: Any) -> Ran:
        """Run ``rekal``; fails unless it exits with ``code`` (None: whatever it exits with)."""
        done = subprocess.run(
            [REKAL, *args],
            cwd=cwd or self.root,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            timeout=_PATIENCE,
            check=False,
            **more,
        )
        ran = Ran(done.returncode, done.stdout, done.stderr)
        assert code is None or ran.code == code, (args, ran)
        return ran

    def git(self, *args: str, cwd: Path | None = None, env: Mapping[str, str] | None = None) -> str:
        """Run git; its output. Fails unless it succeeds."""
        done = subprocess.run(
            ["git", *args],
            cwd=cwd or self.root,
            capture_output=True,
            text=True,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **(env or {})},
            timeout=_PATIENCE,
            check=False,
        )
        assert done.returncode == 0, (args, done.stdout, done.stderr)
        return done.stdout

    def commit(self, message: str, *extra: str, cwd: Path | None = None) -> str:
        """Commit everything in the work tree; the new commit."""
        self.git("add", "-A", cwd=cwd)
        self.git("commit", "-q", "-m", message, *extra, cwd=cwd)
        return self.git("rev-parse", "HEAD", cwd=cwd).strip()

    @property
    def layout(self) -> Layout:
        """The store's paths."""
        found = find_repo(self.root)
        return Layout(found.store_dir, found.private_dir)

    def settle(self) -> None:
        """Wait until the workers have done all there is to do: nothing waits, nobody works, the index is current."""
        layout = self.layout
        until(lambda: _idle(layout), lambda: self._state(layout))

    def _state(self, layout: Layout) -> str:
        log = layout.log.read_text("utf-8") if layout.log.exists() else ""
        return f"spool {sorted(p.name for p in layout.spool.iterdir())}, log {log!r}"

    def rows(self, sql: str) -> list[list[Any]]:
        """The rows of a SELECT."""
        rows: list[list[Any]] = json.loads(self("query", "--json", sql, code=None).out)["rows"]
        return rows

    def links(self) -> dict[str, list[str]]:
        """Commit name -> native ids of its sessions, commits that were rewritten included."""
        sql = """SELECT c.git_sha, s.native_id FROM checkpoints c JOIN checkpoint_sessions k ON k.checkpoint_id = c.id
                 JOIN sessions s ON s.id = k.session_id ORDER BY ALL"""
        found: dict[str, list[str]] = {}
        for sha, native in self.rows(sql):
            found.setdefault(sha, []).append(native)
        return found

    def recalled(self, question: str, cwd: Path | None = None) -> list[str]:
        """Native ids of the sessions that a question brings up, in order of rank."""
        answer = self("recall", "--json", question, cwd=cwd, code=None)
        shown = [hit["session_id"] for hit in json.loads(answer.out)["sessions"]]
        names = dict(self.rows("SELECT id, native_id FROM sessions"))
        return [names[one] for one in shown]


def until(condition: Callable[[], bool], state: Callable[[], str]) -> None:
    """Wait for ``condition``, and fail saying ``state`` when it does not come true in time."""
    end = time.monotonic() + _PATIENCE
    while not condition():
        assert time.monotonic() < end, state()
        time.sleep(0.02)


def _idle(layout: Layout) -> bool:
    if any(layout.spool.glob("*.json")) or (layout.run / "backfill").exists():
        return False
    try:
        with (
            hold_lock(layout.lock, wait=0, purpose="test"),
            hold_lock(layout.index_lock, wait=0, purpose="test"),
            open_ledger(layout.data, read_only=True, wait=0) as ledger,
        ):
            return read_position(layout.index) == ledger.position()
    except StoreBusy:
        return False
    except StoreError as error:
        raise AssertionError(str(error)) from error


def listing(root: Path) -> dict[str, tuple[int, bytes]]:
    """Mode and bytes of everything below ``root``, and of nothing that git changes by itself."""
    own = {"index", "objects", "logs", "ORIG_HEAD", "COMMIT_EDITMSG"}
    found: dict[str, tuple[int, bytes]] = {}
    for path in sorted(root.rglob("*")):
        inside = path.relative_to(root).parts
        if inside[0] == ".git" and len(inside) > 1 and inside[1] in own:
            continue
        mode = path.lstat().st_mode
        data = os.fsencode(path.readlink()) if path.is_symlink() else path.read_bytes() if stat.S_ISREG(mode) else b""
        found["/".join(inside)] = (mode, data)
    return found
