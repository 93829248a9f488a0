"""The turn that wrote each line.

A line is known by the hash of its text. The edits asked first are those of the turns that led to the line's commit;
where several wrote the line, its neighbours decide, then time. A line that those did not write may still be a captured
session's (a copy whose making no hook saw, a revert): then any edit of the file before the commit may answer, but only
if its neighbours or its own length speak for it and no second session comes as close. Everything else is declined: no
answer is better than a wrong one.

Sessions that are believed more are asked before others (see `rekal.why.trust`): a record that somebody pushed, with
whatever time and commit it names, does not take a line from the session that wrote it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal

import msgspec

from rekal.git import Repo
from rekal.git.encodings import is_foreign, list_encodings, recode_lines
from rekal.store.database import Connection
from rekal.store.why_rows import (
    LineEdit,
    TurnRange,
    select_file_mentions,
    select_former_names,
    select_line_edits,
)
from rekal.why import blame
from rekal.why.blame import Blame, BlamedLine
from rekal.why.commit_turns import find_turn_ranges
from rekal.why.line_keys import DROPPED_BITS, REACH, line_key
from rekal.why.trust import Origins, Trust

Level = Literal["line", "hunk", "file", "commit", "none"]

_BESIDE = 2  # lines with a hash on each side that speak for an edit
_HALF, _MOST = 0.5, 0.75  # of them
_TELLING = 12  # letters and digits of a line that can stand alone
_SLACK = timedelta(seconds=2)  # commit times have whole seconds


class Attribution(msgspec.Struct, frozen=True):
    """The turn that wrote a line.

    ``git_sha`` is the commit under which the turn was recorded, None when no commit was needed.
    """

    level: Level
    session_id: str | None = None
    turn_seq: int | None = None
    git_sha: str | None = None
    note: str = ""


class FileText:
    """The whole file as it is now: what stands beside a line, and how often the line occurs."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._counts = Counter(line.strip() for line in lines)
        self._keys: dict[int, int | None] = {}

    def key(self, number: int) -> int | None:
        """The key of line ``number`` (from 1)."""
        if number not in self._keys:
            self._keys[number] = line_key(self._lines[number - 1])
        return self._keys[number]

    def beside(self, number: int) -> list[int]:
        """Keys of the nearest lines above and below that occur once: lines that every block has speak for none."""
        # Nearest first on both sides.
        up = range(number - 1, max(0, number - 1 - REACH), -1)
        down = range(number + 1, min(len(self._lines), number + REACH) + 1)
        sides = ([k for n in side if (k := self.key(n)) is not None and self.count(n) == 1] for side in (up, down))
        return [key for side in sides for key in side[:_BESIDE]]

    def count(self, number: int) -> int:
        """Count the lines of the file with the text of line ``number``."""
        return self._counts[self._lines[number - 1].strip()]


class _WantedLine(msgspec.Struct, frozen=True):
    """One line to find an edit for: its key, what stands beside it, and since when it was in place."""

    key: int
    beside: tuple[int, ...]
    count: int
    telling: bool
    until: datetime | None
    author_email: str
    ranges: tuple[TurnRange, ...]


class _Scope:
    """The edits that may have written a line, and by them the edits that may have written the lines beside it."""

    def __init__(
        self, line: _WantedLine, edits: Mapping[int, Sequence[LineEdit]], allowed: Callable[[LineEdit], bool]
    ) -> None:
        def brought(key: int) -> list[LineEdit]:
            return _edits_that_brought(e for e in edits.get(key, ()) if allowed(e))

        several = [e for e in edits.get(line.key, ()) if allowed(e)] if line.count > 1 else None
        self.edits = brought(line.key) if several is None else several
        self._beside = [brought(key) for key in line.beside] if self.edits else []

    def support(self, edit: LineEdit) -> float:
        """The share of the lines beside it that the same edit brought, 0 to 1."""
        return sum(any(edit is other for other in others) for others in self._beside) / max(len(self._beside), 1)


def attribute_lines(
    con: Connection, repo: Repo, path: str, now: Sequence[str], blamed: Blame
) -> dict[int, Attribution]:
    """An attribution for each blamed line of ``path``, by number. ``now`` is the whole file as it is."""
    ranges = find_turn_ranges(con, repo, [line.sha for line in blamed.lines if line.sha])
    names = select_former_names(con, {path, *(line.path for line in blamed.lines)})
    origins = Origins(con)
    finder = _Finder(con, FileText(now), blamed, ranges, names, origins)
    found = finder.written({line.number: line.text for line in blamed.lines})
    rest = [line for line in blamed.lines if line.number not in found]
    # A formatter that blame looks through changed the text: then what counts is how the line was.
    found |= finder.written(blame.find_former_texts(repo, [line for line in rest if line_key(line.text) is not None]))
    # An edit holds text: bytes that are not UTF-8 are compared as the text of each encoding that they may be.
    for encoding in list_encodings(now):
        file, texts = recode_lines(now, encoding), recode_lines([line.text for line in blamed.lines], encoding)
        if file is not None and texts is not None:
            recoded = {line.number: text for line, text in zip(blamed.lines, texts, strict=True)}
            wanted = {number: text for number, text in recoded.items() if number not in found}
            found |= _Finder(con, FileText(file), blamed, ranges, names, origins).written(wanted)
    found |= dict(_hunks(blamed.lines, found))
    active = {
        sha: _attribute_by_activity(
            con, _keep_most_trusted(origins, ranges[sha], blamed.commits[sha].author_email), names
        )
        for sha in {line.sha for line in rest} & ranges.keys()
        if sha
    }
    for line in blamed.lines:
        if line.number not in found:
            found[line.number] = active.get(line.sha or "") or Attribution("none", note=_why_not(line, ranges))
    return found


def _why_not(line: BlamedLine, ranges: Mapping[str, list[TurnRange]]) -> str:
    if is_foreign(line.text):
        return "the line is not UTF-8: rekal cannot tell whether a session wrote it"
    if line.sha is None:
        return "not committed, and no session wrote it"
    if line.sha in ranges:
        return "the sessions of its commit did not write it"
    return "its commit has no session"


class _Finder:
    """Lines of one file against the edits that may have written them."""

    def __init__(
        self,
        con: Connection,
        now: FileText,
        blamed: Blame,
        ranges: Mapping[str, list[TurnRange]],
        names: Collection[str],
        origins: Origins,
    ) -> None:
        self._con, self._now, self._ranges, self._names = con, now, ranges, names
        self._origins = origins
        self._commits = blamed.commits
        self._lines = {line.number: line for line in blamed.lines}

    def written(self, texts: Mapping[int, str]) -> dict[int, Attribution]:
        """Attributions of the lines with these texts, as far as an edit wrote them."""
        wanted = {number: line for number, text in texts.items() if (line := self._line(number, text)) is not None}
        keys = {key for line in wanted.values() for key in (line.key, *line.beside)}
        sessions = {one.session_id for line in wanted.values() for one in line.ranges}
        edits = select_line_edits(self._con, keys, self._names, sessions, DROPPED_BITS) if keys else {}
        self._origins.load({edit.session_id for group in edits.values() for edit in group})
        found = {number: self._choose(line, edits) for number, line in wanted.items()}
        return {number: one for number, one in found.items() if one is not None}

    def _line(self, number: int, text: str) -> _WantedLine | None:
        key = line_key(text)
        if key is None:
            return None
        sha = self._lines[number].sha
        until = self._commits[sha].committed_at + _SLACK if sha else None
        email = self._commits[sha].author_email if sha else ""
        telling = sha is None or sum(map(str.isalnum, text)) >= _TELLING
        ranges = tuple(self._ranges.get(sha or "", ()))
        return _WantedLine(key, tuple(self._now.beside(number)), self._now.count(number), telling, until, email, ranges)

    def _choose(self, line: _WantedLine, edits: Mapping[int, Sequence[LineEdit]]) -> Attribution | None:
        ranks = {e.session_id: self._origins.trust(e.session_id, line.author_email) for e in edits.get(line.key, ())}
        present = sorted(set(ranks.values()))
        believed = [rank for rank in present if rank != Trust.CLAIMED]
        # What anybody may have made up comes after all that others recorded, linked to the commit or not.
        for group in (believed, [rank for rank in present if rank == Trust.CLAIMED]):
            for choose in (self._choose_linked, self._choose_unlinked):
                for rank in group:
                    # The neighbours' edits are by sessions that the line itself may not have.
                    edit = choose(line, edits, lambda e, r=rank: self._rank(line, e) == r)  # type: ignore[misc]
                    if edit is not None:
                        by = _range_of(line, edit)
                        return Attribution("line", edit.session_id, edit.turn_seq, by.git_sha if by else None)
        return None

    def _rank(self, line: _WantedLine, edit: LineEdit) -> Trust:
        return self._origins.trust(edit.session_id, line.author_email)

    def _choose_linked(
        self, line: _WantedLine, edits: Mapping[int, Sequence[LineEdit]], ranked: Callable[[LineEdit], bool]
    ) -> LineEdit | None:
        """The edit in the turns that led to the line's commit."""

        def linked(edit: LineEdit) -> bool:
            return ranked(edit) and _is_before(line, edit) and _range_of(line, edit) is not None

        inside = _Scope(line, edits, lambda e: e.path in self._names and linked(e))
        # Code moved between files by hand or shell: the same turns wrote it, under a name this file never had.
        moved = _Scope(line, edits, linked)
        # One of several occurrences may be one that nobody recorded, unless its neighbours are by the same turn.
        return _best_edit(inside, _HALF if line.count > 1 else 0.0) or _best_edit(moved, _MOST)

    def _choose_unlinked(
        self, line: _WantedLine, edits: Mapping[int, Sequence[LineEdit]], ranked: Callable[[LineEdit], bool]
    ) -> LineEdit | None:
        """An edit of the file that no commit leads to."""

        def named(edit: LineEdit) -> bool:
            return ranked(edit) and edit.path in self._names

        before = [e for e in edits.get(line.key, ()) if named(e) and _is_before(line, e)]
        edit = None
        if line.count > 1 or all(_range_of(line, e) is None for e in before):
            edit = _elsewhere(line, _Scope(line, edits, lambda e: named(e) and _is_before(line, e)))
        if edit is None and line.count > 1:
            # Blame may take lines that many blocks have for a copy of the oldest of them: time then proves nothing.
            # (A file written whole repeats what was there, so it proves nothing either.)
            edit = _elsewhere(line, _Scope(line, edits, lambda e: named(e) and not e.whole))
        return edit


def _is_before(line: _WantedLine, edit: LineEdit) -> bool:
    return line.until is None or edit.at is None or edit.at <= line.until


def _range_of(line: _WantedLine, edit: LineEdit) -> TurnRange | None:
    for one in line.ranges:
        if one.session_id == edit.session_id and one.first_seq <= edit.turn_seq <= one.last_seq:
            return one
    return None


def _best_edit(scope: _Scope, least: float) -> LineEdit | None:
    """The edit that at least the share ``least`` of the lines beside it speaks for; the latest when that is none."""
    best = max(scope.edits, key=lambda e: (scope.support(e) if least else 0.0, e.order), default=None)
    return best if best and scope.support(best) >= least else None


def _elsewhere(line: _WantedLine, scope: _Scope) -> LineEdit | None:
    """An edit that no commit leads to: one whose neighbours speak for it, or the only one of a telling line."""
    best: dict[str, tuple[float, LineEdit]] = {}
    for edit in scope.edits:
        support = scope.support(edit)
        if support >= best.get(edit.session_id, (0.0, edit))[0]:
            best[edit.session_id] = (support, edit)
    ranked = sorted(best.values(), key=lambda pair: pair[0], reverse=True)
    if not ranked or (len(ranked) > 1 and ranked[0][0] == ranked[1][0]):
        return None
    support, edit = ranked[0]
    return edit if support >= _HALF or (line.telling and line.count <= 1) else None


def _hunks(lines: Sequence[BlamedLine], found: Mapping[int, Attribution]) -> Iterator[tuple[int, Attribution]]:
    """Thin lines between or next to attributed lines of their commit that agree on a turn."""
    for at, line in enumerate(lines):
        if line.number in found or line_key(line.text) is not None:
            continue
        sides = [_side(line, lines[at - 1 :: -1] if at else ()), _side(line, lines[at + 1 : at + 1 + REACH])]
        near = [found[n] for n in sides if n is not None and n in found]
        agreed = {(one.session_id, one.turn_seq) for one in near}
        if len(agreed) == 1 and len(near) == sum(n is not None for n in sides):
            yield line.number, msgspec.structs.replace(near[0], level="hunk")


def _side(line: BlamedLine, beyond: Sequence[BlamedLine]) -> int | None:
    """The nearest line with a hash on one side, unless a line of another commit comes first."""
    for other in beyond[:REACH]:
        if other.sha != line.sha:
            return None
        if line_key(other.text) is not None:
            return other.number
    return None


def _attribute_by_activity(con: Connection, ranges: Sequence[TurnRange], names: Collection[str]) -> Attribution | None:
    """The answer of the one session active before a commit whose tools recorded no edit of the file; or None."""
    if len({one.session_id for one in ranges}) != 1:
        return None  # with two sessions there is no telling them apart
    one = max(ranges, key=lambda candidate: candidate.last_seq)
    first = min(candidate.first_seq for candidate in ranges)
    turn, edits = select_file_mentions(con, one.session_id, first, one.last_seq, names)
    if edits:
        return None  # the session's edits of this file are recorded, and none wrote the line
    if turn is not None:
        return Attribution("file", one.session_id, turn, one.git_sha)
    if all(candidate.evidence == "active" for candidate in ranges):
        return Attribution("commit", one.session_id, one.last_seq, one.git_sha)
    return None


def _edits_that_brought(edits: Iterable[LineEdit]) -> list[LineEdit]:
    """Of edits in order of time that all wrote a line which occurs once, the ones that brought it.

    A file written whole repeats its earlier lines. Capture takes those out as far as commits show them; lines that were
    not committed in between are left.
    """
    kept: list[LineEdit] = []
    for edit in edits:
        if not edit.whole or all(edit.path != earlier.path for earlier in kept):
            kept.append(edit)
    return kept


def _keep_most_trusted(origins: Origins, ranges: Iterable[TurnRange], author_email: str) -> list[TurnRange]:
    """Return the turns of the sessions that are believed most, in the same order."""
    ranked = [(origins.trust(one.session_id, author_email), one) for one in ranges]
    best = min((trust for trust, _ in ranked), default=None)
    return [one for trust, one in ranked if trust == best]
