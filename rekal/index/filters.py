"""What a search is limited to. Filters become masks over sessions and turns before anything is ranked or cut."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec
import numpy as np

from rekal.index.reader import NO_TIME, Bools, IndexReader


class Filters(msgspec.Struct, frozen=True):
    """Conditions, all of which must hold. Times are inclusive and aware.

    ``file``: a path, its tail, or a directory in it, by whole segments, case-folded. ``commit``: a prefix of a commit
    id, before or after it was rewritten. ``author``: a part of ``name <email>``, case-folded. ``exclude``: session ids
    left out together with their sub-agents' sessions. ``as_of`` looks at the world as it was then, ``known_at``
    at the store: ``later`` are the sessions with turns recorded after it, each with the first such turn's number.
    """

    file: str | None = None
    commit: str | None = None
    author: str | None = None
    agent: str | None = None
    actor: str | None = None
    branch: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None
    known_at: datetime | None = None
    later: tuple[tuple[str, int], ...] = ()
    exclude: tuple[str, ...] = ()

    @property
    def from_us(self) -> int:
        """The earliest time allowed, in microseconds since 1970 UTC."""
        return NO_TIME if self.since is None else micros_since_1970(self.since)

    @property
    def until_us(self) -> int:
        """The latest time allowed."""
        return min(
            (micros_since_1970(limit) for limit in (self.until, self.as_of) if limit is not None), default=-NO_TIME
        )

    @property
    def timed(self) -> bool:
        """True if any condition is about time."""
        return (self.since, self.until, self.as_of) != (None, None, None)

    @property
    def any_given(self) -> bool:
        """True if any condition chooses sessions; a look at the past and sessions left out choose none."""
        chosen = (self.since, self.until, self.file, self.commit, self.author, self.agent, self.actor, self.branch)
        return any(one is not None for one in chosen)

    @property
    def view(self) -> Filters:
        """The conditions that make the store what it is for this question: a past state, sessions left out."""
        return Filters(as_of=self.as_of, known_at=self.known_at, later=self.later, exclude=self.exclude)

    def lets_path(self, path: str) -> bool:
        """True if ``file`` lets the path of a tracked file through."""
        return (
            f"/{_path_segments(self.file)}/".casefold() in f"/{path}/".casefold() if _path_segments(self.file) else True
        )


NO_FILTERS = Filters()


def micros_since_1970(when: datetime) -> int:
    """Microseconds since 1970 UTC."""
    # Whole numbers: a float has too few digits for microseconds.
    delta = when.astimezone(UTC) - datetime(1970, 1, 1, tzinfo=UTC)
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def _path_segments(path: str | None) -> str:
    return (path or "").replace("\\", "/").removeprefix("./").strip("/")


def _conditions(filters: Filters) -> list[tuple[str, str]]:
    """SQL conditions on ``facets``, each with its value."""
    given = (
        (
            _path_segments(filters.file),
            """session_ord IN (SELECT session_ord FROM session_files
               WHERE contains('/' || lower(path) || '/', '/' || lower(?) || '/'))""",
        ),
        (filters.commit, "len(list_filter(commits, lambda sha: starts_with(sha, lower(?)))) > 0"),
        (filters.author, "contains(lower(author_name || ' <' || author_email || '>'), lower(?))"),
        (filters.agent, "agent = ?"),
        (filters.actor, "actor = ?"),
        (filters.branch, "list_contains(branches, ?)"),
    )
    return [(sql, value) for value, sql in given if value]


def session_mask(reader: IndexReader, filters: Filters) -> Bools:
    """Mask by session number: the sessions that all conditions but time let through."""
    conditions = _conditions(filters)
    mask = np.ones(len(reader.sessions), np.bool_)
    if conditions:
        where = " AND ".join(sql for sql, _ in conditions)
        found = reader.cached_rows(f"SELECT session_ord FROM facets WHERE {where}", *(value for _, value in conditions))
        mask[:] = False
        ordinals = np.array([ordinal for (ordinal,) in found], np.int64)
        mask[reader.sessions.number_of[ordinals]] = True
    if filters.exclude:
        sessions, left_out = reader.sessions, set(filters.exclude)
        gone = [s in left_out or p in left_out for s, p in zip(sessions.ids, sessions.parents, strict=True)]
        mask &= ~np.array(gone, np.bool_)
    return mask


def turn_mask(reader: IndexReader, filters: Filters, sessions: Bools) -> Bools:
    """Mask by place: the turns of ``sessions`` (a mask by number) that lie in the time asked for."""
    mask = sessions[reader.units("turn").session]
    if filters.timed:
        times = reader.turn_times
        mask &= (times >= filters.from_us) & (times <= filters.until_us) & (times != NO_TIME)
    if filters.later:
        mask &= ~_recorded_later(reader, filters)
    return mask


def _recorded_later(reader: IndexReader, filters: Filters) -> Bools:
    """Mask by place: turns that the store did not have yet. A session's turns are recorded in their order."""
    first = np.full(len(reader.sessions), np.iinfo(np.int32).max, np.int32)
    for session_id, seq in filters.later:
        number = reader.sessions.number(session_id)
        if number is not None:
            first[number] = seq
    turns = reader.units("turn")
    return turns.seq >= first[turns.session]


def sessions_in_time(reader: IndexReader, filters: Filters, turns: Bools) -> Bools:
    """Mask by session number: sessions with a turn in ``turns``; all of them when no time was asked for."""
    if not (filters.timed or filters.later):
        return np.ones(len(reader.sessions), np.bool_)
    return np.bincount(reader.units("turn").session[turns], minlength=len(reader.sessions)) > 0


def filtered_turns(reader: IndexReader, filters: Filters) -> Bools:
    """Mask by place: the turns that all conditions let through."""
    return turn_mask(reader, filters, session_mask(reader, filters))
