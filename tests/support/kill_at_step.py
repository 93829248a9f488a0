"""Run a verb of ``rekal`` that kills itself at its n-th step, as ``kill_at_step.py N VERB…``.

A step is a rename, a removal, an opening of a database or a statement given to one: whatever changes what the next
process finds. The kill is a real SIGKILL, just before the step. With N = 0 nothing is killed and the number of steps
is the last line of stderr.
"""

from __future__ import annotations

import itertools
import os
import signal
import sys
from collections.abc import Callable
from typing import Any

from rekal.capture import read_sources
from rekal.cli.main import run_command_line
from rekal.store.database import duckdb

_steps = itertools.count(1)
_last = 0
_kill_at = int(sys.argv[1])


def _step() -> None:
    global _last
    _last = next(_steps)
    if _last == _kill_at:
        os.kill(os.getpid(), signal.SIGKILL)


def _stepping(function: Callable[..., Any]) -> Callable[..., Any]:
    def stepped(*args: Any, **named: Any) -> Any:
        _step()
        return function(*args, **named)

    return stepped


class _Connection:
    """A database connection whose statements are steps."""

    def __init__(self, con: duckdb.DuckDBPyConnection) -> None:
        self._con = con

    def execute(self, *args: Any, **named: Any) -> Any:
        _step()
        return self._con.execute(*args, **named)

    def close(self) -> None:
        _step()
        self._con.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._con, name)


def main() -> int:
    """Run the verb in ``argv``."""
    connect = _stepping(duckdb.connect)
    setattr(duckdb, "connect", lambda *args, **named: _Connection(connect(*args, **named)))  # noqa: B010
    for name in ("replace", "unlink", "rename"):
        setattr(os, name, _stepping(getattr(os, name)))
    setattr(read_sources, "BATCH_BYTES", 2000)  # noqa: B010 - several transactions, from transcripts of a few lines
    code = run_command_line(sys.argv[2:])
    if not _kill_at:
        sys.stderr.write(f"{_last}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
