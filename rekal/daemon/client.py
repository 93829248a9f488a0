"""The thin side of the daemon: a recall is handed over before anything heavy is imported.

This runs before every recall, so it imports next to nothing (``socket``, ``json`` and ``collections`` would double the
time of a recall's start), and a daemon that is dead, hung, busy or of another version costs less than anybody notices.
Then nothing has been printed and the command runs in this process.

The conversation, on a Unix socket: the daemon speaks first, ``rekal VERSION`` and a line feed. The client sends four
frames: directory, arguments, environment (``NAME=value``), and whether output and errors go to a terminal (``0`` or
``1`` each). The daemon answers with three: the exit code (empty: it declines), what goes to output, and what to errors.
A frame is its length in four bytes, big-endian, and its bytes; lists in it are separated by NUL.
"""

from __future__ import annotations

import _socket
import os
import stat
import struct
import sys
import time
import zlib

from rekal import __version__

TYPE_CHECKING = False  # `typing` would cost more than all of this file
if TYPE_CHECKING:
    from collections.abc import Container

GREETING = f"rekal {__version__}\n".encode()
STOP = b"stop"  # instead of a directory, which begins with a slash
PATIENCE = 0.05  # seconds until the greeting: longer, and the command runs here
ANSWER_PATIENCE = 1.5  # seconds until the whole answer, many times what a warm recall takes
_LONGEST_FRAME = 64 << 20
_LONGEST_ADDRESS = 100  # bytes; systems stop at 104 or 108

# What rekal, git and the libraries below them read; secrets of other programs stay where they are.
_NAMES = frozenset(
    [
        "HOME",
        "USER",
        "LOGNAME",
        "LNAME",
        "USERNAME",
        "LANG",
        "LANGUAGE",
        "TZ",
        "TMPDIR",
        "NO_COLOR",
        "COLUMNS",
        "TERM",
    ]
)
# The daemon compares those of git with its own, and takes none of them over.
_OUR_PREFIXES = ("REKAL_", "RECALL_", "XDG_", "LC_", "GIT_")
# Those of every agent's folder, written down again: to look them up costs more than the rest of a recall's start.
AGENT_PREFIXES = ("CLAUDE", "CODEX_", "COPILOT_", "CURSOR_", "GEMINI_", "KIRO_", "OPENCODE")
PREFIXES = _OUR_PREFIXES + AGENT_PREFIXES


def socket_address() -> str:
    """Return the path at which the daemon of this user, this installation and this version listens."""
    which = zlib.crc32(f"{sys.prefix}\0{sys.hexversion}\0{__file__}\0{__version__}".encode("utf-8", "replace"))
    runtime = os.environ.get("XDG_RUNTIME_DIR", "")
    found = os.path.join(runtime, "rekal", f"{which:08x}.sock")  # noqa: PTH118 - pathlib costs more than the rest
    if runtime.startswith("/") and len(found.encode("utf-8", "replace")) <= _LONGEST_ADDRESS:
        return found
    return f"/tmp/rekal-{os.getuid()}/{which:08x}.sock"


def is_supported() -> bool:
    """Return True if this system has Unix sockets and users. Windows has not."""
    return hasattr(_socket, "AF_UNIX") and hasattr(os, "getuid")


def is_private(directory: str) -> bool:
    """Return True if nobody else can put a socket there."""
    try:
        found = os.lstat(directory)
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid() and not found.st_mode & 0o077


def read_peer_uid(link: _socket.socket) -> int:
    """Return the user at the other end, as the kernel says."""
    if hasattr(_socket, "SO_PEERCRED"):
        return int(struct.unpack("3i", link.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12))[1])
    return int(struct.unpack_from("II", link.getsockopt(0, getattr(_socket, "LOCAL_PEERCRED", 1), 76))[1])


def send_frames(link: _socket.socket, *frames: bytes) -> None:
    """Send frames."""
    link.sendall(b"".join(struct.pack(">I", len(frame)) + frame for frame in frames))


def receive_frame(link: _socket.socket) -> bytes:
    """Receive one frame. ConnectionError when the other end stops in the middle of it."""
    size = struct.unpack(">I", _exactly(link, 4))[0]
    if size > _LONGEST_FRAME:
        raise ConnectionError("a frame is too long")
    return _exactly(link, size)


def _exactly(link: _socket.socket, size: int) -> bytes:
    parts = []
    while size:
        part = link.recv(min(size, 1 << 20))
        if not part:
            raise ConnectionError("the connection ended early")
        parts.append(part)
        size -= len(part)
    return b"".join(parts)


def find_hung_daemon() -> int | None:
    """Return the process that listens but does not greet; None when there is none, or the system does not tell."""
    place = socket_address()
    if not is_private(os.path.dirname(place)):  # noqa: PTH120
        return None
    pid = 0
    link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        link.settimeout(1.0)
        link.connect(place)
        # The kernel knows who listens even when that process does nothing any more.
        pid = read_peer_pid(link) if read_peer_uid(link) == os.getuid() else 0
        return pid if pid and not link.recv(1) else None
    except TimeoutError:
        return pid or None
    except OSError:
        return None
    finally:
        link.close()


def read_peer_pid(link: _socket.socket) -> int:
    """Return the process at the other end; 0 where the kernel does not say."""
    if hasattr(_socket, "SO_PEERCRED"):
        return int(struct.unpack("3i", link.getsockopt(_socket.SOL_SOCKET, _socket.SO_PEERCRED, 12))[0])
    try:
        return int(struct.unpack("i", link.getsockopt(0, getattr(_socket, "LOCAL_PEERPID", 2), 4))[0])
    except OSError:
        return 0


def connect_daemon(patience: float = PATIENCE) -> _socket.socket | None:
    """Connect to a daemon of ours that greets; None when there is none in time."""
    place = socket_address()
    if not is_private(os.path.dirname(place)):  # noqa: PTH120
        return None
    end = time.monotonic() + patience
    link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        link.settimeout(patience)
        link.connect(place)
        link.settimeout(max(0.001, end - time.monotonic()))
        if read_peer_uid(link) == os.getuid() and link.recv(len(GREETING), _socket.MSG_WAITALL) == GREETING:
            return link
    except OSError:
        pass
    link.close()
    return None


def is_reachable() -> bool:
    """Return True if a daemon greets in time."""
    link = connect_daemon()
    if link is not None:
        link.close()
    return link is not None


def is_started_worker() -> bool:
    """Return True in a worker that a hook or a command of ours started: in the directory with the locks."""
    return sys.argv[-1:] == ["_worker"] and "REKAL_INTERNAL" in os.environ and os.path.isdir("spool")  # noqa: PTH112


def hand_over_recall(
    verbs: Container[str], patience: float = PATIENCE, answer_patience: float = ANSWER_PATIENCE
) -> int | None:
    """Have the daemon run the command of this process; its exit code, or None when it is still to be run here.

    A first word that is not among ``verbs`` starts a question.
    """
    words = sys.argv[1:]
    if not is_supported() or not is_recall(words, verbs):
        return None
    link = connect_daemon(patience)
    if link is None:
        return None
    try:
        end = time.monotonic() + answer_patience
        link.settimeout(answer_patience)
        send_frames(link, *_request(words))
        parts = []
        for _ in range(3):
            # One limit for all of it: a daemon that is stopped in the middle would cost one for each frame.
            link.settimeout(max(0.001, end - time.monotonic()))
            parts.append(receive_frame(link))
        code, out, err = parts
    except OSError:
        return None
    finally:
        link.close()
    return _printed(int(code), out, err) if code else None


def is_recall(words: list[str], verbs: Container[str]) -> bool:
    """Return True if a command line is a question for the daemon: ``recall``, or no verb at all."""
    # Help is laid out for the terminal at hand.
    return bool(words) and (words[0] == "recall" or _is_question(words[0], verbs)) and not {"-h", "--help"} & set(words)


def _is_question(word: str, verbs: Container[str]) -> bool:
    return word not in verbs and not word.startswith("-")


def _request(words: list[str]) -> list[bytes]:
    environment = [f"{k}={v}" for k, v in os.environ.items() if k in _NAMES or k.startswith(PREFIXES)]
    if sys.stdout is not None and sys.stdout.isatty() and "COLUMNS" not in os.environ:
        # The daemon cuts lines to fit, and cannot ask our terminal.
        environment.append(f"COLUMNS={os.get_terminal_size(sys.stdout.fileno()).columns}")
    terminals = "".join(str(int(stream is not None and stream.isatty())) for stream in (sys.stdout, sys.stderr))
    return [os.fsencode(one) for one in (os.getcwd(), "\0".join(words), "\0".join(environment), terminals)]  # noqa: PTH109


def _printed(code: int, out: bytes, err: bytes) -> int:
    try:
        for stream, data in ((sys.stdout, out), (sys.stderr, err)):
            stream.buffer.write(data)
            stream.flush()
    except BrokenPipeError:  # the reader left, as in `rekal recall … | head`
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    return code
