"""Everything that is new since somebody last looked: sessions by branch, open ends, recalls, what waits."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime, timedelta
from typing import Literal

import msgspec

from rekal.app.context import App
from rekal.app.desk import Desk
from rekal.errors import GitError
from rekal.files import read_or_empty, write_atomically
from rekal.git.repo import find_merged_commits
from rekal.memory.grounds import GroundReader, Grounds
from rekal.memory.state import Memory, fold
from rekal.store import session_list
from rekal.store.ledger import open_ledger
from rekal.store.locks import hold_lock
from rekal.store.memory_log import read_events
from rekal.store.overview import open_ends, overview_rows
from rekal.store.overview.open_ends import OpenEnd
from rekal.store.overview.overview_rows import RecalledQuestion
from rekal.store.session_list import SessionFilter, SessionRow

_FIRST_LOOK = timedelta(days=7)
_MOST_SESSIONS = 60
_MOST_ENDS = 12
_MOST_QUESTIONS = 12
_MOST_RULES = 8
_PATIENCE = 10.0  # seconds


class NewSession(msgspec.Struct, frozen=True):
    """A session with turns since the visit. ``state``: ``merged``, ``open``, ``uncommitted``, or ``committed``.

    ``committed`` is said where nobody can tell whether the commits are merged.
    """

    row: SessionRow
    state: str


class NewOnBranch(msgspec.Struct, frozen=True):
    """A branch and its sessions, newest first."""

    branch: str
    sessions: list[NewSession]


class SinceVisit(msgspec.Struct, frozen=True):
    """All that is new since ``since``. ``first``: nobody has ever said that they looked.

    ``proposed`` counts memories that wait for a person's word, ``unsent`` commits with sessions that never left this
    clone. ``truncated``: there are more sessions than are listed.
    """

    since: datetime
    first: bool
    branches: list[NewOnBranch]
    truncated: bool
    ends: list[OpenEnd]
    questions: list[RecalledQuestion]
    titles: dict[str, str]
    proposed: int
    unsent: int
    shares: bool


class LostGround(msgspec.Struct, frozen=True):
    """A decision of which a file or symbol has changed or gone, and the commit that did it."""

    memory: Memory
    grounds: Grounds


def read_visit(app: App) -> datetime | None:
    """Return when somebody last said that they had seen everything; None when nobody ever did."""
    try:
        return datetime.fromisoformat(read_or_empty(app.layout.web_visit).decode("ascii"))
    except ValueError:
        return None


def note_visit(app: App, when: datetime) -> None:
    """Remember that all up to ``when`` was seen. OSError where the store cannot be written."""
    write_atomically(app.layout.web_visit, when.astimezone(UTC).isoformat().encode())


def read_since_visit(app: App, since: datetime | None = None) -> SinceVisit:
    """Read what is new since ``since``; None: since the last visit, or for a week at the first one."""
    seen = read_visit(app)
    when = since or seen or datetime.now(UTC) - _FIRST_LOOK
    with open_ledger(app.layout.data, read_only=True) as ledger:
        rows = session_list.list_sessions(ledger.con, SessionFilter(since=when), _MOST_SESSIONS + 1)
        rows, truncated = rows[:_MOST_SESSIONS], len(rows) > _MOST_SESSIONS
        ends = open_ends.find_open_ends(ledger.con, [row.id for row in rows])[:_MOST_ENDS]
        questions = [one for one in overview_rows.read_recalled(ledger.con, _MOST_QUESTIONS) if one.occurred_at >= when]
        named = {one for question in questions for one in question.sessions} | {end.session_id for end in ends}
        titles = overview_rows.read_titles(ledger.con, sorted(named | {row.id for row in rows}))
        held = fold(read_events(ledger.con), datetime.now(UTC)).all
        unsent = overview_rows.count_unsent(ledger.con)
    merged = _find_merged(app, rows)
    by_branch: dict[str, list[NewSession]] = {}
    for row in rows:
        by_branch.setdefault(row.branch or "", []).append(NewSession(row, _state_of(row, merged)))
    proposed = sum(one.state == "proposed" and one.origin == "local" for one in held)
    transport = app.config.transport
    return SinceVisit(
        when, seen is None, [NewOnBranch(*pair) for pair in by_branch.items()], truncated, ends, questions, titles,
        proposed, unsent, transport.share != "none" and bool(transport.remotes),
    )  # fmt: skip


def judge_recall(app: App, query: str, sessions: Sequence[str], verdict: Literal["right", "wrong"]) -> None:
    """Remember what somebody says of an answer: that it, or its silence, was right or wrong. Stays on this machine."""
    with (
        hold_lock(app.layout.lock, wait=_PATIENCE, purpose="noting"),
        open_ledger(app.layout.data, read_only=False, wait=_PATIENCE) as ledger,
        ledger.transaction(indexed=False),
    ):
        for session in sessions or ("",):
            ledger.add_recall_edge(verdict, session, app.scrub(query), datetime.now(UTC))


def _state_of(row: SessionRow, merged: Mapping[str, bool]) -> str:
    if not row.commits:
        return "uncommitted"
    judged = [merged[sha] for sha in row.commits if sha in merged]
    return "committed" if not judged else "merged" if any(judged) else "open"


def _find_merged(app: App, rows: list[SessionRow]) -> dict[str, bool]:
    """Say of each commit whether it is part of what everybody has; of none where nobody can tell."""
    shas = sorted({sha for row in rows for sha in row.commits[:3]})
    if not shas:
        return {}
    chosen = app.config.transport
    remote = next(iter(sorted(chosen.remotes)), "origin")
    try:
        return find_merged_commits(app.repo, shas, f"refs/remotes/{remote}/{chosen.mainline or 'HEAD'}")
    except GitError:  # a damaged repository costs the mark alone
        return {}


def find_lost_grounds(app: App) -> list[LostGround]:
    """Find decisions that hold, and of which a file or symbol has changed or gone since; newest first."""
    desk = Desk(app.home, app.env, app, "web")
    rules = [one for one in desk.memories().all if one.is_rule and one.opens_gate and not one.personal]
    newest = sorted(rules, key=lambda one: (one.state == "accepted", one.updated_at), reverse=True)[:_MOST_RULES]
    reader = GroundReader(app.repo)
    found = [LostGround(one, reader.look(one)) for one in newest]
    return [one for one in found if one.grounds.state in ("stale", "lost")]
