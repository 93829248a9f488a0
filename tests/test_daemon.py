"""The daemon answers as the command itself would, to the byte, and one that cannot answer costs nothing."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from rekal.app.resources import Kept
from rekal.cli.verb_table import VERBS
from rekal.daemon import client
from rekal.daemon.server import Daemon, RecallRequest, Served, _fingerprint_code
from rekal.index.vectors import append_vectors
from tests.fake_embedder import FakeEmbedder
from tests.support.app import Rekal
from tests.support.claude import ClaudeSession

pytestmark = pytest.mark.skipif(not client.is_supported(), reason="this system has no daemon")

LONG = 60.0  # seconds: what a busy machine may take, never what a test needs


@pytest.fixture
def place(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the client looks for the daemon, in a private directory."""
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path_factory.mktemp("run")))
    path = Path(client.socket_address())
    path.parent.mkdir(mode=0o700)
    return path


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """This process was called to recall."""
    monkeypatch.setattr(sys, "argv", ["rekal", "recall", "where", "is it"])


Serve = Callable[[Callable[[RecallRequest], Served | None]], Daemon]


@pytest.fixture
def serve(place: Path) -> Iterator[Serve]:
    """Start a daemon that runs a function of the test instead of commands."""
    threads: list[threading.Thread] = []

    def start(run: Callable[[RecallRequest], Served | None], **more: float) -> Daemon:
        daemon = Daemon(place, run, **more)  # type: ignore[arg-type]
        thread = threading.Thread(target=daemon.serve)
        thread.start()
        threads.append(thread)
        return daemon

    yield start
    link = client.connect_daemon(LONG)
    if link is not None:
        client.send_frames(link, client.STOP)
        client.receive_frame(link)
        link.close()
    for thread in threads:
        thread.join(LONG)
        assert not thread.is_alive()


@pytest.mark.usefixtures("asked")
def test_a_request_is_all_that_makes_a_process(
    serve: Serve, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    requests: list[RecallRequest] = []

    def run(request: RecallRequest) -> Served:
        requests.append(request)
        return Served(7, "döner\n".encode(), b"rekal: a word\n")

    serve(run)
    monkeypatch.setenv("REKAL_TEST", "a=b")
    monkeypatch.setenv("SOMEBODYS_TOKEN", "secret")
    assert client.hand_over_recall(VERBS, LONG, LONG) == 7
    assert capsys.readouterr() == ("döner\n", "rekal: a word\n")
    [request] = requests
    assert request.args == ["recall", "where", "is it"]
    assert request.cwd == os.getcwd()  # noqa: PTH109
    assert request.env["REKAL_TEST"] == "a=b"
    assert "SOMEBODYS_TOKEN" not in request.env
    assert request.terminals == (False, False)


@pytest.mark.usefixtures("asked")
def test_what_the_daemon_declines_is_run_here(serve: Serve, capsys: pytest.CaptureFixture[str]) -> None:
    serve(lambda request: None)
    assert client.hand_over_recall(VERBS, LONG, LONG) is None
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(
    "words", [["status"], ["--version"], ["recall", "--help"], ["what", "-h"], ["daemon", "--stop"], []]
)
def test_only_recalls_are_handed_over(serve: Serve, monkeypatch: pytest.MonkeyPatch, words: list[str]) -> None:
    serve(lambda request: Served(7, b"", b""))
    monkeypatch.setattr(sys, "argv", ["rekal", *words])
    assert client.hand_over_recall(VERBS, LONG, LONG) is None
    monkeypatch.setattr(sys, "argv", ["rekal", "a bare question"])
    assert client.hand_over_recall(VERBS, LONG, LONG) == 7


def listening(place: Path) -> socket.socket:
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(place))
    listener.listen()
    return listener


@pytest.mark.usefixtures("asked")
def test_a_daemon_that_hangs_is_passed_by(place: Path) -> None:
    with listening(place):
        start = time.monotonic()
        assert client.hand_over_recall(VERBS) is None
        assert time.monotonic() - start < 1.0  # 0.05, on a machine that has nothing else to do
    assert client.PATIENCE <= 0.05


@pytest.mark.usefixtures("asked")
@pytest.mark.parametrize("greeting", [b"rekal 0.0.1\n" + b" " * 20, b"something else entirely", b""])
def test_a_daemon_of_another_version_is_passed_by(place: Path, greeting: bytes) -> None:
    with listening(place) as listener:

        def greet() -> None:
            link, _ = listener.accept()
            with link:
                link.sendall(greeting)

        thread = threading.Thread(target=greet)
        thread.start()
        assert client.hand_over_recall(VERBS, LONG) is None
        thread.join(LONG)


@pytest.mark.usefixtures("asked")
def test_a_daemon_that_dies_while_it_answers_is_passed_by(place: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with listening(place) as listener:

        def die() -> None:
            link, _ = listener.accept()
            with link:
                link.sendall(client.GREETING)
                client.receive_frame(link)
                client.send_frames(link, b"0", b"half an ans")

        thread = threading.Thread(target=die)
        thread.start()
        assert client.hand_over_recall(VERBS, LONG, LONG) is None
        thread.join(LONG)
    assert capsys.readouterr().out == ""


@pytest.mark.usefixtures("asked")
def test_a_dead_daemons_socket_is_passed_by_and_replaced(place: Path, serve: Serve) -> None:
    listening(place).close()
    assert place.exists()
    assert client.hand_over_recall(VERBS, LONG) is None
    serve(lambda request: Served(7, b"", b""))
    assert client.hand_over_recall(VERBS, LONG, LONG) == 7


@pytest.mark.usefixtures("asked")
def test_nobody_else_is_talked_to(place: Path, serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    serve(lambda request: Served(7, b"", b""))
    assert place.stat().st_mode & 0o777 == 0o600
    place.parent.chmod(0o755)
    assert client.hand_over_recall(VERBS, LONG, LONG) is None
    place.parent.chmod(0o700)
    with monkeypatch.context() as other:
        other.setattr("rekal.daemon.client.read_peer_uid", lambda link: os.getuid() + 1)
        assert client.hand_over_recall(VERBS, LONG, LONG) is None
    with monkeypatch.context() as other:
        other.setattr("rekal.daemon.server.read_peer_uid", lambda link: os.getuid() + 1)
        assert client.hand_over_recall(VERBS, LONG, LONG) is None
    assert client.hand_over_recall(VERBS, LONG, LONG) == 7


def test_one_whose_code_was_replaced_answers_nobody_and_goes(place: Path) -> None:
    states = iter([1, 1, 2])
    clock = iter([0.0] + [float(second) for second in range(2, 90, 2)])
    daemon = Daemon(place, lambda request: None, clock=lambda: next(clock), code=lambda: next(states))
    thread = threading.Thread(target=daemon.serve)
    thread.start()
    same = client.connect_daemon(LONG)
    assert same is not None
    same.close()
    assert client.connect_daemon(LONG) is None
    thread.join(LONG)
    assert not thread.is_alive()
    assert not place.exists()


def test_a_file_of_the_program_that_changes_is_seen(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    module = tmp_path / "sub" / "one.py"
    module.write_text("a = 1\n", encoding="utf-8")
    before = _fingerprint_code(tmp_path)
    assert _fingerprint_code(tmp_path) == before
    module.write_text("a = 22\n", encoding="utf-8")
    assert _fingerprint_code(tmp_path) != before


def test_it_goes_when_nobody_asks(place: Path) -> None:
    times = iter([0.0, 1.0, 100.0])
    daemon = Daemon(place, lambda request: None, idle=50.0, clock=lambda: next(times))
    daemon._listening.settimeout(0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(daemon, "_next", lambda: None)
        daemon.serve()
    assert not place.exists()
    assert next(times, None) is None


def test_one_that_was_replaced_goes_and_leaves_the_other(place: Path) -> None:
    old = Daemon(place, lambda request: None)
    new = Daemon(place, lambda request: None)
    old.serve()
    assert place.exists()
    new.close()
    assert not place.exists()


def test_a_long_runtime_directory_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_RUNTIME_DIR", "/" + "x" * 100)
    assert client.socket_address().startswith(f"/tmp/rekal-{os.getuid()}/")
    assert len(client.socket_address()) <= 100


CLIENT = f"""
import sys
sys.argv[0] = "rekal"
from rekal.cli.verb_table import VERBS
from rekal.daemon.client import hand_over_recall
code = hand_over_recall(VERBS, {LONG}, {LONG})
sys.exit(99 if code is None else code)
"""


class Real:
    """A daemon process, and the same commands by it and without it."""

    def __init__(self, rekal: Rekal) -> None:
        self.rekal = rekal
        self.env = {**os.environ, "RECALL_DAEMON": "auto", "RECALL_EMBED_ENGINE": "auto"}
        self.process = subprocess.Popen(
            [sys.executable, "-m", "rekal", "daemon"], cwd=rekal.root, env=self.env, stdout=subprocess.PIPE, text=True
        )

    def ready(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline()

    def run(self, start: list[str], args: tuple[str, ...], cwd: Path | None, **env: str) -> tuple[int, bytes, bytes]:
        done = subprocess.run(
            [sys.executable, *start, *args],
            cwd=cwd or self.rekal.root, env={**self.env, **env}, capture_output=True, timeout=LONG, check=False,
            stdin=subprocess.DEVNULL,
        )  # fmt: skip
        return done.returncode, done.stdout, done.stderr

    def both(self, *args: str, cwd: Path | None = None) -> tuple[int, bytes, bytes]:
        """What the daemon answers, which must be what the command itself does."""
        warm = self.run(["-c", CLIENT], args, cwd)
        assert warm == self.run(["-m", "rekal"], args, cwd, RECALL_DAEMON="off")
        return warm

    def end(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(LONG)
        assert self.process.stdout is not None
        self.process.stdout.close()


def talk(rekal: Rekal, name: str, said: str) -> None:
    session = ClaudeSession(rekal.home, rekal.root, name)
    session.human(said)
    session.says(f"Agreed: {said}")


@pytest.fixture
def real(rekal: Rekal, place: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Real]:
    monkeypatch.delenv("RECALL_EMBED_ENGINE")
    monkeypatch.setattr("os.nice", lambda by: 0)
    talk(rekal, "one", "the retry queue lives in postgres, for it survives a restart")
    talk(rekal, "two", "paint the shed green — the one beside the dönerbude")
    assert rekal("_worker").code == 0
    made = Real(rekal)
    try:
        assert made.ready() == f"ready at {place}\n"
        yield made
    finally:
        made.end()


def test_the_daemon_prints_the_same_bytes(real: Real, place: Path) -> None:
    code, out, _ = real.both("recall", "the retry queue lives in postgres, for it survives a restart")
    assert (code, b"semantic: on" in out, b"retry queue" in out) == (0, True, True)
    assert b"shed" in real.both("recall", "--json", "--explain", "paint the shed green beside the dönerbude")[1]
    assert real.both("bare question about giraffes")[0] == 1
    assert real.both("recall", "--since", "yesterday-ish", "queue")[0] == 2
    assert real.both("recall", "--no-such-option")[0] == 2
    below = real.rekal.root / "deep" / "er"
    below.mkdir(parents=True)
    assert real.both("recall", "-n", "1", "retry queue", cwd=below)[0] in (0, 1)
    assert real.both("recall", "queue", cwd=place.parent)[0] == 4
    # An index renamed into place counts at once.
    talk(real.rekal, "three", "giraffes wear scarves in winter")
    assert real.rekal("_worker").code == 0
    assert b"giraffes wear scarves" in real.both("recall", "giraffes wear scarves in winter")[1]
    # Another one gives way to the daemon that answers, and the switch is respected.
    again = real.run(["-m", "rekal", "daemon"], (), None)
    assert again[:2] == (0, b"a daemon runs already\n")
    assert real.run(["-c", CLIENT], ("recall", "queue"), None, RECALL_DAEMON="off")[0] == 99
    assert real.run(["-m", "rekal", "daemon", "--stop"], (), None)[:2] == (0, b"stopped\n")
    assert real.process.wait(LONG) == 0
    assert real.run(["-m", "rekal", "daemon", "--status"], (), None)[0] == 1
    assert not place.exists()


def test_a_recall_starts_it_once_there_are_vectors(rekal: Rekal, place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    started: list[object] = []
    monkeypatch.setattr("rekal.daemon.spawn.start_daemon", started.append)
    monkeypatch.setattr("rekal.embed.open.open_chosen", lambda chosen, api_key=None: FakeEmbedder(384))
    monkeypatch.setenv("RECALL_EMBED_ENGINE", "auto")
    monkeypatch.setenv("RECALL_DAEMON", "auto")
    talk(rekal, "one", "the retry queue lives in postgres")
    rekal("checkpoint", "--all")
    rekal("recall", "queue")
    assert started == []
    rekal("embed")
    rekal("recall", "queue")
    assert len(started) == 1
    monkeypatch.setenv("RECALL_DAEMON", "off")
    rekal("recall", "queue")
    assert len(started) == 1


def test_an_index_that_is_gone_is_let_go(rekal: Rekal) -> None:
    rekal("index")
    kept = Kept()
    first = kept.index(rekal.layout.index)
    assert kept.index(rekal.layout.index) is first
    rekal("index", "--full")
    kept.drop_stale()
    second = kept.index(rekal.layout.index)
    assert second is not first
    kept.close()


def test_vectors_added_meanwhile_are_seen(rekal: Rekal) -> None:
    import numpy as np

    rekal("index")
    kept = Kept()
    append_vectors(rekal.layout.index.parent, "fake:4", np.array([1], np.uint64), np.eye(1, 4, dtype=np.float32))
    [path] = rekal.layout.index.parent.glob("*.vec")
    first = kept.dense(rekal.layout.index, path)
    assert kept.dense(rekal.layout.index, path) is first
    append_vectors(rekal.layout.index.parent, "fake:4", np.array([2], np.uint64), np.eye(1, 4, dtype=np.float32))
    assert kept.dense(rekal.layout.index, path) is not first
    kept.close()


@pytest.mark.parametrize("words", [["status"], ["query", "SELECT 1"], ["forget", "--yes", "x"], ["_worker"]])
def test_it_runs_nothing_but_recalls(rekal: Rekal, words: list[str]) -> None:
    from rekal.cli.served import serve_request

    request = RecallRequest(words, str(rekal.root), dict(os.environ), (False, False))
    assert serve_request(request) is None


def test_neither_programs_nor_settings_of_git_are_the_clients_choice(rekal: Rekal, tmp_path: Path) -> None:
    from rekal.cli.served import serve_request

    talk(rekal, "one", "the retry queue lives in postgres")
    assert rekal("_worker").code == 0
    evil = tmp_path / "git"
    evil.write_text(f"#!/bin/sh\ntouch {tmp_path}/ran\n", encoding="utf-8")
    evil.chmod(0o755)
    words, here = ["recall", "why is the retry queue in postgres"], str(rekal.root)
    plain = dict(os.environ)
    with_path = RecallRequest(words, here, {**plain, "PATH": str(tmp_path), "GIT_DIR": "/nowhere"}, (False, False))
    served = serve_request(with_path)
    assert served is not None
    assert b"retry queue" in served.out
    assert not (tmp_path / "ran").exists()
    for name in ("HOME", "GIT_CONFIG_GLOBAL"):
        changed = RecallRequest(words, here, {**plain, name: str(tmp_path)}, (False, False))
        assert serve_request(changed) is None


def test_a_stopped_daemon_costs_little_is_named_and_can_be_ended(real: Real) -> None:
    real.process.send_signal(signal.SIGSTOP)
    started = time.monotonic()
    assert real.run(["-c", CLIENT.replace(f"{LONG}, {LONG}", "")], ("recall", "queue"), None)[0] == 99
    hung = client.find_hung_daemon()
    assert hung == real.process.pid
    assert time.monotonic() - started < LONG
    assert f"process {hung}) does not answer" in real.rekal("status").out
    assert real.run(["-m", "rekal", "daemon", "--status"], (), None)[0] == 1
    code, out, _ = real.run(["-m", "rekal", "daemon", "--stop"], (), None)
    assert (code, b"which did not answer" in out) == (0, True)
    assert real.process.wait(LONG) == -signal.SIGKILL


def test_a_stopped_worker_is_named_by_status(rekal: Rekal) -> None:
    code = "import sys, time; from pathlib import Path; from rekal.store.locks import hold_lock\n"
    code += "with hold_lock(Path(sys.argv[1]), wait=0, purpose='indexing'): print('held', flush=True); time.sleep(600)"
    child = subprocess.Popen(
        [sys.executable, "-c", code, str(rekal.layout.index_lock)], stdout=subprocess.PIPE, text=True
    )
    try:
        assert child.stdout is not None
        assert child.stdout.readline() == "held\n"
        assert "is stopped" not in rekal("status").out
        child.send_signal(signal.SIGSTOP)
        os.waitid(os.P_PID, child.pid, os.WSTOPPED | os.WNOWAIT)
        if Path("/proc").is_dir():
            assert f"process {child.pid} (indexing) is stopped" in rekal("status").out
    finally:
        child.kill()
        child.wait(LONG)
        assert child.stdout is not None
        child.stdout.close()
