"""A first look at a text that tells which kinds it can hold, without a search for every kind.

Most kinds are tokens, so their hints are looked for only in the runs of 16 or more token characters and the 16
characters before each. The runs are found by translating the text to two symbols and searching sixteen equal ones in
a row, which skips sixteen characters at a time. Runs of letters alone are words or identifiers, hexadecimal ones
are hashes and UUIDs: both are left out.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import lru_cache
from operator import add

from rekal.scrub.secrets.kind import Hay, Kind, shared_part

_RUN = b"a" * 16
_LEAD = 16
# Characters of runs up to which looking at all of their pairs is faster than looking for all hints.
_MANY = 160
# Shorter hexadecimal runs are short hashes and parts of UUIDs.
_LEAST_HEX = 32
_TOKEN = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-"
_CLASSES = bytes(ord("a" if chr(code) in _TOKEN else " ") for code in range(256))
_WORD = "abcdefghijklmnopqrstuvwxyz_-"
_HEX = "0123456789abcdef-"
# Shorter runs of letters in both cases alone are identifiers: one token in 500 of this length has no digit.
_IDENTIFIER = 36


class Prefilter:
    """The hints of ``kinds``, each looked for once however many kinds share it."""

    def __init__(self, kinds: Sequence[Kind]) -> None:
        self._kinds = kinds
        self._in_text = _by_part(kinds, in_run=False)
        self._by_sign = _by_sign(self._in_text)
        self._in_run = _by_part(kinds, in_run=True)
        self._by_pair = _by_pair(self._in_run)
        # Texts are many and what is in them repeats.
        self._with_parts = lru_cache(maxsize=1024)(self._kinds_with)

    def candidates(self, ascii_text: str, low: str) -> tuple[list[tuple[Kind, Hay]], bool]:
        """Return (kinds, runs): the kinds to search for, each with where to look for its hints; and if there are runs.

        ``ascii_text`` is the text with one ``?`` for any other character, ``low`` the same in lower case.
        """
        in_text = [part for sign, parts in self._by_sign if sign in low for part in parts if part in low]
        runs = long_runs(ascii_text)
        in_run = self._parts_in_runs(runs.text) if runs else []
        if not in_text and not in_run:
            return [], runs is not None
        kinds, absent, absent_in_runs = self._with_parts(tuple(in_text), tuple(in_run))
        text = Hay(low, ascii_text, absent=absent)
        if runs is None:
            return [(kind, text) for kind in kinds], False
        runs.absent = absent_in_runs
        return [(kind, runs if kind.in_run else text) for kind in kinds], True

    def _parts_in_runs(self, runs: str) -> list[str]:
        """The parts of hints that stand in ``runs``, in one order."""
        if len(runs) > _MANY:
            return [part for part in self._in_run if part in runs]
        # An identifier has forty pairs of characters, and there are two hundred parts.
        pairs = self._by_pair.keys() & {"", *map(add, runs, runs[1:])}
        return sorted(part for pair in pairs for part in self._by_pair[pair] if part in runs)

    def _kinds_with(
        self, in_text: tuple[str, ...], in_run: tuple[str, ...]
    ) -> tuple[tuple[Kind, ...], frozenset[str], frozenset[str]]:
        """The kinds with a hint among the parts found, and the parts that were not."""
        ranks = {rank for part in in_text for rank in self._in_text[part]}
        ranks |= {rank for part in in_run for rank in self._in_run[part]}
        kinds = tuple(self._kinds[rank] for rank in sorted(ranks))
        return kinds, frozenset(self._in_text.keys() - in_text), frozenset(self._in_run.keys() - in_run)


def _by_part(kinds: Sequence[Kind], *, in_run: bool) -> dict[str, set[int]]:
    """Ranks of the kinds to search for, by the part of their hints (often the whole hint) that is in a text."""
    ranks: dict[str, set[int]] = {}
    for rank, kind in enumerate(kinds):
        if kind.in_run == in_run:
            for hint in kind.hints:
                ranks.setdefault(shared_part(hint), set()).add(rank)
    return ranks


def _by_pair(parts: Iterable[str]) -> dict[str, list[str]]:
    """``parts`` by two characters in a row that each has; those shorter than two under the empty string."""
    pairs: dict[str, list[str]] = {}
    for part in parts:
        pairs.setdefault(part[-2:] if len(part) > 1 else "", []).append(part)
    return pairs


# Rarest first. One character is found eight times faster than two or more.
_SIGNS = "<?=:-"


def _by_sign(parts: Iterable[str]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """``parts`` by a sign that all of a group have; the group without one comes first, under the empty string."""
    groups: dict[str, list[str]] = {"": []}
    for part in parts:
        groups.setdefault(next((sign for sign in _SIGNS if sign in part), ""), []).append(part)
    return tuple((sign, tuple(group)) for sign, group in groups.items())


def long_runs(text: str) -> Hay | None:
    """The runs of 16 or more token characters of an ASCII text, each with what stands just before it, if any."""
    classes = text.encode("ascii").translate(_CLASSES)
    find = classes.find
    start = find(_RUN)
    pieces = []
    joints = []
    shifts = []
    hexes = []
    size = 0
    while start >= 0:
        end = find(b" ", start + 16)
        if end < 0:
            end = len(text)
        run = text[start:end]
        short_word = run.isalpha() and len(run) < _IDENTIFIER and not run.isupper()
        if not short_word and run.strip(_WORD) and run.strip(_HEX):
            begin = max(0, start - _LEAD)
            pieces.append(text[begin:end])
            joints.append(size)
            shifts.append(begin - size)
            size += end - begin + 1
        elif end - start >= _LEAST_HEX and not run.strip(_HEX):
            hexes.append((start, end))
        start = find(_RUN, end)
    if not pieces and not hexes:
        return None
    hay = Hay("\n".join(pieces), text, joints, shifts)
    hay.hexes = hexes
    return hay
