"""One capture: what is new in the transcripts and in git goes into the store.

This is what the hook's worker runs, and ``rekal checkpoint``. Under the writer's lock: look at the spool, read the
sources that changed, then open the store and append everything in one transaction (a long back-fill: one a batch).
Events leave the spool after their transaction is in, so a worker that dies loses nothing: the next one repeats it, and
what was stored already is known by its ids.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import closing
from datetime import UTC, datetime
from itertools import islice
from pathlib import Path
from typing import Literal

import msgspec

from rekal.agents.contract import Adapter, Source
from rekal.capture import link, parallel, read_sources, rewrites
from rekal.capture.former_places import find_former_places, note_places
from rekal.capture.link import CommitFacts, Linked, read_facts
from rekal.capture.rewrites import carry_over
from rekal.capture.whole_files import History
from rekal.errors import GitError, RekalError, StoreDamaged
from rekal.git import Repo
from rekal.ids import checkpoint_id
from rekal.model import Checkpoint, Edit, Rewrite, Session, ToolCall, writes_whole
from rekal.store import source_state, spool
from rekal.store.guard import keep_second_name
from rekal.store.layout import Layout
from rekal.store.ledger import Ledger, open_ledger, set_aside_damaged
from rekal.store.locks import hold_lock

Progress = Callable[[int, int], None]


class Captured(msgspec.Struct, frozen=True):
    """The outcome of one capture."""

    sessions: int = 0
    turns: int = 0
    calls: int = 0
    sources: int = 0
    linked: tuple[Linked, ...] = ()
    carried: tuple[Checkpoint, ...] = ()
    warnings: tuple[str, ...] = ()

    @property
    def checkpoints(self) -> int:
        """Number of commits that got a checkpoint."""
        return sum(1 for one in self.linked if one.checkpoint) + len(self.carried)

    def plus(self, other: Captured) -> Captured:
        """Return the outcome of two captures."""
        fields = zip(msgspec.structs.astuple(self), msgspec.structs.astuple(other), strict=True)
        return Captured(*(mine + theirs for mine, theirs in fields))


class Plan(msgspec.Struct, frozen=True):
    """Records to be written besides sessions."""

    commits: tuple[CommitFacts, ...] = ()
    rewrites: tuple[Rewrite, ...] = ()
    recalls: tuple[spool.RecallEvent, ...] = ()
    backfill: bool = False


def capture_commits(
    layout: Layout,
    repo: Repo,
    job: read_sources.Job,
    *,
    since: datetime | None = None,
    link_head: bool = False,
    wait: float = 60.0,
    progress: Progress | None = None,
) -> Captured:
    """Capture now. ``since`` makes it a back-fill: sources changed after it, linked to the commits made after it.

    ``link_head`` links HEAD too when it has no checkpoint yet (a capture by hand after hooks were off).
    """
    with hold_lock(layout.lock, wait=wait, purpose="capturing"):
        work = _Work(layout, repo, job, since, link_head, progress)
        spooled = spool.read_spooled(layout.spool)
        try:
            return work.capture(spooled)
        except RekalError:
            raise
        except Exception:
            # A mistake of ours in one event must not keep all others out, now and for ever.
            if not spooled.files:
                raise
        return work.capture_one_by_one(spooled.files)


class _Work(msgspec.Struct, frozen=True):
    """One capture under the writer's lock."""

    layout: Layout
    repo: Repo
    job: read_sources.Job
    since: datetime | None
    link_head: bool
    progress: Progress | None

    def capture_one_by_one(self, waiting: Sequence[Path]) -> Captured:
        """Capture each event for itself; one that fails again is set aside at its second time, and said."""
        total = self.capture(spool.Spooled((), (), 0))  # raises where no event is to blame
        for path in waiting:
            try:
                done = self.capture(spool.read_event(path))
            except RekalError:
                raise
            except Exception as error:  # noqa: BLE001 - costs the event it concerns; its name and kind are said
                aside = spool.note_failed(path)
                fate = f"was set aside in {path.parent / 'broken'}" if aside else "is tried once more"
                done = Captured(warnings=(f"the event {path.name} failed ({type(error).__name__}) and {fate}",))
            total = total.plus(done)
        return total

    def capture(self, spooled: spool.Spooled) -> Captured:
        """Capture what changed and what these events announce."""
        layout, repo, job, since = self.layout, self.repo, self.job, self.since
        warnings: list[str] = []
        head = repo.head() if self.link_head else None
        known = _read_store_view(layout, head, job.author.email, warnings)
        note_places(layout.run, job.where.roots)
        if since is not None:
            job = _with_former_places(layout, repo, job, since, known.sources, warnings)
        todo = read_sources.find_changed_sources(job, known.sources)
        if since is not None:
            todo = read_sources.changed_since(todo, since)
        if spooled.broken:
            warnings.append(f"{spooled.broken} unreadable events were moved to {layout.spool / 'broken'}")
        # A HEAD that was looked at and has no session is looked at again when there is anything new to link it to.
        fresh_head = head if head and (known.head == "new" or (known.head == "uncovered" and todo)) else None
        plan = _plan(repo, job, spooled.events, since=since, head=fresh_head)
        # Asked once: a HEAD that moves meanwhile must not be noted as examined.
        examined = repo.head() if _moved(spooled.events) else None
        plan = _with_copies(layout, repo, examined, spooled.events, plan, warnings)
        captured = Captured(warnings=tuple(warnings))
        if todo or plan != Plan():
            captured = _write(layout, repo, job, todo, known.sources, plan, warnings, self.progress)
        rewrites.note_examined(layout.run, examined)
        keep_second_name(layout)
        spool.remove_events(spooled.files)
        return captured


def _with_former_places(
    layout: Layout,
    repo: Repo,
    job: read_sources.Job,
    since: datetime,
    known: dict[str, source_state.SourceState],
    warnings: list[str],
) -> read_sources.Job:
    """Find directories that were this repository's before they were noted; note them and look into them, too."""
    belonging = frozenset(key for key, state in known.items() if state.belongs and state.session_id)
    try:
        found = find_former_places(job, repo, since, belonging)
    except GitError as error:
        warnings.append(f"conversations of removed directories were not looked for: {error.message}")
        return job
    warnings += found.warnings
    note_places(layout.run, found.places, found.sources)
    if found.places or found.sources:
        # What was read there was taken for another repository's.
        for key in [key for key, state in known.items() if not state.belongs]:
            del known[key]
    where = msgspec.structs.replace(job.where, roots=(*job.where.roots, *found.places))
    return msgspec.structs.replace(job, where=where, elsewhere={**job.elsewhere, **found.sources})


class _StoreView(msgspec.Struct, frozen=True):
    """The store's knowledge before a capture: sources by key, and how HEAD stands there."""

    sources: dict[str, source_state.SourceState] = msgspec.field(default_factory=dict)
    head: Literal["new", "uncovered", "linked"] = "new"


def _read_store_view(layout: Layout, head: str | None, email: str, warnings: list[str]) -> _StoreView:
    if not layout.data.exists():
        return _StoreView()
    try:
        with open_ledger(layout.data, read_only=True) as ledger:
            return _StoreView(source_state.read_states(ledger.con), _head_state(ledger, head, email))
    except StoreDamaged as error:
        damage = set_aside_damaged(layout.data, datetime.now(UTC))
        if layout.data.exists():
            warnings.append(
                f"the log of data.db could not be replayed; it was moved to {damage.moved_to.name}, data.db is whole "
                "and kept, and what the log held is captured again from the transcripts still on this machine"
            )
            return _read_store_view(layout, head, email, warnings)
        warnings.append(
            f"{error.message}; it was moved to {damage.moved_to.name} and the transcripts still on this machine are "
            "captured again; for older and teammates' sessions put back a backup or run `rekal sync`"
        )
        return _StoreView()


def _head_state(ledger: Ledger, head: str | None, email: str) -> Literal["new", "uncovered", "linked"]:
    if head is None or ledger.has_checkpoint(checkpoint_id(head, email)):
        return "linked"
    return "uncovered" if ledger.is_uncovered(head) else "new"


def _plan(
    repo: Repo, job: read_sources.Job, events: Sequence[spool.Event], *, since: datetime | None, head: str | None
) -> Plan:
    shas = [event.sha for event in events if isinstance(event, spool.CommitEvent)]
    if since is not None:
        shas = [*repo.commits_since(since), *shas]
    if head:
        shas.append(head)
    rewrites = tuple(
        Rewrite(old, new, event.how)
        for event in events
        if isinstance(event, spool.RewriteEvent)
        for old, new in event.pairs
    )
    order = {sha: place for place, sha in enumerate(reversed(shas))}
    found = list(read_facts(repo, job, shas).values())
    found.sort(key=lambda f: (f.commit.committed_at, -order[f.commit.sha]))
    recalls = tuple(event for event in events if isinstance(event, spool.RecallEvent))
    return Plan(tuple(found), rewrites, recalls, backfill=since is not None)


def _moved(events: Sequence[spool.Event]) -> bool:
    return any(isinstance(event, spool.CommitEvent | spool.MergeEvent) for event in events)


def _with_copies(
    layout: Layout, repo: Repo, head: str | None, events: Sequence[spool.Event], plan: Plan, warnings: list[str]
) -> Plan:
    """The plan with the copies of older commits among what the events brought."""
    if not _moved(events) or not layout.data.exists():
        return plan
    renamed = {rewrite.new_sha for rewrite in plan.rewrites}
    announced = [event.sha for event in events if isinstance(event, spool.CommitEvent)]
    coming = [rewrites.Change(f.commit.sha, f.patch_id) for f in plan.commits if f.patch_id]
    try:
        fresh = [sha for sha in rewrites.fresh_commits(repo, layout.run, head, announced) if sha not in renamed]
        with open_ledger(layout.data, read_only=True) as ledger:
            found = rewrites.find_copied_commits(ledger.con, repo, fresh, coming)
    except GitError as error:
        warnings.append(f"commits were not compared with older ones: {error.message}")
        return plan
    return msgspec.structs.replace(plan, rewrites=(*plan.rewrites, *found))


def _write(
    layout: Layout,
    repo: Repo,
    job: read_sources.Job,
    todo: Sequence[tuple[Adapter, Source]],
    known: Mapping[str, source_state.SourceState],
    plan: Plan,
    warnings: list[str],
    progress: Progress | None,
) -> Captured:
    total = Captured()
    done = 0
    groups = list(read_sources.batch_sources(todo)) or [[]]
    with closing(_read_changed(repo, job, todo, known, ahead_of_writing=plan.backfill)) as coming:
        for number, batch in enumerate(groups, start=1):
            readings = []
            for reading in islice(coming, len(batch)):
                readings.append(reading)
                done += 1
                if progress:
                    progress(done, len(todo))
            warnings.extend(r.warning for r in readings if r.warning)
            with open_ledger(layout.data, read_only=False, wait=30.0, create=True) as ledger, ledger.transaction():
                total = _append(ledger, readings, total)
                if number == len(groups):
                    total = _finish(ledger, repo, job, plan, total)
    return msgspec.structs.replace(total, warnings=tuple(warnings))


def _read_changed(
    repo: Repo,
    job: read_sources.Job,
    todo: Sequence[tuple[Adapter, Source]],
    known: Mapping[str, source_state.SourceState],
    *,
    ahead_of_writing: bool,
) -> Generator[read_sources.SourceReading, None, None]:
    """Readings of ``todo``, in its order."""
    history = History(repo)

    def read(place: int) -> read_sources.SourceReading:
        adapter, source = todo[place]
        reading = read_sources.read_source(job, adapter, source, known.get(source.key))
        fresh = tuple(_only_new_lines(session, history) for session in reading.sessions)
        return msgspec.structs.replace(reading, sessions=fresh)

    if not ahead_of_writing:
        return (read(place) for place in range(len(todo)))
    # A part of a database says nothing of its bytes, and its connection may not be shared.
    sizes = [None if source.key != str(source.path) else source.size for _, source in todo]
    # The scrubber may be the first to need the store's salt, which must be drawn once.
    return parallel.read_in_order(read, sizes, prepare=lambda: job.scrubber)


def _append(ledger: Ledger, readings: Sequence[read_sources.SourceReading], total: Captured) -> Captured:
    sessions, turns, calls = total.sessions, total.turns, total.calls
    for appended in ledger.append_all([session for reading in readings for session in reading.sessions]):
        sessions += bool(appended.turns or appended.calls)
        turns += appended.turns
        calls += appended.calls
    source_state.save_states(ledger.con, [reading.state for reading in readings if reading.state is not None])
    return msgspec.structs.replace(
        total, sessions=sessions, turns=turns, calls=calls, sources=total.sources + len(readings)
    )


def _finish(ledger: Ledger, repo: Repo, job: read_sources.Job, plan: Plan, total: Captured) -> Captured:
    for event in plan.recalls:
        for session_id in event.session_ids:
            ledger.add_recall_edge(event.edge, session_id, event.query, event.at)
    email = job.author.email
    renamed = {rewrite.new_sha for rewrite in plan.rewrites}
    # An amended commit has its sessions carried over; linked afresh it would count as one without.
    others = [facts for facts in plan.commits if facts.commit.sha not in renamed]
    linked = link.link_commit(ledger, others, email, backfill=plan.backfill)
    carried = carry_over(ledger, plan.rewrites, lambda sha: read_facts(repo, job, [sha]).get(sha))
    # What a commit without a session became may have one of its own.
    again = [facts for facts in plan.commits if facts.commit.sha in renamed]
    stored = ledger.checkpoints_among([checkpoint_id(facts.commit.sha, email) for facts in again])
    rest = [facts for facts in again if checkpoint_id(facts.commit.sha, email) not in stored]
    linked += link.link_commit(ledger, rest, email, backfill=plan.backfill)
    return msgspec.structs.replace(total, linked=tuple(linked), carried=tuple(carried))


def wait_for_rebase(repo: Repo, pause: Callable[[float], None], limit: float = 30.0) -> bool:
    """True if no rebase is under way. git runs post-rewrite before it removes the rebase's state, so look for a while.

    False leaves everything in the spool for the worker that the rebase's end starts.
    """
    waited = 0.0
    while _rebasing(repo):
        if waited >= limit:
            return False
        pause(0.1)
        waited += 0.1
    return True


def _rebasing(repo: Repo) -> bool:
    try:
        return repo.rebasing()
    except GitError:
        return False


def _only_new_lines(session: Session, history: History) -> Session:
    """``session`` with what its whole-file edits found there taken out of their lines."""
    calls = {call.seq: call for call in session.tool_calls}
    if not any(writes_whole(calls[edit.tool_call_seq].tool) for edit in session.edits):
        return session
    written: dict[str, list[tuple[ToolCall, Edit]]] = {}
    kept = []
    for edit in session.edits:
        call = calls[edit.tool_call_seq]
        earlier = written.setdefault(edit.path, [])
        fresh = _drop_lines(edit, _there(call, edit.path, earlier, history)) if writes_whole(call.tool) else edit
        earlier.append((call, edit))
        kept.append(fresh)
    return msgspec.structs.replace(session, edits=tuple(kept))


def _there(call: ToolCall, path: str, earlier: Iterable[tuple[ToolCall, Edit]], history: History) -> Counter[int]:
    """Lines in the file before ``call``: as often as the last commit or any one earlier edit had them."""
    there = history.lines_at(call.occurred_at, path) if call.occurred_at else Counter[int]()
    for _, edit in earlier:
        there |= Counter(edit.line_hashes)
    return there


def _drop_lines(edit: Edit, there: Counter[int]) -> Edit:
    fresh = []
    for hashed in edit.line_hashes:
        if there[hashed] > 0:
            there[hashed] -= 1
        else:
            fresh.append(hashed)
    return msgspec.structs.replace(edit, line_hashes=tuple(fresh))
