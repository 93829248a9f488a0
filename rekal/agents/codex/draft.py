"""A draft whose waiting calls may change, and whose last turns may be taken back."""

from __future__ import annotations

from msgspec.structs import replace

from rekal.agents.formats.transcript_builder import TranscriptBuilder
from rekal.model import RawCall


class RewindableDraft(TranscriptBuilder):
    """A draft whose waiting calls may change before their answer, and whose last turns may be taken back."""

    def waits(self, key: str) -> bool:
        return key in self._waiting

    def amend(self, key: str, calls: list[RawCall]) -> None:
        """Put ``calls`` in the place of those that wait under ``key``."""
        turn = self._waiting[key][0].turn if self._waiting[key] else -1
        self._waiting[key] = [replace(call, turn=turn) for call in calls]

    def waiting_for(self, key: str) -> list[RawCall]:
        return self._waiting[key]

    def rewind(self, count: int) -> None:
        """Take back the last ``count`` human turns and all that followed them."""
        starts = [index for index, turn in enumerate(self.turns) if turn.role == "human"]
        if count < 1:
            return
        cut = starts[-count] if count <= len(starts) else 0
        del self.turns[cut:]
        self.calls = [call for call in self.calls if call.turn < cut]
        self._waiting = {
            key: kept for key, calls in self._waiting.items() if (kept := [call for call in calls if call.turn < cut])
        }
