"""A transcript in the making: turns in order, tool calls that wait for their answers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence

import msgspec

from rekal.agents.formats.patches import FilePatch, text_lines
from rekal.model import Outcome, RawCall, RawTurn


class TranscriptBuilder:
    """Collects the turns and calls of one transcript.

    A call is emitted with its answer. One that never gets an answer is emitted without outcome as soon as a human
    turn shows that it was passed over, and not at all before.
    """

    def __init__(self) -> None:
        self.turns: list[RawTurn] = []
        self.calls: list[RawCall] = []
        self._waiting: dict[str, list[RawCall]] = {}

    def say(self, turn: RawTurn) -> None:
        """Add a turn; a human one passes over the calls that still wait."""
        if turn.role == "human":
            self.pass_over()
        self.turns.append(turn)

    def ask(self, key: str, calls: Iterable[RawCall]) -> None:
        """Add calls that share one answer, to be given under ``key``."""
        here = len(self.turns) - 1
        placed = [msgspec.structs.replace(call, turn=here) for call in calls]
        self._waiting.setdefault(key, []).extend(placed)

    def answer(self, key: str, outcome: Outcome | None, said: str | None = None) -> None:
        """Emit what waits under ``key``. Only what succeeded wrote; ``said`` is what a failed call failed with."""
        for call in self._waiting.pop(key, ()):
            if outcome == "ok":
                self.calls.append(msgspec.structs.replace(call, outcome=outcome))
            else:
                tail = error_excerpt(said) if outcome == "error" else None
                self.calls.append(msgspec.structs.replace(call, outcome=outcome, excerpt=tail, wrote=()))

    def answer_all(self, outcome: Outcome | None, said: str | None = None) -> None:
        """Give every waiting call the same answer, where answers do not name their calls."""
        for key in list(self._waiting):
            self.answer(key, outcome, said)

    def withdraw(self, key: str) -> None:
        """Forget what waits under ``key``: a later reading will see how it ends."""
        self._waiting.pop(key, None)

    def pass_over(self) -> None:
        """Emit every waiting call without an outcome; nothing says that it wrote anything."""
        for calls in self._waiting.values():
            self.calls.extend(msgspec.structs.replace(call, wrote=()) for call in calls)
        self._waiting.clear()

    def go_on(self) -> None:
        """Emit every waiting call of a format without answers, because the agent went on as if they had succeeded."""
        for calls in self._waiting.values():
            self.calls.extend(calls)
        self._waiting.clear()

    @property
    def first_needed(self) -> int:
        """Index of the turn from which a later reading must begin, for waiting and coming calls; -1 before any."""
        asked = [call.turn for calls in self._waiting.values() for call in calls]
        return min([len(self.turns) - 1, *asked])

    @property
    def waiting(self) -> bool:
        """True if any call still waits for its answer."""
        return bool(self._waiting)


def error_excerpt(said: str | None) -> str | None:
    """Words of a failed call, whole: a cut made before secrets are looked for could hide half of one."""
    return (said or "").strip() or None


def fan_out(call: RawCall, patches: Sequence[FilePatch]) -> list[RawCall]:
    """One call for each file of a patch, the ids numbered when there are several."""
    if not patches:
        return [call]
    many = len(patches) > 1
    return [
        msgspec.structs.replace(
            call,
            path=patch.path,
            wrote=patch.wrote,
            native_id=f"{call.native_id}#{place}" if many and call.native_id else call.native_id,
        )
        for place, patch in enumerate(patches, 1)
    ]


def new_lines(old: str | None, new: str | None) -> tuple[str, ...]:
    """The lines of a replacement that the text it replaces does not have."""
    before = Counter(text_lines(old or ""))
    wrote = []
    for line in text_lines(new or ""):
        if before[line] > 0:
            before[line] -= 1
        else:
            wrote.append(line)
    return tuple(wrote)
