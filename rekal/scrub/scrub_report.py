"""Counts of what scrubbing takes out of texts; the texts themselves are never shown."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

import msgspec

from rekal.scrub.scrubber import Scrubber


class ScrubReport(msgspec.Struct, frozen=True):
    """Counts over ``texts`` texts of ``characters`` characters and ``words`` words.

    ``kinds`` is (kind, findings) with the most frequent first; ``redacted_words`` counts words that hold a finding.
    """

    texts: int
    characters: int
    words: int
    redacted_words: int
    kinds: tuple[tuple[str, int], ...]

    @property
    def share(self) -> float:
        """Share of words redacted, 0 to 1."""
        return self.redacted_words / self.words if self.words else 0.0

    def lines(self) -> list[str]:
        """The count_secrets for people: a line a kind, then a total."""
        rows = [f"{count:8}  {kind}" for kind, count in self.kinds]
        total = sum(count for _, count in self.kinds)
        return [*rows, f"{total:8}  in {self.texts} texts ({self.share:.4%} of words)"]


def count_secrets(scrubber: Scrubber, texts: Iterable[str]) -> ScrubReport:
    """Count what ``scrubber`` finds in ``texts``. Nothing of the texts themselves is in the answer."""
    kinds: Counter[str] = Counter()
    size = characters = words = redacted = 0
    for text in texts:
        size += 1
        characters += len(text)
        words += len(text.split())
        for kind, start, end in scrubber.find(text):
            kinds[kind] += 1
            redacted += max(1, len(text[start:end].split()))
    ranked = sorted(kinds.items(), key=lambda item: (-item[1], item[0]))
    return ScrubReport(size, characters, words, redacted, tuple(ranked))
