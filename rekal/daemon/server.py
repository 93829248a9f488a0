"""The daemon: keeps a model and indexes open, and runs recalls for clients that ask over a private socket.

It runs the very command that the client would have run, so what it prints is the same to the byte. It holds no database
that anybody writes: an index is only ever replaced, and each request looks whether it was. One request at a time: a
client that is not greeted at once runs its command itself, which costs less than a queue.
"""

from __future__ import annotations

import contextlib
import os
import socket
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec

from rekal.app.resources import Kept
from rekal.daemon.client import GREETING, STOP, read_peer_uid, receive_frame, send_frames

IDLE = 15 * 60.0  # seconds without a request, then it goes
_TICK = 20.0
_PATIENCE = 1.0  # with a client that connects and says nothing


_LOOK_AGAIN = 1.0  # seconds; to look at 300 files takes some milliseconds
_PACKAGE = Path(__file__).parents[1]


def _fingerprint_code(package: Path) -> int:
    """Return a number that changes with any file of the program: a checkout of another state keeps the version."""
    found = []
    for path in sorted(package.rglob("*.py")):
        with contextlib.suppress(OSError):  # it is being replaced
            state = path.stat()
            found.append((str(path), state.st_size, state.st_mtime_ns))
    return hash(tuple(found))


class RecallRequest(msgspec.Struct, frozen=True):
    """All that makes a process: arguments, directory, environment, and whether its output and errors are a terminal."""

    args: list[str]
    cwd: str
    env: Mapping[str, str]
    terminals: tuple[bool, bool]


def decode_request(frames: Sequence[bytes]) -> RecallRequest:
    """The request that a client's four frames are (:mod:`rekal.daemon.client`)."""
    cwd, words, environment, terminals = (os.fsdecode(frame) for frame in frames)
    pairs = (entry.partition("=") for entry in environment.split("\0") if entry)
    return RecallRequest(
        words.split("\0"), cwd, {k: v for k, _, v in pairs}, (terminals[:1] == "1", terminals[1:] == "1")
    )


class Served(msgspec.Struct, frozen=True):
    """The result of one command: exit code and both outputs."""

    code: int
    out: bytes
    err: bytes


Run = Callable[[RecallRequest], Served | None]


class Daemon:
    """Serves one socket until it is idle for too long, told to stop, or another daemon has taken its place."""

    def __init__(
        self,
        path: Path,
        run: Run,
        *,
        idle: float = IDLE,
        clock: Callable[[], float] = time.monotonic,
        code: Callable[[], int] = lambda: _fingerprint_code(_PACKAGE),
    ) -> None:
        """Listen at ``path``; its directory exists and is private. ``code`` tells the program's present code."""
        self._path, self._run, self._idle, self._clock = path, run, idle, clock
        self._code, self._loaded = code, code()
        self._listening = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        # Renamed into place: no moment without a socket, and a dead daemon's is replaced.
        taking = path.with_suffix(f".{os.getpid()}")
        taking.unlink(missing_ok=True)
        self._listening.bind(str(taking))
        taking.chmod(0o600)
        self._listening.listen(8)
        self._number = taking.stat().st_ino
        taking.replace(path)
        self._last = self._compared = clock()

    def serve(self, kept: Kept | None = None) -> None:
        """Answer until the end; between requests let go of indexes of ``kept`` that were replaced."""
        try:
            while self._wanted():
                self._next()
                if kept is not None:
                    kept.drop_stale()
        finally:
            self.close()

    def close(self) -> None:
        """Stop listening, and take the socket away unless it is another daemon's by now."""
        if self._in_place():
            self._path.unlink(missing_ok=True)
        self._listening.close()
        self._number = -1

    def _wanted(self) -> bool:
        return self._clock() - self._last < self._idle and self._in_place()

    def _in_place(self) -> bool:
        return self._path.exists() and self._path.stat().st_ino == self._number

    def _next(self) -> None:
        self._listening.settimeout(max(0.01, min(_TICK, self._idle)))
        try:
            link, _ = self._listening.accept()
        except TimeoutError:
            return
        with link:
            try:
                self._answer(link)
            except OSError:
                return  # the client left

    def _is_outdated(self) -> bool:
        """True once the program's files are not those that this process has loaded, looked at once a second."""
        if self._clock() - self._compared < _LOOK_AGAIN:
            return False
        self._compared = self._clock()
        return self._code() != self._loaded

    def _answer(self, link: socket.socket) -> None:
        if read_peer_uid(link) != os.getuid():
            return
        if self._is_outdated():  # a client that is not greeted runs its command itself, with the code of now
            self._idle = 0.0
            return
        link.settimeout(_PATIENCE)
        link.sendall(GREETING)
        first = receive_frame(link)
        self._last = self._clock()
        if first == STOP:
            self._idle = 0.0
            send_frames(link, b"")
            return
        served = self._run(decode_request([first, *(receive_frame(link) for _ in range(3))]))
        answer = (b"", b"", b"") if served is None else (str(served.code).encode(), served.out, served.err)
        send_frames(link, *answer)
