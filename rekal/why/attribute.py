"""Which turn wrote which line.

A line is known by the hash of its text. The edits asked first are those of the turns that led to the line's commit;
where several wrote the line, its neighbours decide, then time. A line that those did not write may still be a captured
session's (a copy whose making nobody saw, a revert): then any edit of the file before the commit may answer, but only
if its neighbours or its own length speak for it and no second session comes as close. Everything else is declined: no
answer is better than a wrong one.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Literal

import msgspec

from rekal.git import Repo
from rekal.store.database import Connection
from rekal.why.blame import Blame, BlamedLine, texts_then
from rekal.why.commit_turns import Led, led_to
from rekal.why.edits import Wrote, edits_of, introduced, names_of
from rekal.why.line_keys import REACH, key_of

Level = Literal["line", "hunk", "file", "commit", "none"]

_BESIDE = 2  # lines with a hash on each side that speak for an edit
_HALF, _MOST = 0.5, 0.75  # of them
_TELLING = 12  # letters and digits of a line that can stand alone
_SLACK = timedelta(seconds=2)  # commit times have whole seconds


class Attribution(msgspec.Struct, frozen=True):
    """Whose a line is. ``git_sha`` is the commit under which the turn was recorded, None when no commit was needed."""

    level: Level
    session_id: str | None = None
    turn_seq: int | None = None
    git_sha: str | None = None
    note: str = ""


class Text:
    """The whole file as it is now: what stands beside a line, and how often the line occurs."""

    def __init__(self, lines: Sequence[str]) -> None:
        self._lines = lines
        self._counts = Counter(line.strip() for line in lines)
        self._keys: dict[int, int | None] = {}

    def key(self, number: int) -> int | None:
        """The key of line ``number`` (from 1)."""
        if number not in self._keys:
            self._keys[number] = key_of(self._lines[number - 1])
        return self._keys[number]

    def beside(self, number: int) -> list[int]:
        """Keys of the nearest lines above and below that occur once: lines that every block has speak for none."""
        up = range(number - 1, max(0, number - 1 - REACH), -1)
        down = range(number + 1, min(len(self._lines), number + REACH) + 1)
        sides = ([k for n in side if (k := self.key(n)) is not None and self.count(n) == 1] for side in (up, down))
        return [key for side in sides for key in side[:_BESIDE]]

    def count(self, number: int) -> int:
        """How often the text of line ``number`` occurs in the file."""
        return self._counts[self._lines[number - 1].strip()]


class _Line(msgspec.Struct, frozen=True):
    """One line to find an edit for: its key, what stands beside it, and since when it was in place."""

    key: int
    beside: tuple[int, ...]
    count: int
    telling: bool
    until: datetime | None
    led: tuple[Led, ...]


class _Scope:
    """The edits that may have written a line, and by them the edits that may have written the lines beside it."""

    def __init__(self, line: _Line, edits: Mapping[int, Sequence[Wrote]], allowed: Callable[[Wrote], bool]) -> None:
        def brought(key: int) -> list[Wrote]:
            return introduced(e for e in edits.get(key, ()) if allowed(e))

        several = [e for e in edits.get(line.key, ()) if allowed(e)] if line.count > 1 else None
        self.edits = brought(line.key) if several is None else several
        self._beside = [brought(key) for key in line.beside] if self.edits else []

    def support(self, edit: Wrote) -> float:
        """The share of the lines beside it that the same edit brought, 0 to 1."""
        return sum(any(edit is other for other in others) for others in self._beside) / max(len(self._beside), 1)


def attribute(con: Connection, repo: Repo, path: str, now: Sequence[str], blamed: Blame) -> dict[int, Attribution]:
    """An attribution for each blamed line of ``path``, by number. ``now`` is the whole file as it is."""
    led = led_to(con, repo, [line.sha for line in blamed.lines if line.sha])
    names = names_of(con, {path, *(line.path for line in blamed.lines)})
    finder = _Finder(con, Text(now), blamed, led, names)
    found = finder.written({line.number: line.text for line in blamed.lines})
    rest = [line for line in blamed.lines if line.number not in found]
    # A formatter that blame looks through changed the text: then what counts is how the line was.
    found |= finder.written(texts_then(repo, [line for line in rest if key_of(line.text) is not None]))
    found |= dict(_hunks(blamed.lines, found))
    active = {sha: _active(con, led[sha], names) for sha in {line.sha for line in rest} & led.keys() if sha}
    for line in blamed.lines:
        if line.number not in found:
            found[line.number] = active.get(line.sha or "") or Attribution("none", note=_why_not(line, led))
    return found


def _why_not(line: BlamedLine, led: Mapping[str, list[Led]]) -> str:
    if line.sha is None:
        return "not committed, and no session wrote it"
    if line.sha in led:
        return "the sessions of its commit did not write it"
    return "its commit has no session"


class _Finder:
    """Lines of one file against the edits that may have written them."""

    def __init__(
        self, con: Connection, now: Text, blamed: Blame, led: Mapping[str, list[Led]], names: Collection[str]
    ) -> None:
        self._con, self._now, self._led, self._names = con, now, led, names
        self._commits = blamed.commits
        self._lines = {line.number: line for line in blamed.lines}

    def written(self, texts: Mapping[int, str]) -> dict[int, Attribution]:
        """Attributions of the lines with these texts, as far as an edit wrote them."""
        wanted = {number: line for number, text in texts.items() if (line := self._line(number, text)) is not None}
        keys = {key for line in wanted.values() for key in (line.key, *line.beside)}
        sessions = {one.session_id for line in wanted.values() for one in line.led}
        edits = edits_of(self._con, keys, self._names, sessions) if keys else {}
        found = {number: self._choose(line, edits) for number, line in wanted.items()}
        return {number: one for number, one in found.items() if one is not None}

    def _line(self, number: int, text: str) -> _Line | None:
        key = key_of(text)
        if key is None:
            return None
        sha = self._lines[number].sha
        until = self._commits[sha].committed_at + _SLACK if sha else None
        telling = sha is None or sum(map(str.isalnum, text)) >= _TELLING
        led = tuple(self._led.get(sha or "", ()))
        return _Line(key, tuple(self._now.beside(number)), self._now.count(number), telling, until, led)

    def _choose(self, line: _Line, edits: Mapping[int, Sequence[Wrote]]) -> Attribution | None:
        def before(edit: Wrote) -> bool:
            return line.until is None or edit.at is None or edit.at <= line.until

        def named(edit: Wrote) -> bool:
            return edit.path in self._names and before(edit)

        inside = _Scope(line, edits, lambda e: named(e) and _led_by(line, e) is not None)
        # Code moved between files by hand or shell: the same turns wrote it, under a name this file never had.
        moved = _Scope(line, edits, lambda e: before(e) and _led_by(line, e) is not None)
        # One of several occurrences may be one that nobody recorded, unless its neighbours are by the same turn.
        edit = _best(inside, _HALF if line.count > 1 else 0.0) or _best(moved, _MOST)
        if edit is None and (line.count > 1 or not inside.edits):
            edit = _elsewhere(line, _Scope(line, edits, named))
        if edit is None and line.count > 1:
            # Blame may take lines that many blocks have for a copy of the oldest of them: time then proves nothing.
            # (A file written whole repeats what was there, so it proves nothing either.)
            edit = _elsewhere(line, _Scope(line, edits, lambda e: e.path in self._names and not e.whole))
        if edit is None:
            return None
        by = _led_by(line, edit)
        return Attribution("line", edit.session_id, edit.turn_seq, by.git_sha if by else None)


def _led_by(line: _Line, edit: Wrote) -> Led | None:
    for led in line.led:
        if led.session_id == edit.session_id and led.first_seq <= edit.turn_seq <= led.last_seq:
            return led
    return None


def _best(scope: _Scope, least: float) -> Wrote | None:
    """The edit that at least the share ``least`` of the lines beside it speaks for; the latest when that is none."""
    best = max(scope.edits, key=lambda e: (scope.support(e) if least else 0.0, e.order), default=None)
    return best if best and scope.support(best) >= least else None


def _elsewhere(line: _Line, scope: _Scope) -> Wrote | None:
    """An edit that no commit leads to: one whose neighbours speak for it, or the only one of a telling line."""
    best: dict[str, tuple[float, Wrote]] = {}
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
        if line.number in found or key_of(line.text) is not None:
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
        if key_of(other.text) is not None:
            return other.number
    return None


def _active(con: Connection, led: Sequence[Led], names: Collection[str]) -> Attribution | None:
    """What the one session active before a commit can answer for, when its tools recorded no edit of the file."""
    sessions = {one.session_id for one in led}
    if len(sessions) != 1:
        return None
    one = max(led, key=lambda candidate: candidate.last_seq)
    first = min(candidate.first_seq for candidate in led)
    bases = sorted({name.rsplit("/", 1)[-1] for name in names})
    row = con.execute(
        """SELECT max(c.turn_seq) FILTER (list_contains($names::VARCHAR[], c.path)
                      OR len(list_filter($bases::VARCHAR[], lambda b: contains(coalesce(c.command, ''), b))) > 0),
                  count(e.seq)
           FROM tool_calls c LEFT JOIN edits e ON e.session_id = c.session_id AND e.tool_call_seq = c.seq
               AND list_contains($names::VARCHAR[], e.path)
           WHERE c.session_id = $session AND greatest(c.turn_seq, 0) BETWEEN $first AND $last""",
        {"names": sorted(names), "bases": bases, "session": one.session_id, "first": first, "last": one.last_seq},
    ).fetchone()
    named, edits = row or (None, 0)
    if edits:
        return None  # the session's edits of this file are recorded, and none wrote the line
    if named is not None:
        return Attribution("file", one.session_id, max(int(named), 0), one.git_sha)
    if all(candidate.evidence == "active" for candidate in led):
        return Attribution("commit", one.session_id, one.last_seq, one.git_sha)
    return None
