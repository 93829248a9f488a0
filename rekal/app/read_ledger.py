"""Reading the ledger: a session with its turns, every turn that holds a text, the log of commits."""

from __future__ import annotations

from datetime import UTC, datetime

import msgspec

from rekal.app.context import App
from rekal.errors import UsageError
from rekal.model import Checkpoint, Rewrite, Session
from rekal.store import queries, spool
from rekal.store.ledger import Ledger, open_ledger

_AROUND = 70  # characters shown on each side of a mention


class ShownSession(msgspec.Struct, frozen=True):
    """A session with some of its turns, its commits and its sub-agents' sessions: ``show --json``."""

    session: Session
    total_turns: int
    checkpoints: list[Checkpoint]
    children: list[str]
    truncated: bool


class Mention(msgspec.Struct, frozen=True):
    """One turn that contains the text, with the words around its first occurrence."""

    session_id: str
    seq: int
    role: str
    occurred_at: datetime | None
    excerpt: str
    count: int


class Mentions(msgspec.Struct, frozen=True):
    """Every mention of a text, never cut: ``find --json``."""

    term: str
    mentions: int
    sessions: int
    turns: list[Mention]


def show_sessions(app: App, name: str, offset: int, limit: int) -> list[ShownSession]:
    """Read ``limit`` turns from ``offset`` on of the sessions called ``name``, and note that they were opened.

    ``name`` is the beginning of a session's id, or a commit: then all its sessions. Empty when nothing is called so;
    UsageError when several sessions are.
    """
    with open_ledger(app.layout.data, read_only=True) as ledger:
        found = [_read_session(ledger, s, offset, limit) for s in _find_sessions(app, ledger, name)]
    if found:
        opened = tuple(one.session.id for one in found)
        spool.put_event(app.layout.spool, spool.RecallEvent("opened", opened, datetime.now(UTC)))
    return found


def _find_sessions(app: App, ledger: Ledger, name: str) -> list[str]:
    found = queries.session_ids(ledger.con, name.lower()) if name else []
    if len(found) > 1:
        some = ", ".join(one[:10] for one in found[:4])
        raise UsageError(f"{name} could be {len(found)} sessions ({some})", "give more characters")
    if found:
        return found
    sha = app.repo.ask("rev-parse", "--verify", "--quiet", f"{name}^{{commit}}") or name
    checkpoints = queries.read_checkpoints(
        ledger.con, "starts_with(git_sha, ?) OR starts_with(id, ?)", [sha, name.lower()]
    )
    return list(dict.fromkeys(r.session_id for c in checkpoints for r in c.sessions))


def _read_session(ledger: Ledger, session_id: str, offset: int, limit: int) -> ShownSession:
    session = queries.read_session(ledger.con, session_id, offset, offset + limit - 1)
    if session is None:
        raise UsageError(f"session {session_id[:10]} is not in the store", "run `rekal sync` or look at `rekal log`")
    total = queries.count_turns(ledger.con, session_id)
    mine = "id IN (SELECT checkpoint_id FROM checkpoint_sessions WHERE session_id = ?)"
    checkpoints = queries.read_checkpoints(ledger.con, mine, [session_id])
    children = queries.read_children(ledger.con, session_id)
    return ShownSession(session, total, checkpoints, children, offset + limit < total)


def find_text(app: App, text: str, role: str | None) -> Mentions:
    """Find every turn that contains ``text`` literally, whatever its case, oldest first. UsageError without a text."""
    if not text:
        raise UsageError("there is no text to look for", 'give one: rekal find "SKIP LOCKED"')
    with open_ledger(app.layout.data, read_only=True) as ledger:
        rows = queries.turns_with_text(ledger.con, text, role)
    turns = [
        Mention(
            row.session_id,
            row.seq,
            row.role,
            row.occurred_at,
            _cut_around(row.content, text),
            row.content.lower().count(text.lower()),
        )
        for row in rows
    ]
    return Mentions(text, sum(t.count for t in turns), len({t.session_id for t in turns}), turns)


def _cut_around(content: str, text: str) -> str:
    """Return the first occurrence on one line, with the words beside it."""
    at = content.lower().find(text.lower())
    start, end = max(0, at - _AROUND), at + len(text) + _AROUND
    lead, tail = "…" if start else "", "…" if end < len(content) else ""
    return lead + " ".join(content[start:end].split()) + tail


class CommitLog(msgspec.Struct, frozen=True):
    """Commits with their sessions, newest first: ``log --json``. ``truncated``: older ones were left out.

    With ``--rewrites`` it is ``rewrites`` that is filled, else ``checkpoints``.
    """

    checkpoints: list[Checkpoint]
    truncated: bool
    rewrites: list[Rewrite] = []


class DrawnCommit(msgspec.Struct, frozen=True):
    """One line of git's graph: the lines it draws, the text of a commit if one stands there, and its sessions."""

    lines: str
    text: str
    checkpoints: tuple[Checkpoint, ...]


def read_log(
    app: App, limit: int, *, path: str | None = None, author: str | None = None, rewritten: bool = False
) -> CommitLog:
    """Read at most ``limit`` commits that changed ``path`` or a path below it, by the person of that e-mail address.

    Commits that were amended or rebased away are left out unless ``rewritten``.
    """
    conditions, values = ["true"], []
    if path:
        conditions.append(
            "id IN (SELECT checkpoint_id FROM files_touched WHERE path = ? OR starts_with(path, ?) OR old_path = ?)"
        )
        values += [path, path.rstrip("/") + "/", path]
    if author:
        conditions.append("author_email = ?")
        values.append(author)
    if not rewritten:
        # A commit that was copied or squashed may still be there, on its own branch.
        conditions.append("git_sha NOT IN (SELECT old_sha FROM rewrites WHERE how IN ('amend', 'rebase'))")
    with open_ledger(app.layout.data, read_only=True) as ledger:
        found = queries.read_checkpoints(ledger.con, " AND ".join(conditions), values, limit + 1)
    return CommitLog(found[:limit], len(found) > limit)


def read_rewrites(app: App, limit: int) -> CommitLog:
    """Read the commits that became others: by amend, rebase, squash or copy; the last one first."""
    with open_ledger(app.layout.data, read_only=True) as ledger:
        found = queries.read_rewritten(ledger.con, limit + 1)
    return CommitLog([], len(found) > limit, found[:limit])


def draw_graph(app: App, limit: int, path: str | None, author: str | None) -> list[DrawnCommit]:
    """Return git's own graph of the current branch, line by line, with the sessions of its commits."""
    narrowed = [f"--author={author}"] if author else []
    paths = ["--", path] if path else ["--"]
    # NUL stands in no subject: it marks the columns behind the lines that git draws.
    drawn = app.repo.run("log", "--graph", f"-n{limit}", "--format=%x00%H%x00%h  %cs  %s", *narrowed, *paths)
    rows = [[*row.split("\0", 2), "", ""][:3] for row in drawn.splitlines()]
    with open_ledger(app.layout.data, read_only=True) as ledger:
        found = queries.read_checkpoints(
            ledger.con, "list_contains(?::VARCHAR[], git_sha)", [[sha for _, sha, _ in rows if sha]]
        )
    by_sha: dict[str, list[Checkpoint]] = {}
    for checkpoint in found:
        by_sha.setdefault(checkpoint.git_sha, []).append(checkpoint)
    return [DrawnCommit(lines, text, tuple(by_sha.get(sha, ()))) for lines, sha, text in rows]
