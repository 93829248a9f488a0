"""The position of a ledger without memories, noted beside it: a recall that finds the note need not open the ledger.

To open it costs 30 ms, and in most stores there is nothing in it that the index has not. The note says in which state
of the file it was true, so whatever writes the ledger makes it void.
"""

from __future__ import annotations

import contextlib
import time

import msgspec

from rekal.files import write_atomically
from rekal.store.layout import CHECKED_LEDGER, Layout

# A clock of files may stand still for some milliseconds: a file that was just written may be written again unseen.
_SETTLED = 2.0  # seconds


class LedgerMark(msgspec.Struct, frozen=True):
    """The note of one store."""

    layout: Layout

    def read(self) -> int | None:
        """Return the position of a ledger that holds no memory; None where the ledger must be opened to know."""
        try:
            words = (self.layout.run / CHECKED_LEDGER).read_text("ascii").split()
        except (OSError, ValueError):
            return None
        files = self.list_files()
        return int(words[0]) if files and words[1:] == files and words[0].isdigit() else None

    def write(self, position: int, files: list[str]) -> None:
        """Note the position of a ledger that held no memory when :meth:`list_files` gave ``files``."""
        newest = max((int(word) for word in files[1::3]), default=0)
        if time.time_ns() - newest < _SETTLED * 1e9 or files != self.list_files():
            return
        with contextlib.suppress(OSError):  # a store that cannot be written is recalled from, too
            write_atomically(self.layout.run / CHECKED_LEDGER, " ".join((str(position), *files)).encode())

    def list_files(self) -> list[str]:
        """Return words that change whenever the ledger or its log does; none where there is no ledger."""
        words: list[str] = []
        for path in (self.layout.data, self.layout.data.with_name(f"{self.layout.data.name}.wal")):
            with contextlib.suppress(OSError):
                found = path.stat()
                words += [str(found.st_ino), str(found.st_mtime_ns), str(found.st_size)]
        return words
