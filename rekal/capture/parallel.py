"""A back-fill's sources, read by several processes ahead of the one that writes.

Reading (parse, scrub) is nine tenths of a back-fill, and no source depends on another. So child processes do it, each
given the next source as it hands one over; this process takes what they read in the sources' own order, and the store
is the same however many there are.

The children are forks, which share the job without any of it being sent. They hold no lock and no database, change
nothing, and end when this process does, however it ends. A child that dies costs time only: what it had is read here.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from pathlib import Path
from typing import NoReturn

from rekal.capture.read_sources import SourceReading

Read = Callable[[int], SourceReading]

LEAST = 4 << 20
"""Bytes to read for which starting processes pays."""

LARGEST = 16 << 20
"""A source of more bytes is read by the writing process, so that no two such are in memory at a time."""

MOST = 4
"""Processes at most: a back-fill runs beside its user's own work."""

_IN_HAND = 2  # sources a child has at a time: it reads one while the other waits to be taken
_THREADS = Path("/proc/self/task")
_OPEN_FILES = Path("/proc/self/fd")


def read_in_order(
    read: Read, sizes: Sequence[int | None], prepare: Callable[[], object]
) -> Generator[SourceReading, None, None]:
    """``read(0)``, ``read(1)``… one for each of ``sizes``: bytes to read, or None where only this process may.

    ``prepare`` is called before a process is started, for what all of them are to share.
    """
    shared = {place: size for place, size in enumerate(sizes) if size is not None and size <= LARGEST}
    count = min(MOST, _processors(), len(shared))
    if count < 2 or sum(shared.values()) < LEAST or not _may_fork():
        yield from (read(place) for place in range(len(sizes)))
        return
    prepare()
    children = _Children(read, shared, count)
    try:
        for place in range(len(sizes)):
            reading = children.taken(place)
            yield read(place) if reading is None else reading
    finally:
        children.end()


def _processors() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else 1


def _may_fork() -> bool:
    """True if this process has but one thread: a fork lacks the others and keeps the locks they held.

    Only Linux tells, and on others the system's own libraries may not be forked.
    """
    return _THREADS.is_dir() and sum(1 for _ in _THREADS.iterdir()) == 1


class _Child:
    """One process that reads, and the places it was given and has not handed over."""

    def __init__(self, read: Read) -> None:
        from multiprocessing.connection import Pipe  # 10 ms that other captures do without

        self.pipe, theirs = Pipe()
        self.given: list[int] = []
        self.pid = os.fork()
        if self.pid == 0:
            try:
                _close_all_but(theirs.fileno())
                while True:
                    place = theirs.recv()
                    theirs.send((place, read(place)))
            finally:
                _leave()
        theirs.close()

    def give(self, place: int) -> None:
        """Have it read one more."""
        self.given.append(place)
        try:
            self.pipe.send(place)
        except BrokenPipeError:
            return  # it died, as taking from it will find

    def take(self) -> tuple[int, SourceReading] | None:
        """The next it read and its place, once there is one; None when it died."""
        try:
            place, reading = self.pipe.recv()
        except (EOFError, OSError):
            return None
        self.given.remove(place)
        return place, reading

    def end(self) -> None:
        """Have it end after what it is reading, and wait for that."""
        self.pipe.close()
        os.waitpid(self.pid, 0)


def _close_all_but(kept: int) -> None:
    """Close what was inherited: the writer's lock is free when the writer dies, and every pipe has but one reader."""
    for number in [int(entry.name) for entry in _OPEN_FILES.iterdir()]:
        if number > 2 and number != kept:
            os.closerange(number, number + 1)  # which does not mind that the listing's own is closed by now


def _leave() -> NoReturn:
    """End without the parent's clean-up and in silence: what could not be read here the parent reads, and says."""
    os._exit(0)


def _started(read: Read, count: int) -> Iterator[_Child]:
    """``count`` children, or as many as the system lets us have: this process reads what they do not."""
    for _ in range(count):
        try:
            yield _Child(read)
        except OSError:
            return


class _Children:
    """The processes, the places nobody was given yet, and what was read before its turn."""

    def __init__(self, read: Read, places: Iterable[int], count: int) -> None:
        self._waiting = deque(places)
        self._early: dict[int, SourceReading] = {}
        self._alive = list(_started(read, count))
        for child in self._alive * _IN_HAND:
            self._feed(child)

    def taken(self, place: int) -> SourceReading | None:
        """Take the reading of ``place``, waiting for it; None when no child read it or will."""
        while place not in self._early and any(place in child.given for child in self._alive):
            self._receive()
        if place in self._waiting:
            self._waiting.remove(place)
        return self._early.pop(place, None)

    def _receive(self) -> None:
        from multiprocessing.connection import wait

        ready = wait([child.pipe for child in self._alive])
        for child in [child for child in self._alive if child.pipe in ready]:
            got = child.take()
            if got is None:
                self._alive.remove(child)
                child.end()
            else:
                self._early[got[0]] = got[1]
                self._feed(child)

    def _feed(self, child: _Child) -> None:
        if self._waiting:
            child.give(self._waiting.popleft())

    def end(self) -> None:
        """End them all."""
        for child in self._alive:
            child.end()
