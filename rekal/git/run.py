"""The one function that starts git, and the bytes that go in and come out.

Every call has a clean environment, a timeout and no prompt; paths are decoded with ``surrogateescape`` so that any file
name survives the round trip.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from pathlib import Path

from rekal.errors import GitError

TIMEOUT = 20.0

# What git exports to hooks, `git rev-parse --local-env-vars` and the identity of the commit being made: with them set
# a child git works on the wrong repository or index, or signs with the author of a cherry-picked commit.
KEPT_OF_GIT = {
    "GIT_SSH", "GIT_SSH_COMMAND", "GIT_CONFIG_GLOBAL", "GIT_CONFIG_SYSTEM", "GIT_CONFIG_NOSYSTEM", "GIT_ASKPASS",
}  # fmt: skip


def absolute_entries(path: str) -> str:
    """Return ``PATH`` without its relative and empty entries: they name whatever the work tree holds."""
    return os.pathsep.join(entry for entry in path.split(os.pathsep) if Path(entry).is_absolute())


# Settings of the user, the machine or the repository that would change what git prints or make it run something: a
# pager, a file system monitor, the hooks of ref changes, an external diff. A clone brings none of them, since git never
# takes its configuration from a checkout; of what a checkout does bring, .gitattributes only chooses among drivers that
# the configuration defines, and those are off by _NO_DRIVERS.
_SETTINGS = (
    "color.ui=false", "core.attributesFile=", "core.fsmonitor=false", "core.hooksPath=/dev/null", "core.pager=cat",
    "core.quotePath=false", "diff.algorithm=default", "diff.context=3", "diff.ignoreSubmodules=none",
    "diff.indentHeuristic=true", "diff.interHunkContext=0", "diff.mnemonicPrefix=false", "diff.noprefix=false",
    "diff.orderFile=/dev/null", "diff.relative=false", "diff.renames=true", "diff.submodule=short",
    "diff.suppressBlankEmpty=false", "gc.auto=0", "i18n.commitEncoding=UTF-8", "i18n.logOutputEncoding=UTF-8",
    "log.decorate=false", "log.follow=false", "log.mailmap=false", "log.showRoot=true", "log.showSignature=false",
    "maintenance.auto=false",
)  # fmt: skip
_NEUTRAL = tuple(part for setting in _SETTINGS for part in ("-c", setting))
_NO_DRIVERS = {
    "blame": ("--no-textconv",), "diff": ("--no-ext-diff", "--no-textconv"),
    "diff-tree": ("--no-ext-diff", "--no-textconv"), "log": ("--no-ext-diff", "--no-textconv"),
}  # fmt: skip
_ASKS_SETTINGS = {"config", "rev-parse", "var"}  # they answer with the settings, so they get the real ones
_NETWORK = {"fetch", "ls-remote", "push", "remote"}
# Git from 2.45 on takes the first for "do not fetch what a partial clone lacks"; older ones fail to, by the second.
_OFFLINE = {"GIT_NO_LAZY_FETCH": "1", "GIT_ALLOW_PROTOCOL": "none"}

_deadline: ContextVar[float | None] = ContextVar("_deadline", default=None)


@contextlib.contextmanager
def limit_time(seconds: float) -> Iterator[None]:
    """Let no git process that is started inside run past ``seconds`` from now, whatever limit its caller gives."""
    token = _deadline.set(time.monotonic() + seconds)
    try:
        yield
    finally:
        _deadline.reset(token)


def share_of_time(part: float, most: float) -> float:
    """Return ``most`` seconds, or ``part`` of what is left of the limit around this, whichever is less."""
    until = _deadline.get()
    return most if until is None else min(most, max(0.05, part * (until - time.monotonic())))


def clean_environment() -> dict[str, str]:
    """Return the process's environment without what would point a child git elsewhere, and with every prompt off."""
    env = {k: v for k, v in os.environ.items() if not k.startswith("GIT_") or k in KEPT_OF_GIT}
    # REKAL_INTERNAL keeps our own hooks from answering to git commands that we run ourselves.
    env.update(GIT_TERMINAL_PROMPT="0", GIT_OPTIONAL_LOCKS="0", REKAL_INTERNAL="1", LC_ALL="C", GCM_INTERACTIVE="never")
    env["PATH"] = absolute_entries(env.get("PATH", os.defpath))
    env["PYTHONSAFEPATH"] = "1"
    return env


def run_bytes(
    args: Sequence[str],
    cwd: Path,
    *,
    stdin: bytes | None = None,
    timeout: float = TIMEOUT,
    env: Mapping[str, str] | None = None,
) -> subprocess.CompletedProcess[bytes]:
    """Run ``git args`` in ``cwd`` and return its output and exit code, whatever that is.

    ``timeout`` is in seconds. Raises :class:`GitError` when git is missing or did not answer in time.
    """
    if (until := _deadline.get()) is not None:
        timeout = max(0.05, min(timeout, until - time.monotonic()))
    try:
        process = subprocess.Popen(
            ["git", *_neutral_arguments(args)],
            cwd=cwd,
            stdin=subprocess.DEVNULL if stdin is None else subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            env=clean_environment() | ({} if name_command(args) in _NETWORK else _OFFLINE) | dict(env or {}),
            start_new_session=True,  # a group of its own, so that its helpers can be ended with it
        )
    except FileNotFoundError:
        # The same error stands for a missing program and for a missing directory.
        if not cwd.is_dir():
            raise GitError(f"{cwd} is not a directory any more") from None
        raise GitError("git was not found on PATH", "install git") from None
    with process:
        try:
            out, err = process.communicate(stdin, timeout=timeout)
        except BaseException as error:  # also Ctrl-C: no git process stays behind
            _kill(process)
            if isinstance(error, subprocess.TimeoutExpired):
                raise GitError(f"git {name_command(args)} did not answer within {timeout:.1f} s") from None
            raise
    return subprocess.CompletedProcess(process.args, process.returncode, out, err)


def name_command(args: Sequence[str]) -> str:
    """Return git's command in ``args``, which may begin with ``-c SETTING``."""
    at = 0
    while at < len(args) - 1 and args[at] == "-c":
        at += 2
    return args[at]


def _neutral_arguments(args: Sequence[str]) -> list[str]:
    command = name_command(args)
    if command in _ASKS_SETTINGS:
        return list(args)
    at = list(args).index(command) + 1
    return [*_NEUTRAL, *args[:at], *_NO_DRIVERS.get(command, ()), *args[at:]]


def _kill(process: subprocess.Popen[bytes]) -> None:
    """End git with the helpers it started (ssh, a credential helper): they would keep our pipes open."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        if sys.platform == "win32":
            process.kill()
        else:
            os.killpg(process.pid, signal.SIGKILL)
    process.communicate()  # collects the exit code and closes the pipes


def decode_bytes(data: bytes) -> str:
    """Decode what git printed."""
    return data.decode("utf-8", "surrogateescape")


def split_at_nul(data: bytes) -> list[str]:
    """Split a NUL-separated list of paths."""
    return [decode_bytes(part) for part in data.split(b"\0") if part]


def split_output(output: str | None) -> list[str]:
    """Lines of git's output. Only a line feed ends one: names may hold every other character that breaks lines."""
    return output.removesuffix("\n").split("\n") if output else []


def join_lines(values: Iterable[str]) -> bytes:
    """Write ``values`` a line each, as git reads names from its standard input."""
    return "".join(f"{value}\n" for value in values).encode("utf-8", "surrogateescape")
