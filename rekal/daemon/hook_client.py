"""The thin side of ``rekal hook``: a prompt waits for it, so it imports next to nothing and has an end.

The daemon answers, or nobody does: without one a prompt and a tool call get nothing, and one is started for the next.
A session's start is answered by this process when there is no daemon, under the same hard stop.
"""

from __future__ import annotations

import _socket
import _thread
import os
import sys
import time

from rekal.daemon.client import PREFIXES, connect_daemon, is_supported, receive_frame, send_frames

HARD_STOP = 1.5  # seconds, whatever happens
_PATIENCE = {"start": 0.4, "prompt": 1.4, "tool": 0.4}  # seconds for a daemon that has greeted
_LONGEST_INPUT = 1 << 20
_NEEDS_DAEMON = ("prompt", "tool")
_NAMES = ("HOME", "PATH", "USER", "LOGNAME", "LANG", "TZ", "TMPDIR", "USERPROFILE")


def hand_over_hook() -> int | None:
    """Answer ``rekal hook MOMENT`` by the daemon; its exit code, 0, or None when this process is to answer.

    Then ``sys.argv`` has what the host said as ``--input``.
    """
    words = sys.argv[1:]
    if (
        words[:1] != ["hook"]
        or len(words) < 2
        or words[1].startswith("-")
        or any(w.startswith("--input") for w in words)
    ):
        return None
    _thread.start_new_thread(_end_process, ())
    said = _read_input()
    words.append(f"--input={said}")
    link = connect_daemon() if is_supported() and words[1] in _PATIENCE else None
    if link is not None:
        return _answered(link, words)
    if words[1] in _NEEDS_DAEMON:
        words[1] = "wake"  # start a daemon for the next prompt, in a process that nobody waits for
        if is_supported() and "off" not in (os.environ.get("REKAL_DAEMON"), os.environ.get("RECALL_DAEMON")):
            _start_detached([sys.executable, "-m", "rekal", *words])
        return 0
    sys.argv[1:] = words
    return None


def _end_process() -> None:
    time.sleep(HARD_STOP)
    os._exit(0)


def _read_input() -> str:
    if sys.stdin is None or sys.stdin.isatty():
        return ""
    parts, size = [], 0
    while size < _LONGEST_INPUT and (part := os.read(0, 1 << 16)):
        parts.append(part)
        size += len(part)
    return b"".join(parts).replace(b"\0", b"").decode("utf-8", "replace")


def _answered(link: _socket.socket, words: list[str]) -> int:
    end = time.monotonic() + _PATIENCE[words[1]]
    environment = [f"{k}={v}" for k, v in os.environ.items() if k in _NAMES or k.startswith(PREFIXES)]
    try:
        link.settimeout(_PATIENCE[words[1]])
        frames = (os.getcwd(), "\0".join(words), "\0".join(environment), "00")  # noqa: PTH109 - pathlib costs more
        send_frames(link, *(os.fsencode(frame) for frame in frames))
        parts = []
        for _ in range(3):
            link.settimeout(max(0.001, end - time.monotonic()))
            parts.append(receive_frame(link))
        if parts[0] == b"0":
            os.write(1, parts[1])
    except OSError:
        pass  # hung, gone, or the host has closed its end: nothing is what it gets
    finally:
        link.close()
    return 0


def _start_detached(words: list[str]) -> None:
    nothing = os.open(os.devnull, os.O_RDWR)
    actions = [(os.POSIX_SPAWN_DUP2, nothing, number) for number in (0, 1, 2)]
    try:
        os.posix_spawn(words[0], words, dict(os.environ), file_actions=actions, setsid=True)
    except (OSError, NotImplementedError):
        return
