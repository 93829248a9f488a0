"""A prompt never waits long for rekal, whatever the daemon or the store is doing."""

from __future__ import annotations

import contextlib
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from rekal.cli.served import serve_request
from rekal.daemon import client
from rekal.daemon.hook_client import HARD_STOP
from rekal.daemon.server import Daemon, RecallRequest, Served
from rekal.store.locks import hold_lock
from tests.conftest import git
from tests.support.app import Rekal

pytestmark = pytest.mark.skipif(not client.is_supported(), reason="this system has no daemon")
SLACK = 20.0  # seconds: what starting Python may take on a busy machine


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the hook looks for the daemon, in a private directory."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))
    path = Path(client.socket_address())
    path.parent.mkdir(mode=0o700)
    return path


@contextmanager
def daemon(place: Path, run: object) -> Iterator[None]:
    """A daemon at ``place`` for the time of the block."""
    made = Daemon(place, run)  # type: ignore[arg-type]
    thread = threading.Thread(target=made.serve)
    thread.start()
    try:
        yield
    finally:
        link = client.connect_daemon(SLACK)
        if link is not None:
            client.send_frames(link, client.STOP)
            link.close()
        thread.join(SLACK)


def hook(where: Path, moment: str, said: str) -> tuple[subprocess.CompletedProcess[str], float]:
    """Run the hook as a host does; what came, and the seconds that it took."""
    start = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-m", "rekal", "hook", moment, "--host", "claude"],
        cwd=where, input=said, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    return done, time.monotonic() - start


def test_the_daemon_gets_what_the_host_said_and_its_answer_is_printed(rekal: Rekal, place: Path) -> None:
    asked: list[RecallRequest] = []

    def run(request: RecallRequest) -> Served:
        asked.append(request)
        return Served(0, b"answer\n", b"not shown")

    with daemon(place, run):
        done, _ = hook(rekal.root, "prompt", '{"prompt": "why \u00e4"}')
    assert (done.returncode, done.stdout, done.stderr) == (0, "answer\n", "")
    assert asked[0].args == ["hook", "prompt", "--host", "claude", '--input={"prompt": "why \u00e4"}']
    assert asked[0].cwd == str(rekal.root)


@pytest.mark.parametrize("moment", ["prompt", "tool", "start"])
def test_a_daemon_that_hangs_after_its_greeting_is_given_up(rekal: Rekal, place: Path, moment: str) -> None:
    with socket.socket(socket.AF_UNIX) as frozen:
        frozen.bind(str(place))
        frozen.listen()
        held = []

        def greet() -> None:
            link, _ = frozen.accept()
            held.append(link)
            with contextlib.suppress(OSError):  # on a busy machine the hook has given up before
                link.sendall(client.GREETING)

        thread = threading.Thread(target=greet)
        thread.start()
        done, took = hook(rekal.root, moment, "{}")
        thread.join()
        held[0].close()
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert took < HARD_STOP + SLACK


def test_a_daemon_that_does_not_greet_is_as_good_as_none(rekal: Rekal, place: Path) -> None:
    with socket.socket(socket.AF_UNIX) as frozen:
        frozen.bind(str(place))
        frozen.listen()
        done, took = hook(rekal.root, "prompt", "{}")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert took < HARD_STOP + SLACK


@pytest.mark.parametrize("moment", ["prompt", "tool"])
def test_without_a_daemon_a_prompt_gets_nothing(rekal: Rekal, place: Path, moment: str) -> None:
    done, _ = hook(rekal.root, moment, json.dumps({"prompt": "why is the queue in Postgres and not in Redis"}))
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_start_is_answered_without_a_daemon(rekal: Rekal, place: Path) -> None:
    assert rekal("remember", "Jobs live in Postgres.", "--type", "decision").code == 0
    done, _ = hook(rekal.root, "start", json.dumps({"hook_event_name": "SessionStart", "session_id": "a"}))
    # On a machine so busy that the hard stop comes first there is nothing, and that is right too.
    assert (done.returncode, done.stderr) == (0, "")
    assert "Jobs live in Postgres." in done.stdout or done.stdout == ""


def test_a_store_that_is_being_written_holds_no_prompt_up(rekal: Rekal, place: Path) -> None:
    before = os.environ.copy()
    with daemon(place, serve_request), hold_lock(rekal.layout.lock, wait=0, purpose="a test"):
        done, took = hook(
            rekal.root, "prompt", json.dumps({"prompt": "why is the queue in Postgres", "session_id": "a"})
        )
    os.environ.update(before)
    assert (done.returncode, done.stderr) == (0, "")
    assert took < HARD_STOP + SLACK


def test_the_hook_imports_no_framework(rekal: Rekal, place: Path) -> None:
    code = (
        "import sys; sys.argv = ['rekal', 'hook', 'prompt']; import rekal.__main__ as m\n"
        "try: m.main()\n"
        "except SystemExit: pass\n"
        "print([n for n in ('click', 'json', 'msgspec', 'duckdb', 'numpy', 'socket', 'pathlib') if n in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-S", "-c", code], cwd=rekal.root, input="{}", capture_output=True, text=True, timeout=60,
        check=True, env={**os.environ, "PYTHONPATH": str(Path(client.__file__).parents[2])},
    )  # fmt: skip
    assert done.stdout.strip() == "[]"


def test_the_repository_is_found_from_what_the_host_says(rekal: Rekal, tmp_path: Path) -> None:
    assert rekal("remember", "Jobs live in Postgres.", "--type", "decision").code == 0
    said = json.dumps({"cwd": str(rekal.root), "hook_event_name": "SessionStart"})
    assert "Jobs live in Postgres." in rekal("hook", "start", f"--input={said}", cwd=tmp_path).out


def test_a_frozen_daemon_and_a_held_lock_stop_neither_prompt_nor_commit(rekal: Rekal, place: Path) -> None:
    frozen = subprocess.Popen(
        [sys.executable, "-m", "rekal", "daemon"], cwd=rekal.root, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    try:
        assert frozen.stdout is not None
        assert frozen.stdout.readline().startswith("ready")
        frozen.send_signal(signal.SIGSTOP)
        with hold_lock(rekal.layout.lock, wait=0, purpose="a test"):
            for moment in ("prompt", "tool", "start"):
                # A process that sleeps as long as the hard stop, meanwhile: what starting one costs here and now.
                start = time.monotonic()
                asleep = [sys.executable, "-c", f"import time; time.sleep({HARD_STOP})"]
                with subprocess.Popen(asleep) as control:
                    done, took = hook(
                        rekal.root, moment, '{"prompt": "why is the queue in Postgres", "session_id": "a"}'
                    )
                    control.wait(60)
                assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
                assert took < 2 * (time.monotonic() - start)
            (rekal.root / "a.txt").write_text("a", encoding="utf-8")
            git(rekal.root, "add", ".")
            git(rekal.root, "commit", "-q", "-m", "Commit while everything hangs")
        assert git(rekal.root, "log", "-1", "--format=%s").strip() == "Commit while everything hangs"
    finally:
        frozen.send_signal(signal.SIGCONT)
        frozen.kill()
        frozen.communicate()


def test_the_hook_ends_although_its_host_never_closes_its_input(rekal: Rekal, place: Path) -> None:
    start = time.monotonic()
    with subprocess.Popen(
        [sys.executable, "-m", "rekal", "hook", "prompt"], cwd=rekal.root, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as waiting:
        assert waiting.wait(60) == 0
        assert waiting.stdout is not None
        assert waiting.stdout.read() == b""
    assert HARD_STOP <= time.monotonic() - start < HARD_STOP + SLACK
