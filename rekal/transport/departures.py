"""Departures: records that may leave, scanned once more and cut into segments, and what of them left before.

A checkpoint leaves once its commit is part of the mainline, and with it the turns that led to it and not one more.
Every string is scanned again by the scrubber on the way out: what it finds holds the checkpoint back and names the
session and the kind, because either the rules became stricter since it was stored or something got past them.

In distilled mode checkpoints leave without their turns; they are marked apart, so that a later change to full mode
sends the turns too.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal

import msgspec

from rekal.git import Repo
from rekal.model import LOCAL, Checkpoint, MemoryEvent, Rewrite, Session, SessionRange, Tombstone
from rekal.scrub import Scrubber
from rekal.store import commit_rows, queries
from rekal.store.ledger import Ledger
from rekal.store.tombstones import own_tombstones
from rekal.transport.mainline import RULE_VERSION, Mainline, Verdict, Why, judge_commits
from rekal.wire.segment import Record
from rekal.wire.session_parts import SessionPart

Share = Literal["full", "distilled", "none"]


class Held(msgspec.Struct, frozen=True):
    """Something that stays, and why, in words."""

    what: str
    why: str


class Claim(msgspec.Struct, frozen=True):
    """A memory of this clone as it may travel: the commit it was made at, and all its events in order.

    ``free`` says that it was released. One that no longer is still tells those who have it what became of it.
    """

    memory_id: str
    git_sha: str
    free: bool
    events: tuple[MemoryEvent, ...]


class Outgoing(msgspec.Struct, frozen=True):
    """Records that one publish would send. ``marks`` are the rows that say afterwards that it left."""

    records: list[Record]
    marks: list[Mark]
    checkpoints: list[Checkpoint]
    sessions: list[str]
    held: list[Held]
    verdicts: list[Verdict]
    memories: int = 0

    @property
    def empty(self) -> bool:
        """True if there is nothing to send."""
        return not self.records


def plan_outgoing(
    ledger: Ledger,
    repo: Repo,
    mainline: Mainline | None,
    share: Share,
    scrubber: Scrubber,
    said: Sequence[str] = (),
    claims: Sequence[Claim] = (),
) -> Outgoing:
    """Decide what leaves now; ``said`` are commits that the user says were merged. Writes nothing."""
    sent = read_sent(ledger)
    kinds = ("checkpoint",) if share == "full" else ("checkpoint", "summary")
    waiting = [
        c
        for c in commit_rows.own_checkpoints_in_force(ledger.con)
        if not any((kind, c.id) in sent.marks for kind in kinds)
    ]
    verdicts = judge_commits(repo, mainline, waiting, read_verdicts(ledger, mainline), said)
    open_ = [c for c, verdict in zip(waiting, verdicts, strict=True) if verdict.shareable]
    shut = [
        Held(f"{c.git_sha[:10]} {c.subject or ''}".strip(), str(v.why))
        for c, v in zip(waiting, verdicts, strict=True)
        if not v.shareable
    ]
    out = _Outbound(ledger, scrubber, sent, share)
    for checkpoint in reversed(open_):  # oldest first: a reader who gets half has the older half
        out.add(checkpoint)
    out.add_rewrites(commit_rows.read_rewrites_into(ledger.con, [c.git_sha for c in open_]))
    out.add_tombstones(own_tombstones(ledger.con))
    anchors = judge_commits(repo, mainline, anchors_of(ledger, claims), read_verdicts(ledger, mainline), said)
    memories = sum(out.add_claim(claim, anchor) for claim, anchor in zip(claims, anchors, strict=True))
    held = [*shut, *out.held]
    return Outgoing(out.records, out.marks, out.checkpoints, sorted(out.session_ids), held, verdicts, memories)


def anchors_of(ledger: Ledger, claims: Sequence[Claim]) -> list[Checkpoint]:
    """The commit of each claim, as the merge gate takes it: what it became, where it was rewritten since."""
    later = commit_rows.read_successors(ledger.con)
    found = []
    for claim in claims:
        sha, seen = claim.git_sha, {claim.git_sha}
        # `seen`: a rebase back and forth makes a ring of rewrites.
        while (new := later.get(sha)) is not None and new not in seen:
            seen.add(new)
            sha = new
        found.append(Checkpoint(claim.memory_id, sha, ""))
    return found


class _Outbound:
    """Collects records in the order they are sent, each once, each scanned."""

    def __init__(self, ledger: Ledger, scrubber: Scrubber, sent: Sent, share: Share) -> None:
        self._ledger = ledger
        self._scrubber = scrubber
        self._sent = sent
        self._share = share
        self.records: list[Record] = []
        self.marks: list[Mark] = []
        self.checkpoints: list[Checkpoint] = []
        self.session_ids: set[str] = set()
        self.held: list[Held] = []

    def add(self, checkpoint: Checkpoint) -> None:
        """Add a checkpoint, and in full mode the turns of its ranges that have not left yet. All of it or nothing."""
        full = self._share == "full"
        if not full:
            checkpoint = msgspec.structs.replace(checkpoint, sessions=())
        parts = [part for r in checkpoint.sessions for part in self._parts(r)]
        secrets = [(f"session {p.id[:10]}", self._secrets(_strings_of_session(p))) for p in parts]
        secrets.append((f"checkpoint {checkpoint.git_sha[:10]}", self._secrets(_strings_of_checkpoint(checkpoint))))
        found = [Held(what, f"contains what looks like {kinds}") for what, kinds in secrets if kinds]
        if found:
            self.held.extend(found)
            return
        for part in parts:
            self._send(part)
        self.records.append(checkpoint)
        self.marks.append(("checkpoint" if full else "summary", checkpoint.id))
        self.checkpoints.append(checkpoint)

    def _parts(self, r: SessionRange) -> Iterator[Session]:
        for first, last in self._sent.gaps(r):
            session = queries.read_session(self._ledger.con, r.session_id, first, last)
            # A commit of a teammate's that was rewritten here carries the teammate's sessions: theirs to send.
            if session is not None and session.origin == LOCAL and (session.turns or session.tool_calls):
                yield session

    def _send(self, session: Session) -> None:
        head = ("head", session.id)
        if head not in self._sent.marks:
            self.records.append(msgspec.structs.replace(session, turns=(), tool_calls=(), edits=()))
            self.marks.append(head)
            self._sent.marks.add(head)
        self.records.append(SessionPart(session.id, session.turns, session.tool_calls, session.edits))
        seqs = [t.seq for t in session.turns] or [max(0, c.turn_seq) for c in session.tool_calls]
        self.marks.append(self._sent.mark_range(session.id, min(seqs), max(seqs)))
        self.session_ids.add(session.id)

    def add_rewrites(self, rewrites: Iterable[Rewrite]) -> None:
        """Add the rewrites that led to commits that leave."""
        for rewrite in rewrites:
            self._once(("rewrite", f"{rewrite.old_sha}:{rewrite.new_sha}"), rewrite)

    def add_tombstones(self, stones: Iterable[Tombstone]) -> None:
        """Add tombstones of this clone: only an id or a hash leaves."""
        for stone in stones:
            self._once(("tombstone", stone.target), stone)

    def add_claim(self, claim: Claim, anchor: Verdict) -> bool:
        """A memory whose commit is merged: its events that have not left yet. True if any leaves."""
        fresh = [event for event in claim.events if ("event", event.id) not in self._sent.marks]
        left_before = len(fresh) < len(claim.events)
        if not fresh or not (claim.free or left_before):
            return False
        name = f"memory {claim.memory_id[:10]}"
        if not (anchor.shareable or left_before):
            self.held.append(Held(name, f"its commit {anchor.why}"))
            return False
        if kinds := self._secrets(text for event in fresh for text in (event.payload, event.source)):
            self.held.append(Held(name, f"contains what looks like {kinds}"))
            return False
        for event in fresh:
            self._once(("event", event.id), event)
        return True

    def _once(self, mark: Mark, record: Record) -> None:
        if mark not in self._sent.marks:
            self._sent.marks.add(mark)
            self.records.append(record)
            self.marks.append(mark)

    def _secrets(self, strings: Iterable[str | None]) -> str:
        """The kinds found, in words; empty when there are none."""
        found: Counter[str] = Counter()
        for text in strings:
            if text:
                found.update(self._scrubber.kinds(text))
        return ", ".join(sorted(found))


def _strings_of_session(session: Session) -> Iterator[str | None]:
    yield from (session.title, session.description, session.branch, session.cwd, session.agent_type, session.native_id)
    for turn in session.turns:
        yield turn.content
    for call in session.tool_calls:
        yield from (call.tool, call.path, call.command, call.excerpt)
    for edit in session.edits:
        yield edit.path


def _strings_of_checkpoint(checkpoint: Checkpoint) -> Iterator[str | None]:
    yield from (checkpoint.subject, checkpoint.branch)
    for change in checkpoint.files:
        yield from (change.path, change.old_path)


Mark = tuple[str, str]
"""Kind and id of something sent: ``checkpoint``, ``head``, ``turns`` (``session:first:last``), ``rewrite``,
``tombstone``, ``event``."""


class Sent(msgspec.Struct):
    """Marks of everything sent, and the turns of each session among them."""

    marks: set[Mark]
    turns: dict[str, set[int]]

    def gaps(self, r: SessionRange) -> Iterator[tuple[int, int]]:
        """The stretches of a range that have not left, first and last turn of each."""
        # By the turns that left and not by the numbers of the range: a teammate may claim one of two thousand million.
        first = r.first_seq
        for seq in sorted(seq for seq in self.turns.get(r.session_id, ()) if r.first_seq <= seq <= r.last_seq):
            if first < seq:
                yield first, seq - 1
            first = seq + 1
        if first <= r.last_seq:
            yield first, r.last_seq

    def mark_range(self, session_id: str, first: int, last: int) -> Mark:
        """Note that turns are being sent; returns their mark."""
        self.turns.setdefault(session_id, set()).update(range(first, last + 1))
        mark = ("turns", f"{session_id}:{first}:{last}")
        self.marks.add(mark)
        return mark


def read_sent(ledger: Ledger) -> Sent:
    """Return the marks of everything sent so far."""
    marks = commit_rows.read_sent_marks(ledger.con)
    turns: defaultdict[str, set[int]] = defaultdict(set)
    for kind, name in marks:
        if kind == "turns":
            session_id, first, last = name.split(":")
            turns[session_id].update(range(int(first), int(last) + 1))
    return Sent(marks, dict(turns))


def read_verdicts(ledger: Ledger, mainline: Mainline | None) -> dict[str, Why]:
    """Return verdicts of the merge gate kept for this very tip, by commit."""
    if mainline is None:
        return {}
    names = commit_rows.read_verdict_names(ledger.con, mainline.tip, RULE_VERSION)
    return {sha: Why[name] for sha, name in names.items()}
