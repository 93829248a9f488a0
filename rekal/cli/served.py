"""One command of a client, run in the daemon as if it were the client's own process."""

from __future__ import annotations

import io
import os
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from pathlib import Path

from rekal.app import resources
from rekal.app.context import find_app
from rekal.app.resources import Declined, Kept
from rekal.cli.main import run_command_line
from rekal.cli.verb_table import VERBS
from rekal.daemon.client import is_recall
from rekal.daemon.server import IDLE, Daemon, RecallRequest, Served
from rekal.errors import RekalError
from rekal.git.run import KEPT_OF_GIT


class _Stream(io.TextIOWrapper):
    """Collects what is printed, and says of itself what the client's stream would."""

    def __init__(self, terminal: bool) -> None:
        self.data = io.BytesIO()
        self._terminal = terminal
        super().__init__(self.data, encoding="utf-8", errors="replace", write_through=True)

    def isatty(self) -> bool:
        return self._terminal


def serve_request(request: RecallRequest) -> Served | None:
    """Run a recall, or answer a host's hook. None when it is the client's to run, nothing having happened yet.

    Whoever reaches the socket may be a sandboxed agent: nothing but questions is answered, and neither the programs
    that run nor the settings of git are the client's choice.
    """
    if not (is_recall(request.args, VERBS) or request.args[:1] == ["hook"]) or _steers_git(request.env):
        return None
    out, err = (_Stream(terminal) for terminal in request.terminals)
    try:
        with _as_if(request), redirect_stdout(out), redirect_stderr(err):
            code = run_command_line(request.args)
    except (Declined, OSError):
        return None
    return Served(code, out.data.getvalue(), err.data.getvalue())


# Git runs programs that its settings name: these decide which settings it reads.
_SETTINGS_OF_GIT = ("HOME", "XDG_CONFIG_HOME", *sorted(KEPT_OF_GIT))


def _steers_git(wanted: Mapping[str, str]) -> bool:
    """True if the client would have git read other settings than the daemon's own."""
    return any(wanted.get(name) != os.environ.get(name) for name in _SETTINGS_OF_GIT)


def _is_own_variable(name: str) -> bool:
    return name in ("PATH", "LD_PRELOAD", "LD_LIBRARY_PATH") or name.startswith(("GIT_", "PYTHON", "DYLD_"))


@contextmanager
def _as_if(request: RecallRequest) -> Iterator[None]:
    """In the client's directory and environment, but for what decides which programs run. OSError without the first."""
    before = dict(os.environ)
    os.chdir(request.cwd)
    try:
        own = {name: value for name, value in before.items() if _is_own_variable(name)}
        _set_environment({**{k: v for k, v in request.env.items() if not _is_own_variable(k)}, **own})
        yield
    finally:
        _set_environment(before)
        os.chdir("/")


def _set_environment(wanted: Mapping[str, str]) -> None:
    for name in set(os.environ) - set(wanted):
        del os.environ[name]
    os.environ.update(wanted)
    time.tzset()  # else the client's dates would be read in the zone the daemon was started in


def _warm_up(kept: Kept) -> None:
    """Open what a recall in the current directory will want, so that not even the first one waits for it."""
    try:
        app = find_app()
        reader = kept.index(app.layout.index)
        found = resources.find_semantic(app, kept)
        if found.meaning is not None:
            found.meaning.near("warm up")
        reader.postings(["warm"])
        app.scrubber.text("warm up")
    except RekalError:
        return  # the command that meets it says so
    finally:
        os.chdir(Path("/"))


def run_daemon(path: Path, ready: Callable[[], None], idle: float = IDLE) -> None:
    """Be the daemon at ``path``, for the repository around the current directory first of all.

    ``ready`` is called when it can be reached.
    """
    with resources.kept_between_commands() as kept:
        _warm_up(kept)
        daemon = Daemon(path, serve_request, idle=idle)
        ready()
        daemon.serve(kept)
