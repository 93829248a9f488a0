"""One thing that the doctor looked at, and how it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal

import msgspec

from rekal.app.context import App

State = Literal["ok", "note", "wrong"]


class CheckResult(msgspec.Struct, frozen=True):
    """One thing looked at. ``note``: nothing is broken, but somebody should know.

    ``mend`` is a command or a step that puts it right, empty where nothing is to be done. ``mended``: it was wrong, and
    ``--fix`` put it right.
    """

    name: str
    state: State
    message: str
    mend: str = ""
    mended: bool = False


class Diagnosis(msgspec.Struct, frozen=True):
    """Everything looked at, in order: ``doctor --json``. ``wrong`` counts what is not as it should be."""

    findings: list[CheckResult]
    wrong: int


class Check(msgspec.Struct, frozen=True):
    """A thing to do: ``examine`` yields findings, ``repair`` (if there is one) puts right what they call wrong.

    ``title`` says for a person who waits what is being done.
    """

    title: str
    examine: Callable[[App], Iterable[CheckResult]]
    repair: Callable[[App], None] | None = None
