"""Which kinds a text can hold at all, found without searching it for every kind.

Most kinds are tokens, so their hints are looked for only in the runs of 16 or more token characters and the 16
characters before each. The runs are found by translating the text to two symbols and searching sixteen equal ones in
a row, which skips sixteen characters at a time. Runs of letters alone are words or identifiers, hexadecimal ones
are hashes and UUIDs: both are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from rekal.scrub.secrets.kind import Kind

_RUN = "a" * 16
_LEAD = 16
_TOKEN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
_CLASSES = "".join("a" if chr(code) in _TOKEN else " " for code in range(128))
_WORD = "abcdefghijklmnopqrstuvwxyz_-"
_HEX = "0123456789abcdef-"
# Shorter runs of letters in both cases alone are identifiers: one token in 500 of this length has no digit.
_IDENTIFIER = 36
# Parts that several hints share: without the part none of them needs to be looked for.
_SHARED = ("key", "pass", "auth", "secret", "hook", "token", " -", "sk-")

Hints = list[tuple[str, set[int]]]


class Prefilter:
    """The hints of ``kinds``, each looked for once however many kinds share it."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self._kinds = kinds
        self._in_run = _by_hint(kinds, in_run=True)
        self._in_text = _by_hint(kinds, in_run=False)

    def candidates(self, ascii_text: str, low: str) -> list[tuple[Kind, str]]:
        """The kinds to search for, in their order, each with the form of the text that its hints stand in.

        ``ascii_text`` is the text with one ``?`` for any other character, ``low`` the same in lower case.
        """
        found: set[int] = set()
        _look(self._in_text, low, found)
        runs = long_runs(ascii_text)
        if runs:
            _look(self._in_run, runs, found)
        kinds = (self._kinds[rank] for rank in sorted(found))
        return [(kind, ascii_text if kind.in_run else low) for kind in kinds]


def _by_hint(kinds: Sequence[Kind], *, in_run: bool) -> list[tuple[str, Hints]]:
    """The hints of one sort under the part that must be there for any of them, often the hint itself."""
    ranks: dict[str, set[int]] = {}
    for rank, kind in enumerate(kinds):
        if kind.in_run == in_run:
            for hint in kind.hints:
                ranks.setdefault(hint, set()).add(rank)
    groups: dict[str, Hints] = {}
    for hint, having in ranks.items():
        part = next((shared for shared in _SHARED if shared in hint), hint)
        groups.setdefault(part, []).append((hint, having))
    return list(groups.items())


def _look(groups: list[tuple[str, Hints]], hay: str, found: set[int]) -> None:
    for part, hints in groups:
        if part in hay:
            for hint, ranks in hints:
                if hint in hay:
                    found |= ranks


def long_runs(text: str) -> str:
    """The runs of 16 or more token characters of an ASCII text, each with what stands just before it, one a line."""
    classes = text.translate(_CLASSES)
    start = classes.find(_RUN)
    if start < 0:
        return ""
    pieces = []
    while start >= 0:
        end = classes.find(" ", start + 16)
        end = len(text) if end < 0 else end
        run = text[start:end]
        if (
            run.strip(_WORD)
            and run.strip(_HEX)
            and not (run.isalpha() and len(run) < _IDENTIFIER and not run.isupper())
        ):
            pieces.append(text[max(0, start - _LEAD) : end])
        start = classes.find(_RUN, end)
    return "\n".join(pieces)
