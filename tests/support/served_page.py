"""A real ``rekal web`` over a small real store: a process of its own, and requests as a browser sends them."""

from __future__ import annotations

import http.client
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from pathlib import Path
from urllib.parse import urlencode

import msgspec

from tests.conftest import git
from tests.support.claude import ClaudeSession

ADDRESS = re.compile(r"http://(\S+?):(\d+)(/\S*)\?token=(\S+)")
_PATIENCE = 60.0


class Reply(msgspec.Struct, frozen=True):
    """Status, headers in small letters, body."""

    status: int
    headers: dict[str, str]
    text: str


class Checkout:
    """A repository with a home directory of its own, and ``rekal`` run in it as a process."""

    def __init__(self, base: Path) -> None:
        self.root, self.home = base / "app", base / "home"
        self.root.mkdir(parents=True)
        self.home.mkdir()
        self.env = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("CLAUDE", "REKAL_"))},
            "HOME": str(self.home), "XDG_DATA_HOME": str(self.home), "XDG_CONFIG_HOME": str(self.home),
            "GIT_CONFIG_GLOBAL": str(self.home / "gitconfig"), "GIT_CONFIG_NOSYSTEM": "1",
            "REKAL_EMBED_ENGINE": "off", "REKAL_DAEMON": "off", "PYTHONPATH": str(Path(__file__).parents[2]),
        }  # fmt: skip
        (self.home / "gitconfig").write_text("[user]\nname = Ada\nemail = ada@example.com\n", encoding="utf-8")
        self.git("init", "-q", "-b", "main")

    def git(self, *args: str) -> str:
        """Run git; its output."""
        return git(self.root, "-c", "user.name=Ada", "-c", "user.email=ada@example.com", *args)

    def __call__(self, *args: str, code: int = 0, **more: str) -> str:
        """Run ``rekal``; its output. Fails unless it exits with ``code``."""
        done = subprocess.run(
            [sys.executable, "-m", "rekal", *args], cwd=self.root, env={**self.env, **more}, capture_output=True,
            text=True, timeout=_PATIENCE, check=False, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert done.returncode == code, (args, done.stdout, done.stderr)
        return done.stdout

    def session(self, name: str, days_ago: float = 0.1, branch: str = "main") -> ClaudeSession:
        """A transcript of this repository that goes on being written."""
        start = datetime.now(UTC) - timedelta(days=days_ago)
        return ClaudeSession(self.home, self.root, name, start=start, branch=branch)

    def commit(self, message: str) -> str:
        """Commit everything and capture it; the new commit."""
        self.git("add", "-A")
        self.git("commit", "-q", "-m", message)
        self("checkpoint")
        return self.git("rev-parse", "HEAD").strip()


class ServedPage:
    """The page of a checkout, being served. ``with`` ends it."""

    def __init__(self, checkout: Checkout, verb: tuple[str, ...] = ("web", "--port", "0")) -> None:
        self.checkout = checkout
        self.errors = ""
        self._process = subprocess.Popen(
            [sys.executable, "-m", "rekal", *verb], cwd=checkout.root, env=checkout.env,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, stdin=subprocess.DEVNULL,
        )  # fmt: skip
        assert self._process.stdout is not None
        line = self._process.stdout.readline()
        found = ADDRESS.match(line.partition("#")[0])
        if not found:
            self.end()
        assert found, (line, self.errors)
        self.host, self.port, self.token = found[1], int(found[2]), found[4]
        self.address = line.strip()
        self._until_answered()

    def __enter__(self) -> ServedPage:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    @property
    def cookie(self) -> str:
        """The cookie that a browser sends after the first page."""
        return f"rekal-{self.port}={self.token}"

    def link(self, path: str) -> str:
        """Address of a path, with the token."""
        return f"http://{self.host}:{self.port}{path}{'&' if '?' in path else '?'}token={self.token}"

    def _until_answered(self) -> None:
        end = time.monotonic() + _PATIENCE
        while True:
            try:
                self.ask("GET", "/live")
                return
            except OSError:
                assert time.monotonic() < end, "the page is not served"

    def ask(
        self, method: str, path: str, headers: Mapping[str, str] | None = None, body: str | None = None,
        *, cookie: bool = True,
    ) -> Reply:  # fmt: skip
        """Send one request with exactly these headers, and the cookie."""
        connection = http.client.HTTPConnection(self.host.strip("[]"), self.port, timeout=_PATIENCE)
        sent = {**({"cookie": self.cookie} if cookie else {}), **(headers or {})}
        connection.putrequest(method, path, skip_host="host" in sent)
        for name, value in sent.items():
            connection.putheader(name, value)
        data = (body or "").encode()
        if body is not None:
            connection.putheader("content-length", str(len(data)))
        connection.endheaders(data or None)
        answer = connection.getresponse()
        reply = Reply(
            answer.status, {k.lower(): v for k, v in answer.getheaders()}, answer.read().decode("utf-8", "replace")
        )
        connection.close()
        return reply

    def page(self, path: str, status: int = 200) -> str:
        """A page's HTML. Fails unless the answer has ``status``."""
        reply = self.ask("GET", path)
        assert reply.status == status, (path, reply.status, reply.text[:2000])
        return reply.text

    def form_token(self) -> str:
        """The secret that forms carry, read from a page as a browser would."""
        found = re.search(r'name="form_token" value="([0-9a-f]+)"', self.page("/"))
        assert found
        return found[1]

    def post(self, path: str, **fields: str) -> Reply:
        """Send a form as the page itself sends it."""
        headers = {
            "content-type": "application/x-www-form-urlencoded", "origin": f"http://{self.host}:{self.port}",
            "sec-fetch-site": "same-origin", "sec-fetch-mode": "navigate",
        }  # fmt: skip
        return self.ask("POST", path, headers, urlencode({"form_token": self.form_token(), **fields}))

    def end(self) -> int:
        """Interrupt it as Ctrl-C does; its exit code."""
        if self._process.poll() is None:
            # Windows sends no Ctrl-C to one process alone.
            self._process.send_signal(signal.SIGTERM if sys.platform == "win32" else signal.SIGINT)
        try:
            _, self.errors = self._process.communicate(timeout=20)
        except subprocess.TimeoutExpired:
            self._process.kill()
            _, self.errors = self._process.communicate()
        return self._process.returncode


_MADE: list[tuple[tempfile.TemporaryDirectory[str], dict[str, str]]] = []
"""A checkout that :func:`talked_about` has filled, once a process, and the names of what is in it."""


def talked_about(checkout: Checkout) -> dict[str, str]:
    """Fill a checkout with two sessions, a commit and a store; names of what is there: ``commit``, ``session``."""
    if not _MADE:
        names = _talk(checkout)
        kept = tempfile.TemporaryDirectory()
        shutil.copytree(checkout.root.parent, Path(kept.name), dirs_exist_ok=True, symlinks=True)
        _MADE.append((kept, names))
        return names
    kept, names = _MADE[0]
    shutil.copytree(Path(kept.name), checkout.root.parent, dirs_exist_ok=True, symlinks=True)
    # The second name of the ledger is a link to it, which the copy is not.
    second = checkout.root / ".git/rekal/data.db"
    second.unlink(missing_ok=True)
    os.link(checkout.root / ".rekal/data.db", second)
    return names


def _talk(checkout: Checkout) -> dict[str, str]:
    (checkout.root / "queue.py").write_text("import broker\n", encoding="utf-8")
    checkout.git("add", "-A")
    checkout.git("commit", "-q", "-m", "first")
    checkout("init", "--backfill", "0", "--hooks-only")
    text = "import psycopg\n\n\ndef claim():\n    return psycopg.fetch('SKIP LOCKED')\n"
    one = checkout.session("queue")
    one.human("Why should the retry queue live in postgres and not in the broker?")
    one.says("A retry queue in postgres survives a restart of the broker, and SKIP LOCKED lets workers share it.")
    one.human("Then write it that way.")
    (checkout.root / "queue.py").write_text(text, encoding="utf-8")
    one.writes(checkout.root / "queue.py", text, text="I move the retry queue to postgres because the broker forgets.")
    one.runs("pytest -q", "1 failed", error=True)
    two = checkout.session("colours", days_ago=0.2)
    two.human("Which colours does the chart of the invoices take?").says(
        "Blue for paid invoices, orange for open ones."
    )
    commit = checkout.commit("Keep the retry queue in postgres")
    listed = msgspec.json.decode(checkout("sessions", "--json"))["sessions"]
    return {"commit": commit, **{one["title"] or one["native_id"]: one["id"] for one in listed},
            "session": next(one["id"] for one in listed if one["commits"])}  # fmt: skip
