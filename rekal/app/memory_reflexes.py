"""Reflexes of the worker: after a capture, what the new commits and the words that led to them suggest to remember.

A proposal's id is derived from its evidence, so the same evidence proposes once, and what was forgotten stays so.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from itertools import islice

import msgspec

from rekal import ids
from rekal.app.context import App
from rekal.app.desk import Desk
from rekal.git import join_lines, split_output
from rekal.memory.abandoned import find_abandoned
from rekal.memory.reflexes import find_done_instead, find_statements, find_trailers, reverted_commits
from rekal.memory.write import Actor, NewMemory, make_memory
from rekal.model import Checkpoint, MemoryEvent, Session
from rekal.store import commit_rows, queries
from rekal.store.database import Connection
from rekal.store.ledger import Ledger, open_ledger
from rekal.store.memory_log import append_events
from rekal.transport.mainline import Mainline, Why, judge_commits

_MOST_OF_A_COMMIT = 3  # statements proposed for one commit: few and sharp, or nobody reviews them
_MOST_BRANCHES = 5
_MOST_PATHS = 3  # named in the reason of an abandoned approach
_LOOKED_AT_AGAIN = 5
_RECENT = timedelta(days=30)
_AGENTS_HAND = re.compile(
    r"(?im)^(co-authored-by:.*\b(claude|codex|copilot|cursor|gemini|kiro|opencode)\b|.*generated with )"
)


class _Proposal(msgspec.Struct, frozen=True):
    """A memory to propose, its author, and the evidence that makes its id."""

    evidence: tuple[str, ...]
    new: NewMemory
    actor: Actor
    commit: str


def propose_memories(app: App, shas: Sequence[str], examined: Collection[str] = ()) -> list[str]:
    """Remember what new commits, given by name, and recently deleted branches suggest.

    Returns marks of the newest commits: given as ``examined`` the next time, they are not read again. Raises the
    store's errors and GitError.
    """
    if not app.config.memory.reflexes:
        return []
    with open_ledger(app.layout.data, read_only=True) as ledger:
        # The newest checkpoints again: a worker that was killed after it captured them may not have come to this.
        newest = commit_rows.own_checkpoints(ledger.con, _LOOKED_AT_AGAIN)
        marks = {one.git_sha: _mark_of(app, one.git_sha) for one in newest}
        commits = dict.fromkeys((*shas, *(sha for sha, mark in marks.items() if mark not in examined)))
        found = [proposal for one in _read_messages(app, commits) for proposal in _of_commit(app, ledger.con, one)]
        found += _of_branches(app, ledger.con) if _is_on(app, "branches") else []
    desk = Desk(app.home, app.env, app, "hook", "human")
    now = datetime.now(UTC)
    events = [_event(proposal, now, desk) for proposal in found]
    if events:
        with desk.writing(personal=False) as ledger:
            append_events(ledger, [event for event in events if not _was_forgotten(ledger, event)])
    return list(marks.values())


def _mark_of(app: App, sha: str) -> str:
    """Name a commit together with the reflexes that are on: with others it has to be read once more."""
    return ids.content_hash(f"{sha} {app.config.memory.reflexes}")


def _is_on(app: App, reflex: str) -> bool:
    """True if the settings let ``reflex`` propose memories."""
    chosen = app.config.memory.reflexes
    return chosen if isinstance(chosen, bool) else reflex in chosen


def _was_forgotten(ledger: Ledger, event: MemoryEvent) -> bool:
    return ledger.is_forgotten(event.memory_id) or ledger.is_forgotten(event.id)


def _event(proposal: _Proposal, now: datetime, desk: Desk) -> MemoryEvent:
    memory_id = ids.derive("reflex", *proposal.evidence)
    new = msgspec.structs.replace(proposal.new, id=memory_id)
    event = make_memory(new, proposal.actor, now, desk.scrub, proposal.commit)
    return msgspec.structs.replace(event, id=ids.derive("reflex-event", memory_id))


class _CommitMessage(msgspec.Struct, frozen=True):
    """The message of a commit, and who made it."""

    sha: str
    email: str
    name: str
    subject: str
    text: str


def _read_messages(app: App, shas: Iterable[str]) -> list[_CommitMessage]:
    """Messages of commits by name, in one process; those that are not there are left out."""
    chosen = ("--no-walk=unsorted", "--ignore-missing", "--no-show-signature", "--stdin")
    out = app.repo.run("log", "-z", "--format=%H%n%ae%n%an%n%s%n%B", *chosen, stdin=join_lines(shas), timeout=60.0)
    return [_CommitMessage(*entry.split("\n", 4)) for entry in out.split("\0") if entry]


def _of_commit(app: App, con: Connection, commit: _CommitMessage) -> Iterator[_Proposal]:
    sha, email, name, subject, message = msgspec.structs.astuple(commit)
    by_agent = bool(_AGENTS_HAND.search(message))
    if email == app.author.email:
        who = Actor(f"agent for {name}", "agent", "hook") if by_agent else Actor(name, "human", "hook")
        for trailer in find_trailers(message) if _is_on(app, "trailers") else ():
            new = NewMemory(trailer.text, trailer.kind, because=trailer.because, source=sha)
            yield _Proposal(("trailer", sha, trailer.kind, trailer.text), new, who, sha)
    for old in reverted_commits(message) if _is_on(app, "reverts") else ():
        reverted = app.repo.commit(old)
        if reverted is not None:
            words = [line for line in message.splitlines()[1:] if line.strip() and "This reverts commit" not in line]
            because = " ".join(line for line in words if not re.match(r"[\w-]+: ", line)) or None
            new = NewMemory(reverted.subject or old, "dead_end", because=because, source=reverted.sha, quote=subject)
            yield _Proposal(("revert", reverted.sha), new, Actor("revert", "derived", "hook"), sha)
    if _is_on(app, "statements") or _is_on(app, "abandoned"):
        yield from _of_turns(app, con, sha)


def _of_turns(app: App, con: Connection, sha: str) -> Iterator[_Proposal]:
    """Propose what people said, and what agents gave up, in the turns that led to a commit of ours."""
    count = 0
    for checkpoint in commit_rows.own_checkpoints(con, sha=sha):
        for span in checkpoint.sessions:
            session = queries.read_session(con, span.session_id, span.first_seq, span.last_seq)
            if session is None:
                continue
            found = _of_statements(session, sha) if _is_on(app, "statements") and session.actor == "human" else iter(())
            for proposal in islice(found, _MOST_OF_A_COMMIT - count):
                yield proposal
                count += 1
            if _is_on(app, "abandoned"):
                yield from _of_abandoned(session, sha)


def _of_statements(session: Session, sha: str) -> Iterator[_Proposal]:
    """A person's sentences that fix something; what a refusal is replaced by, from that turn or the agent's answer."""
    for place, turn in enumerate(session.turns):
        for one in find_statements(turn.content) if turn.role in ("human", "steering") else ():
            source = f"{session.id}#{turn.seq}"
            instead = one.instead
            if one.kind == "dead_end" and instead is None:
                answers = (later.content for later in session.turns[place + 1 :] if later.role == "assistant")
                instead = find_done_instead(next(answers, ""))
            new = NewMemory(
                one.text, one.kind, instead=instead, source=source, quote=one.text, occurred_at=turn.occurred_at
            )
            yield _Proposal(("turn", turn.uid, one.text), new, Actor("steering", "derived", "hook"), sha)


def _of_abandoned(session: Session, sha: str) -> Iterator[_Proposal]:
    for one in find_abandoned(session):
        because = f"`{one.failed}` failed and {', '.join(one.paths[:_MOST_PATHS])} was put back"
        source = f"{session.id}#{one.turn_seq}"
        new = NewMemory(one.text, "dead_end", because=because, source=source, quote=one.text)
        yield _Proposal(("abandoned", one.turn_uid, one.text), new, Actor("abandoned", "derived", "hook"), sha)


def _of_branches(app: App, con: Connection) -> list[_Proposal]:
    """Branches that are gone and whose last commit is no part of HEAD's history in any form."""
    recent = commit_rows.own_checkpoints_on_branches(con, datetime.now(UTC) - _RECENT)
    if not recent:
        return []
    present = set(split_output(app.repo.ask("for-each-ref", "--format=%(refname:short)", "refs/heads")))
    last: dict[str, Checkpoint] = {}
    for checkpoint in recent:  # newest first
        if checkpoint.branch not in present:
            last.setdefault(str(checkpoint.branch), checkpoint)
    gone = list(last.values())[:_MOST_BRANCHES]
    head = app.repo.head() if gone else None
    if head is None:
        return []
    verdicts = judge_commits(app.repo, Mainline("HEAD", head), gone)
    return [
        _Proposal(
            ("branch", one.git_sha),
            NewMemory(
                one.subject or f"the approach of branch {one.branch}", "dead_end",
                because=f"branch {one.branch} was deleted unmerged", source=one.git_sha, quote=one.subject,
            ),
            Actor("deleted branch", "derived", "hook"),
            one.git_sha,
        )
        for one, verdict in zip(gone, verdicts, strict=True)
        if verdict.why is Why.UNMERGED
    ]  # fmt: skip
