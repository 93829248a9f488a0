"""Commits as git describes them, and which turns led to which.

A session that edited, through its agent's tools, a file that the commit changes is linked as ``edited``: two sessions
at work at once are told apart by their files. When no session did (edits made through a shell leave no trace), the
one session that was active shortly before the commit is linked as ``active``. Two such sessions are ambiguous: the
commit is then left without a session and the reason is kept, because a wrong answer to "why is this line here" is
worse than none.

The range of turns starts after the previous checkpoint of the same session; an edit that waited for its commit while
others went ahead pulls the start back to itself.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING

import msgspec

from rekal import ids
from rekal.capture.read_sources import Job
from rekal.git import Commit, Repo, split_output
from rekal.git.patch_ids import compute_first_parent_patch_ids
from rekal.model import Checkpoint, Evidence, FileChange, SessionRange
from rekal.store import commit_rows
from rekal.store.commit_rows import CommitPoint
from rekal.store.ledger import Ledger

if TYPE_CHECKING:
    from rekal.scrub import Scrubber


# Commit times have whole seconds, so a turn of the same second may seem later than the commit it led to.
_SLACK = timedelta(seconds=2)
ACTIVE_WITHIN = timedelta(hours=4)
EDIT_WITHIN = timedelta(days=30)

_FEW = 3

NO_SESSION = "no session edited its files or was active before it"
AMBIGUOUS = "several sessions were active and none of them edited its files"


class CommitFacts(msgspec.Struct, frozen=True):
    """All that linking wants to know of a commit; gathered before the store is opened."""

    commit: Commit
    changes: tuple[FileChange, ...]
    patch_id: str | None
    branch: str | None


class Linked(msgspec.Struct, frozen=True):
    """The outcome of one commit: its checkpoint, or why it has none."""

    sha: str
    checkpoint: Checkpoint | None
    reason: str = ""


def link_commit(
    ledger: Ledger, commits: Sequence[CommitFacts], author_email: str, *, backfill: bool = False
) -> list[Linked]:
    """Link commits, in their order, to the sessions that made them and store the checkpoints. Inside a transaction.

    Only checkpoints of earlier commits count, so linking again what is linked finds the same. What came of them that
    was not stored before is returned.
    """
    # Most commits of a long back-fill change nothing that a session edited, which one look at all paths can tell.
    edited = commit_rows.select_edited_paths(ledger.con) if len(commits) > _FEW else None
    found: list[Linked] = []
    for facts in commits:
        ranges, reason = _linked_ranges(ledger, facts, edited, backfill=backfill)
        checkpoint = _checkpoint(facts, author_email, ranges) if ranges else None
        if checkpoint is None or ledger.add_checkpoint(checkpoint):
            found.append(Linked(facts.commit.sha, checkpoint, reason))
    stored = ledger.checkpoints_among([ids.checkpoint_id(one.sha, author_email) for one in found if not one.checkpoint])
    news = [one for one in found if one.checkpoint or ids.checkpoint_id(one.sha, author_email) not in stored]
    ledger.cover([one.sha for one in news if one.checkpoint])
    ledger.add_uncovered([(one.sha, one.reason) for one in news if not one.checkpoint])
    return news


def _checkpoint(facts: CommitFacts, author_email: str, ranges: Sequence[SessionRange]) -> Checkpoint:
    commit = facts.commit
    return Checkpoint(
        id=ids.checkpoint_id(commit.sha, author_email),
        git_sha=commit.sha,
        author_email=author_email,
        tree_sha=commit.tree,
        patch_id=facts.patch_id,
        parent_sha=commit.parents[0] if commit.parents else None,
        branch=facts.branch,
        subject=commit.subject,
        committed_at=commit.committed_at,
        files=facts.changes,
        sessions=tuple(ranges),
    )


def _linked_ranges(
    ledger: Ledger, facts: CommitFacts, paths: frozenset[str] | None, *, backfill: bool
) -> tuple[list[SessionRange], str]:
    if paths is None or not paths.isdisjoint(_paths(facts)):
        edited = edited_ranges(ledger, facts, "backfill" if backfill else "edited")
        if edited:
            return edited, ""
    if backfill:
        return [], NO_SESSION  # what was active months ago is a guess
    active = _active(ledger, facts)
    if len(active) > 1:
        return [], AMBIGUOUS
    return [SessionRange(s, first, last, "active") for s, first, last in active], NO_SESSION


def edited_ranges(ledger: Ledger, facts: CommitFacts, evidence: Evidence = "edited") -> list[SessionRange]:
    """The turns of each session that edited files of this commit, as far as no earlier checkpoint has them."""
    return [_range(ledger, facts, session, first, evidence) for session, first in _edited(ledger, facts)]


def _paths(facts: CommitFacts) -> list[str]:
    return [path for change in facts.changes for path in (change.path, change.old_path) if path]


def _point(facts: CommitFacts) -> CommitPoint:
    return CommitPoint(facts.commit.sha, facts.commit.committed_at)


def _edited(ledger: Ledger, facts: CommitFacts) -> list[tuple[str, int]]:
    """Sessions with an edit of a changed file that no earlier checkpoint of theirs accounts for, and its first turn.

    A sub-agent's edit counts for its parent too: the parent asked for it.
    """
    when = facts.commit.committed_at
    rows = commit_rows.select_open_edits(ledger.con, _point(facts), _paths(facts), when - EDIT_WITHIN, when + _SLACK)
    found = {session: max(first, 0) for session, first, _ in rows}
    parents = sorted({parent for _, _, parent in rows if parent} - set(found))
    # The parent of a sub-agent may be a session that was never captured: then there is no turn to point at.
    stored = [p for p in parents if commit_rows.has_turns(ledger.con, p)]
    return [*found.items(), *((p, commit_rows.first_open_turn(ledger.con, _point(facts), p)) for p in stored)]


def _range(ledger: Ledger, facts: CommitFacts, session_id: str, edit: int, evidence: Evidence) -> SessionRange:
    last = max(commit_rows.last_turn_until(ledger.con, session_id, facts.commit.committed_at + _SLACK), edit)
    first = commit_rows.first_open_turn(ledger.con, _point(facts), session_id)
    # An edit that waited while other commits went ahead lies before the first open turn: the range reaches back to it.
    return SessionRange(session_id, min(first, edit, last), last, evidence)


def _active(ledger: Ledger, facts: CommitFacts) -> list[tuple[str, int, int]]:
    when = facts.commit.committed_at
    return commit_rows.select_active_sessions(ledger.con, _point(facts), when - ACTIVE_WITHIN, when + _SLACK)


# What git says about commits, scrubbed: gathered before the store is opened, for many commits at once.

MAX_FILES = 10_000
"""Paths kept of one commit: a vendored tree of a million files says nothing about who worked on what."""

_ANCESTRY = re.compile(r"[~^].*$")
_NAME = re.compile(r"[0-9a-f]{40,64}")
_AT_ONCE = 200
_NO_BRANCH = "undefined"


def read_facts(repo: Repo, job: Job, shas: Iterable[str]) -> dict[str, CommitFacts]:
    """Facts of commits by name; those that are not there (any more) are left out. Raises GitError."""
    wanted = [sha for sha in dict.fromkeys(shas) if _NAME.fullmatch(sha)]
    groups = (wanted[at : at + _AT_ONCE] for at in range(0, len(wanted), _AT_ONCE))
    return {facts.commit.sha: facts for group in groups for facts in _read_facts(repo, job, group)}


def _read_facts(repo: Repo, job: Job, shas: Sequence[str]) -> Iterator[CommitFacts]:
    commits = repo.commits(shas)
    if not commits:
        return
    changes, branches = repo.changes(commits), _branches(repo, commits)
    patches = compute_first_parent_patch_ids(repo, commits)
    text = job.scrubber.text
    for commit in commits:
        yield CommitFacts(
            msgspec.structs.replace(commit, subject=text(commit.subject)),
            tuple(_scrub_change(job.scrubber, change) for change in changes.get(commit.sha, ())[:MAX_FILES]),
            patches.get(commit.sha),
            (branch := branches.get(commit.sha)) and text(branch),
        )


def _scrub_change(scrubber: Scrubber, change: FileChange) -> FileChange:
    old = change.old_path and scrubber.text(change.old_path)
    return msgspec.structs.replace(change, path=scrubber.text(change.path), old_path=old)


def _branches(repo: Repo, commits: Sequence[Commit]) -> dict[str, str | None]:
    """A local branch that contains each commit, the nearest by git's own measure; HEAD's is the current one."""
    named = repo.ask("name-rev", "--name-only", "--refs=refs/heads/*", *(commit.sha for commit in commits)) or ""
    found: dict[str, str | None] = {
        commit.sha: None if name == _NO_BRANCH else _ANCESTRY.sub("", name)
        for commit, name in zip(commits, split_output(named), strict=False)
    }
    if (head := repo.head()) in found:
        found[str(head)] = repo.branch()
    return found
