"""Progress of what takes longer than a second: one line on stderr, and only on a terminal."""

from __future__ import annotations

import os
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

from rekal.plain_text import clean_line

_FIRST = 1.0  # seconds in which most work is done, and nothing is shown
_EVERY = 0.2
_WIDTH = 60


class Work:
    """Something under way. ``label`` says what, and may change while it goes on."""

    def __init__(self, label: str, shown: bool) -> None:
        self.label = label
        self._counted = ""
        self._shown = shown
        self._started = self._last = time.monotonic()

    def count(self, done: int, total: int) -> None:
        """Say how much of it is done; this shows it, too, where no thread does."""
        self._counted = f" {done:,} of {total:,}" if total else ""
        now = time.monotonic()
        if self._shown and now - self._started >= _FIRST and now - self._last >= _EVERY:
            self._last = now
            self.show()

    def show(self) -> None:
        """Write the line over the one before."""
        line = clean_line(f"{self.label}{self._counted} … {time.monotonic() - self._started:.0f} s")
        sys.stderr.write(f"\r{line[:_WIDTH]:{_WIDTH}}")
        sys.stderr.flush()

    def clear(self) -> None:
        """Take the line away."""
        if self._shown and time.monotonic() - self._started >= _FIRST:
            sys.stderr.write(f"\r{'':{_WIDTH}}\r")
            sys.stderr.flush()


@contextmanager
def show_work(label: str, *, thread: bool = True) -> Iterator[Work]:
    """Show what goes on in the block once it has taken a second; nothing where stderr is no terminal.

    Without ``thread`` it is shown when it is counted: a process with two threads may not fork, as captures do.
    """
    shown = sys.stderr.isatty() and os.environ.get("TERM") != "dumb"
    work = Work(label, shown)
    ended = threading.Event()
    shower = threading.Thread(target=_show, args=(work, ended), daemon=True) if shown and thread else None
    if shower:
        shower.start()
    try:
        yield work
    finally:
        ended.set()
        if shower:
            shower.join()
        work.clear()


def _show(work: Work, ended: threading.Event) -> None:
    # A thread, since much of the work is one long call into git or the database.
    pause = _FIRST
    while not ended.wait(pause):
        work.show()
        pause = _EVERY
