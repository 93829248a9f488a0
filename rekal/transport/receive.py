"""Receiving: what teammates published becomes part of the ledger.

Each ref is read on its own: what it says of itself, then its new segments, each checked for size before it is read and
for its name after, one reader for all of them. Whatever cannot be used costs itself and is counted; a ref costs a
bounded amount of time and memory, whoever wrote it. Records go in a batch at a time, each in one transaction, and the
ref's tip is noted with the last, so an interrupted receipt is repeated and adds what is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

import msgspec
from msgspec.structs import replace

from rekal import ids
from rekal.errors import GitError, RekalError
from rekal.git import Repo
from rekal.git.repo import read_measured_objects
from rekal.model import Checkpoint, MemoryEvent, Rewrite, Session
from rekal.store import erase
from rekal.store.import_batch import Batch, Imported, read_tips
from rekal.store.layout import Layout
from rekal.store.ledger import open_ledger
from rekal.store.locks import hold_lock
from rekal.transport import arrivals
from rekal.transport.arrivals import BAD, Owner, Ref
from rekal.transport.import_queue import Budget, Pending, Sink
from rekal.transport.refs import LAYOUT
from rekal.wire.segment import Record, SegmentReader, segment_name
from rekal.wire.session_parts import SessionPart, part_weight

MAX_RANGE = 1 << 18  # turns that one range may name
MOST_NOTES = 5
# A session, a turn or a commit brings an id of its own that does not compress, sixteen bytes or more: fewer bytes than
# these each, over all of a ref, are no memory of anybody's. 48 KB could be 100,000 sessions: 9 s and 700 MB.
_LEAST_BYTES = 4
_FREE_RECORDS = 256
_CALLS_A_RECORD = 8  # calls and edits lean on what stands before them, and compress to a byte or two
_WAIT = 60.0


class Received(msgspec.Struct, frozen=True):
    """Outcome of a receipt. ``refs`` counts those with something new; ``notes`` say what was left out of a ref."""

    refs: int = 0
    imported: Imported = Imported()
    notes: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """True if the ledger changed."""
        i = self.imported
        return bool(i.sessions + i.turns + i.calls + i.checkpoints + i.events + i.rewrites + i.tombstones)

    def sentence(self) -> str:
        """Return the counts in words."""
        i = self.imported
        said = f"{i.sessions} sessions with {i.turns} turns and {i.checkpoints} commits from {self.refs} refs"
        return f"{said}; {i.erased} things taken out that their owners forgot" if i.erased else said


def receive_refs(layout: Layout, repo: Repo, remotes: Collection[str], budget: Budget | None = None) -> Received:
    """Import what fetches from ``remotes`` brought and is not in the ledger yet.

    Raises :class:`rekal.errors.StoreError` when the ledger cannot be written; a ref that git cannot read is a note.
    """
    with open_ledger(layout.data, read_only=True, wait=_WAIT) as ledger:
        own, known = ledger.meta("store_id") or "", read_tips(ledger.con)
    pending = erase.rewrite_wanted(layout.run)
    seen = arrivals.list_arrived_refs(repo, remotes, own, known)
    changed = [ref for ref in seen.refs if known.get(ref.name) != ref.tip]
    news = _drop_copied_refs(repo, changed)
    tips = {"/".join(name.split("/")[-2:]): tip for name, tip in known.items() if tip}  # by clone
    words = arrivals.check_signatures(repo, {ref.tip for ref in news})
    sink = Sink(layout, budget or Budget())
    reading: list[_Arrival] = []
    notes = [
        f"{count} {reason}"
        for count, reason in (
            (seen.odd, "refs with names that are none of ours were left out"),
            (seen.beyond, f"refs past the {arrivals.MAX_REFS} that are read were left out, the oldest of them"),
            (len(changed) - len(news), "refs that copy another one were left out"),
        )
        if count
    ]
    for ref in news:
        # One clone seen through two remotes: what the other remote brought need not be read again.
        before = known.get(ref.name) or tips.get(ref.clone)
        try:
            reading.append(_read_ref(sink, repo, ref, before, words.get(ref.tip, "N")))
            tips[ref.clone] = ref.tip
        except (GitError, _Refused) as error:
            notes.append(f"{ref.clone} ({ref.remote}): {error.message}")
    sink.flush()
    total = Imported()
    for arrival in reading:
        arrival.finish(sink)
        total = total.plus(arrival.imported)
        notes += arrival.notes()
    _clear(layout, erased=pending or bool(total.erased))
    return Received(len(reading), total, _shorten(notes))


def _shorten(notes: list[str]) -> tuple[str, ...]:
    """Leave so many notes as somebody reads, and count the others."""
    if len(notes) <= MOST_NOTES:
        return tuple(notes)
    return (*notes[: MOST_NOTES - 1], f"{len(notes) - MOST_NOTES + 1} more refs of which something was left out")


def _drop_copied_refs(repo: Repo, refs: list[Ref]) -> list[Ref]:
    """Leave out refs that name the same commit as another one and are not by its author.

    Whoever may push can write thousands of names for one commit, which costs them nothing and each reader a lot.
    """
    by_tip: dict[str, list[Ref]] = {}
    for ref in refs:
        by_tip.setdefault(ref.tip, []).append(ref)
    kept: list[Ref] = []
    for tip, same in by_tip.items():
        if len({ref.clone for ref in same}) > 1:
            try:
                text = arrivals.read_format(repo, tip)
            except GitError:
                text = None  # nothing of it can be read: one of them will say so
            by_author = [ref for ref in same if (owner := arrivals.read_owner(ref, text)) and owner.email]
            same = by_author or same[:1]
        kept += same
    return sorted(kept, key=lambda ref: (ref.clone, ref.remote))


def _clear(layout: Layout, *, erased: bool) -> None:
    """Leave no free page with what a tombstone took out."""
    with hold_lock(layout.lock, wait=_WAIT, purpose="removing what was forgotten"):
        if erased:
            erase.rewrite(layout.data, layout.run)
        else:
            erase.rewrite_done(layout.run)


class _Refused(RekalError):
    """Nothing of a ref may be taken."""


def _read_ref(sink: Sink, repo: Repo, ref: Ref, before: str | None, signature: str) -> _Arrival:
    """Read a ref into the sink. Raises :class:`_Refused`, and GitError when git cannot."""
    if signature == BAD:
        sink.set_tip(ref, before or "", signature)
        raise _Refused("its signature is bad, nothing of it was taken")
    listing = arrivals.list_segments(repo, ref.tip, before)
    owner = arrivals.read_owner(ref, listing.format)
    if owner is None:
        raise _Refused("it does not say what it is, nothing of it was taken")
    if owner.version > LAYOUT:
        raise _Refused("it was written by a later rekal, nothing of it was taken")
    if listing.cut:
        raise _Refused("a shallow fetch left part of it behind, nothing of it was taken; `git fetch --unshallow` helps")
    arrival = _Arrival(repo, ref, owner, listing, signature)
    arrival.read(sink)
    return arrival


class _Arrival:
    """One ref being read; ``imported`` is what the sink has written of it."""

    def __init__(self, repo: Repo, ref: Ref, owner: Owner, listing: arrivals.SegmentListing, signature: str) -> None:
        self.ref = ref
        self.imported = Imported()
        self._repo = repo
        self._owner = owner
        self._listing = listing
        self._signature = signature
        self._left_out: Counter[str] = Counter()
        self._reader = SegmentReader(ref.clone)
        self._several = False  # batches: then the tip is noted only once all are in

    def read(self, sink: Sink) -> None:
        """Put all of it into the sink; what cannot be read is counted."""
        batch, weight_ = Batch(), 0
        for record in self._records(sink.budget):
            weight_ += _sort_in(batch, self._stamped(record))
            if weight_ >= sink.budget.batch:
                sink.put(Pending(self, batch), weight_)
                self._several = True
                batch, weight_ = Batch(), 0
        sink.put(Pending(self, batch, None if self._several else self._signature), weight_)

    def finish(self, sink: Sink) -> None:
        """After the sink wrote it: turns that went ahead of their session, in another batch, are read once more."""
        if not self._several:
            return
        if self.imported.waiting:
            first, reader, left_out = self.imported, self._reader, Counter(self._left_out)
            self.imported, self._reader = Imported(), SegmentReader(self.ref.clone)
            self.read(sink)
            sink.flush()
            # What was in the way the first time was in the way again.
            counted = {name: getattr(first, name) for name in ("forgotten", "foreign", "clashing")}
            self.imported = replace(first.plus(self.imported), waiting=self.imported.waiting, **counted)
            self._reader, self._left_out = reader, left_out
        sink.set_tip(self.ref, self.ref.tip, self._signature)

    def _records(self, budget: Budget) -> Iterator[Record]:
        reader = self._reader
        characters = received = 0
        count = 0.0
        for data in self._segments(budget.bytes):
            received += len(data)
            for record in reader.read(data):
                characters += _record_weight(record)
                count += _count_records(record)
                if count > _FREE_RECORDS + received / _LEAST_BYTES:
                    self._left_out["records past what so few bytes can hold, and those after them"] += 1
                    return
                if (kept := self._trusted(record)) is not None:
                    yield kept
            if reader.entries > budget.entries or reader.frames > budget.frames or characters > budget.characters:
                self._left_out["segments past what one ref may cost"] += 1
                return

    def _trusted(self, record: Record) -> Record | None:
        """Return a record without what only its writer could vouch for; None when nothing is left.

        An id that does not follow from the record's own parts could be the one of somebody else's record, which it
        would then keep out. A range of more turns than a session has would be counted through for ever.
        """
        if isinstance(record, Session):
            derived = ids.session_id(record.agent, record.native_id, record.author_email)
        elif isinstance(record, Checkpoint):
            derived = ids.checkpoint_id(record.git_sha, record.author_email)
            ranges = tuple(r for r in record.sessions if 0 <= r.last_seq - r.first_seq < MAX_RANGE)
            self._left_out["ranges of more turns than a session has"] += len(record.sessions) - len(ranges)
            record = replace(record, sessions=ranges)
        else:
            return record
        if record.id == derived:
            return record
        self._left_out["records under an id that is not theirs"] += 1
        return None

    def _segments(self, left: int) -> Iterator[bytes]:
        found = arrivals.find_readable(self._repo, self._listing.segments)
        self._left_out["segments over the size limit or not there"] = len(self._listing.segments) - len(found)
        names: dict[str, str] = {}
        wanted: dict[str, int] = {}
        for name, (oid, size) in sorted(found.items()):
            left -= size
            if left >= 0:
                names[oid], wanted[oid] = name, size
        self._left_out["segments past what one ref may cost"] = len(found) - len(names)
        for oid, data in read_measured_objects(self._repo, wanted):
            if segment_name(data).startswith(names[oid]):
                yield data
            else:
                self._left_out["segments under a false name"] += 1

    def _stamped(self, record: Record) -> Record:
        """The record with its origin: verified only where it has the e-mail address of the ref's owner."""
        if isinstance(record, Session | Checkpoint):
            verified = record.author_email.lower() == self._owner.email
        else:
            verified = bool(self._owner.email)
        if verified or isinstance(record, SessionPart | Rewrite):
            return record
        return replace(record, origin=self.ref.origins[1])

    def notes(self) -> list[str]:
        """Return a sentence about what was left out of it; none when nothing was."""
        imported = self.imported
        said = Counter({"files that have no place there": self._listing.strange}) + self._left_out
        said.update({str(skip.reason): skip.count for skip in self._reader.report().skips})
        said["records that are not theirs to add to"] = imported.foreign
        said["turns or calls with a number that is taken"] = imported.clashing
        said["parts without their session"] = imported.waiting
        words = [f"{count} {what}" for what, count in said.items() if count]
        return [f"{self.ref.clone} ({self.ref.remote}): left out {', '.join(words)}"] if words else []


def _sort_in(batch: Batch, record: Record) -> int:
    """Put a record where it belongs; about how many characters it has."""
    if isinstance(record, SessionPart):
        batch.parts.append(record)
    elif isinstance(record, Session):
        batch.heads.append(record)
    elif isinstance(record, Checkpoint):
        batch.checkpoints.append(record)
    elif isinstance(record, MemoryEvent):
        batch.events.append(record)
    elif isinstance(record, Rewrite):
        batch.rewrites.append(record)
    else:
        batch.tombstones.append(record)
    return _record_weight(record)


def _count_records(record: Record) -> float:
    if isinstance(record, SessionPart):
        return len(record.turns) + (len(record.tool_calls) + len(record.edits)) / _CALLS_A_RECORD
    return 1.0


def _record_weight(record: Record) -> int:
    if isinstance(record, SessionPart):
        return part_weight(record)
    if isinstance(record, Checkpoint):
        return 200 + 80 * len(record.files) + 40 * len(record.sessions)
    return 200 + (len(record.payload) if isinstance(record, MemoryEvent) else 0)
