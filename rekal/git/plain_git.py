"""Git as a person runs it, with hooks and the person's own settings: for a scratch clone, and never for a real one."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from rekal.errors import GitError
from rekal.git.run import decode_bytes, name_command


def run_plain_git(args: Sequence[str], cwd: Path, env: Mapping[str, str], timeout: float) -> str:
    """Run git with all its hooks, in exactly the environment given; its output.

    Raises :class:`GitError` with git's last line when it refuses, is missing, or takes more than ``timeout`` seconds.
    """
    try:
        done = subprocess.run(
            ["git", *args], cwd=cwd, env=dict(env), stdin=subprocess.DEVNULL, capture_output=True, timeout=timeout,
            check=False,
        )  # fmt: skip
    except FileNotFoundError:
        raise GitError("git was not found on PATH", "install git") from None
    except subprocess.TimeoutExpired:
        raise GitError(f"git {name_command(args)} did not end within {timeout:.0f} s") from None
    if done.returncode != 0:
        lines = decode_bytes(done.stderr).strip().splitlines()
        raise GitError(f"git {name_command(args)} failed: {lines[-1] if lines else f'exit {done.returncode}'}")
    return decode_bytes(done.stdout)
