"""Facets of a session besides its words: who, where, which files, commands and commits; and who speaks in its turns.

One row a session for filters, and one document a session for search. Both are written anew whenever anything of the
session changes; a session is small and its row is cheap.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from rekal.index.writer import Doc, insert_index_rows, remove_docs
from rekal.store.database import Connection, make_record

_LONGEST_STEERING = 400
_MOST_COMMANDS = 200

# Sessions whose facets a change after position $after can have altered.
_CHANGED = """
    SELECT id FROM sessions WHERE pos > $after
    UNION ALL SELECT session_id FROM turns WHERE pos > $after
    UNION ALL SELECT session_id FROM tool_calls WHERE pos > $after
    UNION ALL SELECT session_id FROM checkpoint_sessions WHERE pos > $after
    UNION ALL SELECT session_id FROM checkpoint_sessions JOIN checkpoints c ON c.id = checkpoint_id WHERE c.pos > $after
    UNION ALL SELECT session_id FROM checkpoint_sessions JOIN files_touched f USING (checkpoint_id)
        WHERE f.pos > $after"""
_OF_COMMITS = """
    SELECT session_id FROM checkpoint_sessions JOIN checkpoints c ON c.id = checkpoint_id
    WHERE list_contains($commits, git_sha)"""

# Several small statements whose rows Python puts together: planning one that joins all of this takes 30 ms, five times
# what these take together, and lists of distinct values take twice as long to plan as rows.
_HEADS = """
    SELECT id, agent, actor, agent_type, author_name, author_email, origin, parent_id, branch, title, description,
        started_at
    FROM sessions WHERE list_contains($ids, id) ORDER BY id"""
_SPANS = """
    SELECT session_id, count(*), count(*) FILTER (role IN ('human', 'steering')), min(occurred_at), max(occurred_at)
    FROM turns WHERE list_contains($ids, session_id) GROUP BY session_id"""
_STEERING = """
    SELECT session_id, content FROM turns WHERE role = 'steering' AND list_contains($ids, session_id)
    ORDER BY session_id, seq"""
_CALLS = "SELECT DISTINCT session_id, path, command FROM tool_calls WHERE list_contains($ids, session_id)"
_CHANGED_FILES = """
    SELECT session_id, path FROM checkpoint_sessions JOIN files_touched USING (checkpoint_id)
    WHERE list_contains($ids, session_id)"""
_COMMITS = """
    SELECT session_id, git_sha, subject, c.branch, first_seq, last_seq
    FROM checkpoint_sessions JOIN checkpoints c ON c.id = checkpoint_id WHERE list_contains($ids, session_id)"""

_FACETS_TYPES = (
    *("INTEGER", *["VARCHAR"] * 10, "BOOLEAN", "INTEGER", "INTEGER", "TIMESTAMP", "TIMESTAMP"),
    *["VARCHAR[]"] * 4,
)


class Facets(msgspec.Struct, frozen=True):
    """Facets of one session as the ledger tells them. Times are the database's (UTC, naive).

    ``linked`` are its commits under their last names: name, subject, first and last turn that led to it.
    """

    session_id: str
    agent: str
    actor: str
    agent_type: str | None
    author_name: str
    author_email: str
    origin: str
    parent_id: str | None
    branch: str | None
    title: str | None
    description: str | None
    turns: int
    human_turns: int
    started_at: object
    ended_at: object
    branches: list[str]
    commits: list[str]
    subjects: list[str]
    files: list[str]
    commands: list[str]
    steering: list[str]
    linked: list[tuple[str, str | None, int, int]]

    def text(self) -> str:
        """Text of the session's facet document, a facet a line."""
        heads = [part for part in (self.title, self.description) if part]
        steering = [said[:_LONGEST_STEERING] for said in self.steering]
        lines = [*heads, *self.branches, *self.subjects, *self.files, *self.commands[:_MOST_COMMANDS], *steering]
        return "\n".join(lines)


def _follow_steps(commits: Iterable[str], steps: Mapping[str, Collection[str]]) -> set[str]:
    """``commits`` and all that ``steps`` lead to from them."""
    reached, ahead = set(), list(commits)
    while ahead:
        commit = ahead.pop()
        if commit not in reached:
            reached.add(commit)
            ahead += steps.get(commit, ())
    return reached


def changed_sessions(ledger: Connection, after: int) -> list[str]:
    """Ids of sessions with anything new since ledger position ``after``, in order."""
    found = ledger.execute(_CHANGED, {"after": after}).fetchall()
    rewrites = ledger.execute("SELECT new_sha, old_sha, pos FROM rewrites").fetchall()
    earlier: dict[str, list[str]] = {}
    for new, old, _ in rewrites:
        earlier.setdefault(new, []).append(old)
    if rewritten := _follow_steps((old for _, old, pos in rewrites if pos > after), earlier):
        found += ledger.execute(_OF_COMMITS, {"commits": list(rewritten)}).fetchall()
    return sorted({str(row[0]) for row in found})


def _distinct(*lists: Iterable[str | None] | None) -> list[str]:
    return sorted({value for values in lists for value in values or () if value})


def read_facets(ledger: Connection, session_ids: Sequence[str]) -> list[Facets]:
    """Facets of the given sessions, ordered by id; sessions that the ledger does not have are left out."""

    def by_session(sql: str) -> dict[str, list[tuple[Any, ...]]]:
        found: dict[str, list[tuple[Any, ...]]] = {}
        for session_id, *row in ledger.execute(sql, {"ids": list(session_ids)}).fetchall():
            found.setdefault(session_id, []).append(tuple(row))
        return found

    spans, steering, calls, changed, commits = map(by_session, (_SPANS, _STEERING, _CALLS, _CHANGED_FILES, _COMMITS))
    later = _later(ledger) if commits else {}
    rows = []
    for *head, started in ledger.execute(_HEADS, {"ids": list(session_ids)}).fetchall():
        session_id, branch = head[0], head[8]
        ((turns, human, first, last),) = spans.get(session_id, [(0, 0, None, None)])
        paths, commands = _columns(calls.get(session_id), 2)
        shas, subjects, branches, firsts, lasts = _columns(commits.get(session_id), 5)
        (files,), (said,) = _columns(changed.get(session_id), 1), _columns(steering.get(session_id), 1)
        span = (turns, human, started or first, last or started)
        # A commit that was amended, rebased or squashed is found by its old and by its new name.
        commit = (_distinct(branches, [branch]), _distinct(_follow_steps(shas, later)), _distinct(subjects))
        turns_of = zip((_last_name(sha, later) for sha in shas), subjects, firsts, lasts, strict=True)
        linked = sorted(set(turns_of), key=lambda one: (one[2], one[3], one[0], one[1] or ""))
        known = (_distinct(paths, files), _distinct(commands), list(said), linked)
        rows.append(make_record(Facets, (*head, *span, *commit, *known)))
    return rows


def _later(ledger: Connection) -> dict[str, list[str]]:
    """Commits by the commit that they replaced (amend, rebase, squash)."""
    later: dict[str, list[str]] = {}
    for old, new in ledger.execute("SELECT old_sha, new_sha FROM rewrites").fetchall():
        later.setdefault(old, []).append(new)
    return later


def _last_name(sha: str, later: Mapping[str, Sequence[str]]) -> str:
    """The name that a commit has after all that was amended and rebased; the first in order where there are two."""
    passed = {sha}
    while ahead := [one for one in sorted(later.get(sha, ())) if one not in passed]:
        sha = ahead[0]
        passed.add(sha)
    return sha


def _columns(rows: Sequence[tuple[Any, ...]] | None, count: int) -> Sequence[Sequence[Any]]:
    return list(zip(*rows, strict=True)) if rows else [()] * count


def _remove_facets(index: Connection, ordinals: Sequence[int]) -> None:
    """Take out the rows and documents of sessions, to be written anew."""
    if ordinals:
        for table in ("facets", "session_files", "session_commits"):
            index.execute(f"DELETE FROM {table} WHERE list_contains(?, session_ord)", [list(ordinals)])
        remove_docs(index, "facet", "list_contains(?, session_ord)", [list(ordinals)])


def replace_facets(
    index: Connection, rows: Sequence[Facets], ordinals: dict[str, int], indexed: Sequence[int]
) -> list[Doc]:
    """Write the rows of these sessions anew; returns their facet documents, still to be added.

    ``ordinals`` are numbers by session id, ``indexed`` those of sessions that have rows already.
    """
    _remove_facets(index, indexed)
    insert_index_rows(index, "facets", _FACETS_TYPES, [_facet_row(row, ordinals[row.session_id]) for row in rows])
    files = [(ordinals[row.session_id], path) for row in rows for path in row.files]
    insert_index_rows(index, "session_files", ("INTEGER", "VARCHAR"), files)
    linked = [(ordinals[row.session_id], *one) for row in rows for one in row.linked]
    insert_index_rows(index, "session_commits", ("INTEGER", "VARCHAR", "VARCHAR", "INTEGER", "INTEGER"), linked)
    return [Doc("facet", row.text(), session_ord=ordinals[row.session_id], session_id=row.session_id) for row in rows]


def _facet_row(f: Facets, ordinal: int) -> tuple[object, ...]:
    who = (ordinal, f.session_id, f.agent, f.actor, f.agent_type, f.author_name, f.author_email, f.origin)
    where = (f.parent_id, f.branch, f.title, None, f.turns, f.human_turns, f.started_at, f.ended_at)
    return (*who, *where, f.branches, f.commits, f.files, f.commands)


def copy_opened(ledger: Connection, index: Connection, after: int) -> None:
    """Replace the counts of openings in the index when the ledger has any newer than position ``after``.

    By session: how often it was opened and shown on this machine, and the question it was opened for most.
    """
    if ledger.execute("SELECT 1 FROM recall_edges WHERE pos > ? LIMIT 1", [after]).fetchone() is None:
        return
    rows = ledger.execute(
        """SELECT session_id, count(*) FILTER (kind = 'opened'), count(*) FILTER (kind = 'surfaced'),
               first(query ORDER BY asked DESC, query) FILTER (kind = 'opened' AND query IS NOT NULL)
           FROM (SELECT *, count(*) OVER (PARTITION BY session_id, kind, query) AS asked FROM recall_edges)
           GROUP BY session_id ORDER BY session_id"""
    ).fetchall()
    index.execute("DELETE FROM opened")
    insert_index_rows(index, "opened", ("VARCHAR", "INTEGER", "INTEGER", "VARCHAR"), rows)


# Who speaks in a turn, where its text says so: "Ada: I moved it".
#
# Imported talk often comes as turns that begin with a name. A session has speakers if names that open two of its turns
# or more open at least half of them: a single "Note: ..." makes nobody a person.

Longs = NDArray[np.int64]

LABEL = r"^(\p{Lu}[\p{L}\p{N}_'’.-]*(?: \p{Lu}[\p{L}\p{N}_'’.-]*)?):\s+"
"""Label at the start of a turn, as DuckDB spells patterns."""

_LONGEST_LABEL = 60  # characters of a turn that are looked at
_MOST_SPEAKERS = 12  # of one session; more are headings
_FEWEST_TURNS = 2
_NO_SPEAKER = frozenset(
    """agent ai answer assistant bug caution chore context done error example feat feature fix goal hint human important
    info input issue note output plan problem question reason refactor result risk status step summary system task test
    tests tip title todo tool update user verdict warning""".split()  # noqa: SIM905 - a list of words reads as one
)
NOBODY, UNKNOWN = -3, -2


class Speakers(msgspec.Struct, frozen=True):
    """``says`` and ``hears`` are numbers in ``names``, by place of the turn: :data:`NOBODY` says a turn without a
    label, :data:`UNKNOWN` hears one in a session that has not exactly two speakers.
    """

    names: tuple[str, ...]
    says: Longs
    hears: Longs

    def sessions_of(self, session: NDArray[np.int32], persons: Sequence[str], count: int) -> NDArray[np.bool_]:
        """Mask by session number: sessions in which one of ``persons`` speaks; ``session`` is by place."""
        wanted = [self.names.index(person) for person in persons if person in self.names]
        return np.bincount(session, np.isin(self.says, wanted), minlength=count) > 0


def write_speakers(index: Connection, ordinals: Sequence[int]) -> None:
    """Note the speakers of the sessions with these numbers anew; their turns are in the index already."""
    index.execute("DELETE FROM speech WHERE list_contains(?, session_ord)", [list(ordinals)])
    labelled = index.execute(
        f"""SELECT session_ord, doc_id, regexp_extract(left(text, {_LONGEST_LABEL}), ?, 1) AS label FROM docs
            WHERE kind = 'turn' AND list_contains(?, session_ord) AND label <> '' ORDER BY session_ord, doc_id""",
        [LABEL, list(ordinals)],
    ).fetchall()
    turns: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for number, doc, label in labelled:
        if str(label).casefold() not in _NO_SPEAKER:
            turns[int(number)].append((int(doc), str(label)))
    sizes = _count_turns(index, list(turns))
    rows = [(number, *row) for number, said in turns.items() for row in _speech(said, sizes[number])]
    insert_index_rows(index, "speech", ("INTEGER", "INTEGER", "VARCHAR", "VARCHAR"), rows)


def _count_turns(index: Connection, ordinals: Sequence[int]) -> dict[int, int]:
    sql = """SELECT session_ord, count(*) FROM docs WHERE kind = 'turn' AND list_contains(?, session_ord)
        GROUP BY session_ord"""
    return {int(number): int(count) for number, count in index.execute(sql, [list(ordinals)]).fetchall()}


def _speech(said: Sequence[tuple[int, str]], turns: int) -> list[tuple[int, str, str | None]]:
    """Rows (document, says, hears) of one session's labelled turns; none when its labels are no speakers."""
    counted = Counter(label for _, label in said)
    again = sorted(label for label, count in counted.items() if count >= _FEWEST_TURNS)
    if not again or len(again) > _MOST_SPEAKERS or sum(counted[label] for label in again) * 2 < turns:
        return []
    other = dict(zip(again, reversed(again), strict=True)) if len(again) == 2 else {}
    return [(doc, label, other.get(label)) for doc, label in said if label in again]
