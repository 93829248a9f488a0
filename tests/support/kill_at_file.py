"""Run a verb of ``rekal`` whose back-fill reads in four processes, as ``kill_at_file.py WHO N VERB…``.

The child that comes to the N-th of the files kills ``itself``, its ``parent`` or ``nobody``. The last line of stderr
is how many processes were started and how many of them killed.
"""

from __future__ import annotations

import os
import signal
import sys
from typing import Any

from rekal.capture import parallel, read_sources
from rekal.cli.main import run_command_line

_WHO, _KILL_AT, _PARENT = sys.argv[1], int(sys.argv[2]), os.getpid()
_started = _killed = 0
_fork, _waitpid, _read = os.fork, os.waitpid, read_sources.read_source


def _counted_fork() -> int:
    global _started
    _started += 1
    return _fork()


def _counted_end(pid: int, options: int) -> tuple[int, int]:
    global _killed
    ended = _waitpid(pid, options)
    _killed += os.WIFSIGNALED(ended[1])
    return ended


def _read_or_kill(job: Any, adapter: Any, source: Any, state: Any) -> read_sources.SourceReading:
    if os.getpid() != _PARENT and _WHO != "nobody":
        files = [one.key for _, one in read_sources.find_changed_sources(job, {}) if one.key == str(one.path)]
        if files.index(source.key) == _KILL_AT:
            os.kill(_PARENT if _WHO == "parent" else os.getpid(), signal.SIGKILL)
    return _read(job, adapter, source, state)


def main() -> int:
    """Run the verb in ``argv``."""
    for room, name, value in (
        (parallel, "LEAST", 0),
        (parallel, "_processors", lambda: 4),
        (read_sources, "BATCH_BYTES", 2000),
        (read_sources, "read_source", _read_or_kill),
        (os, "fork", _counted_fork),
        (os, "waitpid", _counted_end),
    ):
        setattr(room, name, value)
    code = run_command_line(sys.argv[3:])
    sys.stderr.write(f"{_started} {_killed}\n")
    return code


if __name__ == "__main__":
    sys.exit(main())
