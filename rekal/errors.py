"""Every error a user can see, and what it exits with.

::

    RekalError                 1
    ├── UsageError             2  the call's words are off
    │   └── ConfigError        2  a configuration file is off
    ├── StoreError             4  the store cannot be used
    │   ├── NoRepository       4  not inside a git repository
    │   ├── NotInitialised     4  no .rekal here
    │   ├── StoreBusy          4  another process holds it
    │   ├── StoreDamaged       4  the file does not open
    │   ├── StoreTooNew        4  written by a later version
    │   └── StoreUnwritable    4  read-only directory or full disk
    ├── GitError               4  git refused or timed out
    ├── SourceError            1  one transcript cannot be read
    │   └── SourceBusy         1  it cannot be read just now
    ├── EngineError            1  the embedding engine or its model cannot be used
    └── Refused                5  a safety check forbids it

A message is one sentence: what happened. ``hint`` is the other half: what to do. Nothing else is ever
printed to the user for an error of this tree.
"""

from __future__ import annotations

# A contract with scripts and agents (docs/commands.md): numbers are added, never moved.
FOUND = 0
NOTHING_FOUND = 1
USAGE = 2
# Of `check`: a rule forbids it. Above 2, which shells and click use for a wrong call.
RULED_OUT = 3
STORE_UNUSABLE = 4
REFUSED = 5
CONSULT = 7
# 128 and the number of SIGINT, as shells report it.
INTERRUPTED = 130


class RekalError(Exception):
    """Base of all errors that rekal reports in one sentence."""

    exit_code: int = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint

    def __str__(self) -> str:
        return f"{self.message}; {self.hint}" if self.hint else self.message


class UsageError(RekalError):
    """The command line cannot be understood."""

    exit_code = USAGE


class ConfigError(UsageError):
    """A configuration file has a key or a value that is not known."""


class StoreError(RekalError):
    """The store cannot be used."""

    exit_code = STORE_UNUSABLE


class NoRepository(StoreError):
    """The current directory is not inside a git repository."""


class NotInitialised(StoreError):
    """The repository has no store yet."""


class StoreBusy(StoreError):
    """Another process holds the store and did not let go in time."""


class StoreDamaged(StoreError):
    """A database file does not open."""


class StoreTooNew(StoreError):
    """The store was written by a later version of rekal."""


class StoreUnwritable(StoreError):
    """The store's directory cannot be written: read-only, or the disk is full."""


class GitError(RekalError):
    """git refused, was not found, or did not answer in time."""

    exit_code = STORE_UNUSABLE


class SourceError(RekalError):
    """One transcript cannot be read; the others can. It is tried again when it changes."""


class SourceBusy(SourceError):
    """One transcript cannot be read just now: locked, gone, or refused by the system. It is tried again next time."""


class EngineError(RekalError):
    """The embedding engine or its model cannot be used; recall goes on by keywords."""


class Refused(RekalError):
    """A safety check forbids it."""

    exit_code = REFUSED
