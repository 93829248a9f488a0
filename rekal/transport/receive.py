"""Receiving: what teammates published becomes part of the ledger.

Each ref is read on its own: its FORMAT, its new segments, each checked for size before it is read and for its name
after, one reader for all of them. Whatever cannot be used costs itself and is counted; a ref costs a bounded amount of
time and memory, whoever wrote it. Records go in a batch at a time, each in one transaction, and the ref's tip is noted
with the last, so an interrupted receipt is repeated and adds what is missing.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator

import msgspec
from msgspec.structs import replace

from rekal.errors import GitError
from rekal.git import Repo
from rekal.model import Checkpoint, MemoryEvent, Rewrite, Session
from rekal.store import erasing
from rekal.store.bulk import Batch, Import, Imported, import_batch
from rekal.store.layout import Layout
from rekal.store.ledger import Ledger, open_ledger
from rekal.store.locks import exclusive
from rekal.transport import tree
from rekal.transport.arriving import BAD, Owner, Ref, arrived, owner_of, signatures
from rekal.transport.parts import SessionPart, weight
from rekal.transport.refs import FORMAT
from rekal.transport.segment import Reader, Record, segment_name

FORMAT_READ = 1
_WAIT = 60.0


class Budget(msgspec.Struct, frozen=True):
    """What one ref may cost in one receipt. Ten thousand sessions of ten turns take a hundredth of it."""

    bytes: int = 1 << 30
    frames: int = 1 << 18
    entries: int = 1 << 26
    characters: int = 1 << 32
    batch: int = 24 << 20  # characters that go in at once


class Received(msgspec.Struct, frozen=True):
    """What a receipt did. ``refs`` had news; ``notes`` say what was left out, a sentence a ref."""

    refs: int = 0
    imported: Imported = Imported()
    notes: tuple[str, ...] = ()

    @property
    def changed(self) -> bool:
        """Whether the ledger is another one now."""
        i = self.imported
        return bool(i.sessions + i.turns + i.calls + i.checkpoints + i.events + i.rewrites + i.tombstones)

    def sentence(self) -> str:
        """What arrived, in words."""
        i = self.imported
        said = f"{i.sessions} sessions with {i.turns} turns and {i.checkpoints} commits from {self.refs} refs"
        return f"{said}; {i.erased} things taken out that their owners forgot" if i.erased else said


def receive(layout: Layout, repo: Repo, remotes: Collection[str], budget: Budget | None = None) -> Received:
    """Import what fetches from ``remotes`` brought and is not in the ledger yet.

    Raises :class:`rekal.errors.StoreError` when the ledger cannot be written; a ref that git cannot read is a note.
    """
    with open_ledger(layout.data, read_only=True, wait=_WAIT) as ledger:
        own, known = ledger.meta("store_id") or "", _known(ledger)
    pending = erasing.rewrite_wanted(layout.run)
    seen = arrived(repo, remotes, own)
    news = [ref for ref in seen.refs if known.get(ref.name) != ref.tip]
    words = signatures(repo, {ref.tip for ref in news})
    total = Received(notes=(f"{seen.odd} refs with names that are none of ours were left out",) if seen.odd else ())
    for ref in news:
        # One clone seen through two remotes: what the other remote brought need not be read again.
        before = known.get(ref.name) or next((t for n, t in known.items() if n.endswith(f"/{ref.clone}") and t), None)
        one = _receive_ref(_Into(layout, repo, budget or Budget()), ref, before, words.get(ref.tip, "N"))
        if one.refs:
            known[ref.name] = ref.tip
        total = Received(total.refs + one.refs, total.imported.plus(one.imported), (*total.notes, *one.notes))
    _clear(layout, erased=pending or bool(total.imported.erased))
    return total


def _clear(layout: Layout, *, erased: bool) -> None:
    """Leave no free page with what a tombstone took out."""
    with exclusive(layout.lock, wait=_WAIT, purpose="removing what was forgotten"):
        if erased:
            erasing.rewrite(layout.data, layout.run)
        else:
            erasing.rewrite_done(layout.run)


def _known(ledger: Ledger) -> dict[str, str]:
    return {str(ref): str(tip) for ref, tip in ledger.con.execute("SELECT ref, tip FROM received").fetchall()}


class _Into(msgspec.Struct, frozen=True):
    """Where a receipt goes, and what it may cost."""

    layout: Layout
    repo: Repo
    budget: Budget


def _receive_ref(into: _Into, ref: Ref, before: str | None, signature: str) -> Received:
    if signature == BAD:
        _note_tip(into.layout, ref, before or "", signature)
        return Received(notes=(f"{ref.clone} ({ref.remote}): its signature is bad, nothing of it was taken",))
    try:
        listing = tree.listing(into.repo, ref.tip, before)
        owner = owner_of(ref, listing.format)
        if owner is None or owner.version > FORMAT_READ:
            why = f"its {FORMAT} cannot be read" if owner is None else "it was written by a later rekal"
            return Received(notes=(f"{ref.clone} ({ref.remote}): {why}, nothing of it was taken",))
        arrival = _Arrival(into, ref, owner, listing)
        return arrival.take(signature)
    except GitError as error:
        return Received(notes=(f"{ref.clone} ({ref.remote}): {error.message}",))


def _note_tip(layout: Layout, ref: Ref, tip: str, signature: str) -> None:
    with (
        exclusive(layout.lock, wait=_WAIT, purpose="receiving"),
        open_ledger(layout.data, read_only=False, wait=_WAIT) as ledger,
        ledger.transaction(),
    ):
        _set_tip(ledger, ref, tip, signature)


def _set_tip(ledger: Ledger, ref: Ref, tip: str, signature: str) -> None:
    ledger.con.execute("INSERT OR REPLACE INTO received VALUES (?, ?, ?)", [ref.name, tip, signature])


class _Arrival:
    """One ref being read."""

    def __init__(self, into: _Into, ref: Ref, owner: Owner, listing: tree.Listing) -> None:
        self._into = into
        self._ref = ref
        self._owner = owner
        self._listing = listing
        self._left_out: Counter[str] = Counter()
        self._reader = Reader(ref.clone)

    def take(self, signature: str) -> Received:
        """Import all of it; what is in the way is counted."""
        first = self._pass(signature)
        imported = first
        if first.waiting:
            # A session's head may stand in any segment, also in one read after its turns.
            reader, self._reader = self._reader, Reader(self._ref.clone)
            skipped = Counter(self._left_out)
            again = self._pass(signature)
            self._reader, self._left_out = reader, skipped
            seen = {name: getattr(first, name) for name in ("forgotten", "foreign", "clashing")}
            imported = replace(first.plus(again), waiting=again.waiting, **seen)
        return Received(1, imported, self._notes(imported))

    def _pass(self, signature: str) -> Imported:
        total = Imported()
        batch, weight_ = Batch(), 0
        for record in self._records():
            weight_ += _sort_in(batch, self._stamped(record))
            if weight_ >= self._into.budget.batch:
                total = total.plus(self._write(batch, None))
                batch, weight_ = Batch(), 0
        return total.plus(self._write(batch, signature))

    def _write(self, batch: Batch, signature: str | None) -> Imported:
        layout, ref = self._into.layout, self._ref
        with (
            exclusive(layout.lock, wait=_WAIT, purpose="receiving"),
            open_ledger(layout.data, read_only=False, wait=_WAIT) as ledger,
        ):
            if batch.tombstones:
                erasing.want_rewrite(layout.run)
            with ledger.transaction():
                done = import_batch(Import(ledger.con, ref.origins, ledger.pos, ledger.now), batch)
                if signature is not None:
                    _set_tip(ledger, ref, ref.tip, signature)
        return done

    def _records(self) -> Iterator[Record]:
        budget, reader = self._into.budget, self._reader
        characters = 0
        for data in self._segments():
            for record in reader.read(data):
                characters += _weight(record)
                yield record
            if reader.entries > budget.entries or reader.frames > budget.frames or characters > budget.characters:
                self._left_out["segments past what one ref may cost"] += 1
                return

    def _segments(self) -> Iterator[bytes]:
        found = tree.readable(self._into.repo, self._listing.segments)
        self._left_out["segments over the size limit or not there"] = len(self._listing.segments) - len(found)
        left = self._into.budget.bytes
        names: dict[str, str] = {}
        wanted: dict[str, int] = {}
        for name, (oid, size) in sorted(found.items()):
            left -= size
            if left >= 0:
                names[oid], wanted[oid] = name, size
        self._left_out["segments past what one ref may cost"] = len(found) - len(names)
        for oid, data in tree.contents(self._into.repo, wanted):
            if segment_name(data) == names[oid]:
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
        return replace(record, origin=self._ref.origins[1])

    def _notes(self, imported: Imported) -> tuple[str, ...]:
        said = Counter({"files that have no place there": self._listing.strange}) + self._left_out
        said.update({str(skip.reason): skip.count for skip in self._reader.report().skips})
        said["records that are not theirs to add to"] = imported.foreign
        said["turns or calls with a number that is taken"] = imported.clashing
        said["parts without their session"] = imported.waiting
        words = [f"{count} {what}" for what, count in said.items() if count]
        return (f"{self._ref.clone} ({self._ref.remote}): left out {', '.join(words)}",) if words else ()


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
    return _weight(record)


def _weight(record: Record) -> int:
    if isinstance(record, SessionPart):
        return weight(record)
    if isinstance(record, Checkpoint):
        return 200 + 80 * len(record.files) + 40 * len(record.sessions)
    return 200 + (len(record.payload) if isinstance(record, MemoryEvent) else 0)
