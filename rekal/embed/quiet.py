"""Keep C code from writing over the user's terminal."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def silenced_stderr() -> Iterator[None]:
    """File descriptor 2 points to nowhere within the block: llama.cpp warns there whatever its verbosity."""
    sys.stderr.flush()
    try:
        saved = os.dup(2)
    except OSError:  # a process started without a standard error has nothing to silence
        yield
        return
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        yield
    finally:
        os.dup2(saved, 2)
        os.close(saved)
        os.close(nowhere)
