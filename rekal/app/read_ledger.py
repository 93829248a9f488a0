"""Reading the ledger: a session with its turns, every turn that holds a text, the log of commits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import UTC, datetime

import msgspec

from rekal.app.context import App
from rekal.errors import UsageError
from rekal.git import split_output
from rekal.model import LOCAL, Checkpoint, CitedMemory, Rewrite, Session
from rekal.store import commit_rows, queries, session_list, spool
from rekal.store.commit_rows import LogFilter
from rekal.store.ledger import Ledger, open_ledger
from rekal.store.memory_log import has_events
from rekal.store.session_list import SessionFilter, SessionRow, TextFilter
from rekal.store.why_rows import select_session_origins
from rekal.why.trust import Signature, list_signatures

_AROUND = 70  # characters shown on each side of a mention


class ShownSession(msgspec.Struct, frozen=True):
    """A session with some of its turns, its commits and its sub-agents' sessions: ``show --json``.

    ``signatures`` are, by origin, the verdicts on the signatures of teammates' refs: good, bad, none or unchecked.
    """

    session: Session
    total_turns: int
    checkpoints: list[Checkpoint]
    children: list[str]
    truncated: bool
    signatures: dict[str, Signature] = {}


class Mention(msgspec.Struct, frozen=True):
    """One turn that contains the text, with the words around its first occurrence."""

    session_id: str
    seq: int
    role: str
    occurred_at: datetime | None
    excerpt: str
    count: int
    origin: str = LOCAL


class Mentions(msgspec.Struct, frozen=True):
    """Every mention of a text, never cut: ``find --json``. ``signatures`` are as in :class:`ShownSession`."""

    term: str
    mentions: int
    sessions: int
    turns: list[Mention]
    signatures: dict[str, Signature] = {}


def show_sessions(app: App, name: str, offset: int, limit: int) -> list[ShownSession]:
    """Read ``limit`` turns from ``offset`` on of the sessions called ``name``.

    ``name`` is the beginning of a session's id, or a commit: then of all its sessions, from the turns that led to it.
    Empty when nothing is called so; UsageError when several sessions are.
    """
    with open_ledger(app.layout.data, read_only=True) as ledger:
        return [
            _open_session(ledger, one, first + offset, min(limit, count - offset) if count else limit)
            for one, first, count in _find_sessions(app, ledger, name)
        ]


def note_opened(app: App, sessions: Sequence[ShownSession]) -> None:
    """Leave an event that these sessions were opened: that is a choice, and counts. OSError for a read-only store."""
    opened = tuple(one.session.id for one in sessions)
    spool.note_recall(app.layout.spool, spool.RecallEvent("opened", opened, datetime.now(UTC)))


def _find_sessions(app: App, ledger: Ledger, name: str) -> list[tuple[str, int, int]]:
    """Return sessions by id, each with the first turn wanted and the number of turns; 0: all that follow."""
    found = queries.session_ids(ledger.con, name.lower()) if name else []
    if len(found) > 1:
        some = ", ".join(one[:10] for one in found[:4])
        raise UsageError(f"{name} could be {len(found)} sessions ({some})", "give more characters")
    if found:
        return [(found[0], 0, 0)]
    sha = app.repo.ask("rev-parse", "--verify", "--quiet", "--end-of-options", f"{name}^{{commit}}") or name
    checkpoints = commit_rows.checkpoints_named(ledger.con, sha, name.lower())
    ranges: dict[str, tuple[int, int]] = {}
    for one in (one for checkpoint in checkpoints for one in checkpoint.sessions):
        first, last = ranges.get(one.session_id, (one.first_seq, one.last_seq))
        ranges[one.session_id] = min(first, one.first_seq), max(last, one.last_seq)
    return [(session_id, max(0, first), last - max(0, first) + 1) for session_id, (first, last) in ranges.items()]


def _open_session(ledger: Ledger, session_id: str, offset: int, limit: int) -> ShownSession:
    session = queries.read_session(ledger.con, session_id, offset, offset + limit - 1)
    if session is None:
        raise UsageError(f"session {session_id[:10]} is not in the store", "run `rekal sync` or look at `rekal log`")
    total = queries.count_turns(ledger.con, session_id)
    checkpoints = commit_rows.checkpoints_of_session(ledger.con, session_id)
    children = queries.read_children(ledger.con, session_id)
    signed = list_signatures(ledger.con, [session.origin])
    return ShownSession(session, total, checkpoints, children, offset + limit < total, signed)


class SessionList(msgspec.Struct, frozen=True):
    """Sessions, newest first: ``sessions --json``. ``truncated``: older ones were left out.

    ``signatures`` are as in :class:`ShownSession`.
    """

    sessions: list[SessionRow]
    truncated: bool
    signatures: dict[str, Signature] = {}


def read_session_list(app: App, wanted: SessionFilter, limit: int, offset: int = 0) -> SessionList:
    """List at most ``limit`` sessions that ``wanted`` describes, after the first ``offset``; -1: all."""
    with open_ledger(app.layout.data, read_only=True) as ledger:
        found = session_list.list_sessions(ledger.con, wanted, limit + 1 if limit >= 0 else -1, offset)
        signed = list_signatures(ledger.con, [one.origin for one in found])
    shown = found[:limit] if limit >= 0 else found
    return SessionList(shown, len(found) > len(shown), signed)


def find_text(app: App, text: str, wanted: TextFilter) -> Mentions:
    """Find every turn that holds ``text``, oldest first: literally, whatever its case, or as a regular expression.

    UsageError without a text, and for an expression that is none.
    """
    if not text:
        raise UsageError("there is no text to look for", 'give one: rekal find "SKIP LOCKED"')
    try:
        expression = re.compile(text if wanted.regex else re.escape(text), re.IGNORECASE)
    except re.error as error:
        raise UsageError(f"{text} is no regular expression ({error})", "leave --regex out for a literal text") from None
    with open_ledger(app.layout.data, read_only=True) as ledger:
        rows = session_list.turns_with_text(ledger.con, text, wanted)
        senders = select_session_origins(ledger.con, {row.session_id for row in rows})
        origins = {name: one.origin for name, one in senders.items()}
        signed = list_signatures(ledger.con, origins.values())
    turns = []
    for row in rows:
        found = [match for match in expression.finditer(row.content) if match[0]]
        if found:
            excerpt = _cut_around(row.content, found[0])
            origin = origins.get(row.session_id, LOCAL)
            turns.append(Mention(row.session_id, row.seq, row.role, row.occurred_at, excerpt, len(found), origin))
    return Mentions(text, sum(t.count for t in turns), len({t.session_id for t in turns}), turns, signed)


def _cut_around(content: str, found: re.Match[str]) -> str:
    """Return the first occurrence on one line, with the words beside it."""
    start, end = max(0, found.start() - _AROUND), found.start() + min(len(found[0]), 200) + _AROUND
    lead, tail = "…" if start else "", "…" if end < len(content) else ""
    return lead + " ".join(content[start:end].split()) + tail


class CommitLog(msgspec.Struct, frozen=True):
    """Commits with their sessions, newest first: ``log --json``. ``truncated``: older ones were left out.

    With ``--rewrites`` it is ``rewrites`` that is filled, else ``checkpoints``. ``memories`` are decisions made at, or
    resting on, these commits; left out when there are none. ``signatures`` are as in :class:`ShownSession`.
    """

    checkpoints: list[Checkpoint]
    truncated: bool
    rewrites: list[Rewrite] = []
    signatures: dict[str, Signature] = {}
    memories: list[CitedMemory] | msgspec.UnsetType = msgspec.UNSET


class DrawnCommit(msgspec.Struct, frozen=True):
    """One line of git's graph: the lines it draws, the text of a commit if one stands there, and its sessions."""

    lines: str
    text: str
    checkpoints: tuple[Checkpoint, ...]


def read_log(app: App, limit: int, wanted: LogFilter) -> CommitLog:
    """Read at most ``limit`` commits that ``wanted`` describes. UsageError for a range that is none."""
    within = _list_range(app, wanted.span) if wanted.span else None
    with open_ledger(app.layout.data, read_only=True) as ledger:
        # One more than is shown tells whether older ones were left out.
        found = commit_rows.list_commits(ledger.con, wanted, within, limit + 1)
        decided = _decided_at(ledger, found[:limit])
        signed = list_signatures(ledger.con, [one.origin for one in found])
    return CommitLog(found[:limit], len(found) > limit, [], signed, decided or msgspec.UNSET)


def _decided_at(ledger: Ledger, checkpoints: Sequence[Checkpoint]) -> list[CitedMemory]:
    if not has_events(ledger.con):
        return []
    from rekal.app.memory_views import cite_memories  # 15 ms that only a store with memories costs

    return cite_memories(ledger.con, commits={one.git_sha for one in checkpoints})


def _list_range(app: App, span: str) -> list[str]:
    listed = None if span.startswith("-") else app.repo.ask("rev-list", span, "--")
    if listed is None:
        raise UsageError(f"{span} is not a range here", "write it as git does: main..HEAD")
    return listed.split()


def read_rewrites(app: App, limit: int) -> CommitLog:
    """Read the commits that became others: by amend, rebase, squash or copy; the last one first."""
    with open_ledger(app.layout.data, read_only=True) as ledger:
        found = queries.read_rewritten(ledger.con, limit + 1)
    return CommitLog([], len(found) > limit, found[:limit])


def draw_graph(app: App, limit: int, span: str | None, paths: Sequence[str], author: str | None) -> list[DrawnCommit]:
    """Return git's own graph of the current branch, line by line, with the sessions of its commits."""
    narrowed = [f"--author={author}"] if author else []
    # From the top of the work tree, wherever one stands.
    chosen = [*([span] if span else []), "--", *(f":/{path}" for path in paths)]
    # NUL stands in no subject: it marks the columns behind the lines that git draws.
    drawn = app.repo.run("log", "--graph", f"-n{limit}", "--format=%x00%H%x00%h  %cs  %s", *narrowed, *chosen)
    rows = [[*row.split("\0", 2), "", ""][:3] for row in split_output(drawn)]
    with open_ledger(app.layout.data, read_only=True) as ledger:
        found = commit_rows.checkpoints_of_commits(ledger.con, [sha for _, sha, _ in rows if sha])
    by_sha: dict[str, list[Checkpoint]] = {}
    for checkpoint in found:
        by_sha.setdefault(checkpoint.git_sha, []).append(checkpoint)
    return [DrawnCommit(lines, text, tuple(by_sha.get(sha, ()))) for lines, sha, text in rows]
