"""Reading sources into a ledger: each whole or not at all, what did not change is not read.

A source is held against what is stored of it: threads that are new are added, those that are gone are taken out, in one
transaction with the note of the file's size, time and hash. A source that cannot be read leaves what is stored as it is
and is tried again when it changes. Small sources share a transaction, a very large one has several: what an
interrupted run has added of it is found again by the next.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from rekal.documents import threads
from rekal.documents.document_records import DocumentError, DocumentFormat, DocumentSource, ReadOptions, Skipped
from rekal.documents.formats import choose_format, load_formats, read_items
from rekal.model import Session
from rekal.scrub import Scrubber
from rekal.store import source_state
from rekal.store.ledger import Ledger
from rekal.store.source_state import SourceState, read_states, save_states

_BATCH = 1 << 20  # characters of text written in one transaction, about: what is held grows with it
_BATCH_SOURCES = 500
_READ_AT_ONCE = 1 << 20
_REOPEN_AFTER = 32 << 20  # characters of one source: the database's memory grows with what was appended

Outcome = Literal["added", "changed", "unchanged", "empty", "failed", "skipped", "forgotten"]


class Ingested(msgspec.Struct):
    """The account of one run: counts of sources by what became of them, of chunks added and of sessions taken out.

    ``problems`` are sentences about sources that could not be read, ``skipped`` those that no format reads.
    """

    sources: dict[Outcome, int]
    chunks: int = 0
    removed: int = 0
    characters: int = 0
    problems: list[str] = []
    skipped: list[Skipped] = []

    def count(self, outcome: Outcome) -> None:
        """Count one more source."""
        self.sources[outcome] = self.sources.get(outcome, 0) + 1


class IngestOptions(msgspec.Struct, frozen=True):
    """Ways of reading. ``kind`` is a format's name that reads every file; ``again`` reads what did not change, too."""

    kind: str | None = None
    most_mails: int = 0
    again: bool = False


class _Reading(msgspec.Struct):
    """Sessions of one source that wait to be written, and what is noted of the source with them."""

    state: SourceState
    outcome: Outcome
    fresh: list[Session]
    gone: set[str]


def ingest_sources(
    ledger: Ledger,
    sources: Sequence[DocumentSource],
    scrubber: Scrubber,
    options: IngestOptions,
    report: Callable[[DocumentSource, int], None] = lambda source, done: None,
) -> Ingested:
    """Bring a ledger up to ``sources``. The caller holds the writer's lock. Raises the store's errors only.

    ``report`` is called with each source before it is read and with how many were done.
    """
    known = read_states(ledger.con)
    done = Ingested({})
    formats = load_formats()
    waiting: list[_Reading] = []
    held = 0
    for number, source in enumerate(sources):
        state = known.get(source.key)
        if state is not None and not options.again and _is_settled(state, source):
            done.count(_outcome_of(state))
            continue
        report(source, number)
        try:
            reading = _read_source(ledger, source, state, formats, scrubber, options, done)
        except DocumentError as error:
            reading = _failed(source, state, str(error))
            done.problems.append(f"{source.shown}: {error}")
        done.count(reading.outcome)
        waiting.append(reading)
        held += sum(len(turn.content) for session in reading.fresh for turn in session.turns)
        if held >= _BATCH or len(waiting) >= _BATCH_SOURCES:
            _write_readings(ledger, waiting, done)
            waiting, held = [], 0
    _write_readings(ledger, waiting, done)
    return done


def _is_settled(state: SourceState, source: DocumentSource) -> bool:
    """True if a source is as it was when it was last read, or was forgotten: then it may say anything by now."""
    return not state.belongs or (state.size, state.mtime_ns) == (source.size, source.mtime_ns)


def _outcome_of(state: SourceState) -> Outcome:
    if not state.belongs:
        return "forgotten"
    return "failed" if state.error else "unchanged"


def _read_source(
    ledger: Ledger,
    source: DocumentSource,
    state: SourceState | None,
    formats: list[DocumentFormat],
    scrubber: Scrubber,
    options: IngestOptions,
    done: Ingested,
) -> _Reading:
    """Read one source as far as it differs from what is stored. DocumentError; nothing is then written of it."""
    chosen = choose_format(source, formats, options.kind)
    if chosen is None:
        done.skipped.append(Skipped(source.shown, "of no format that is known"))
        return _Reading(_state_of(source, "unknown", ""), "skipped", [], _stored_sessions(ledger, source))
    digest = _hash_file(source)
    if state is not None and not options.again and state.prefix_hash == digest and not state.error:
        return _Reading(_state_of(source, chosen.name, digest), "unchanged", [], set())
    before = _stored_sessions(ledger, source)
    left = set(before)
    fresh: list[Session] = []
    size = found = since = 0
    for session in _read_sessions(source, chosen, scrubber, options):
        found += 1
        if session.id in before:
            left.discard(session.id)
            continue
        fresh.append(session)
        size += sum(len(turn.content) for turn in session.turns)
        if size >= 2 * _BATCH:  # one that is larger than what is held at once
            _append_sessions(ledger, fresh, done)
            since += size
            fresh, size = [], 0
            if since >= _REOPEN_AFTER:
                ledger.reopen()
                since = 0
    outcome: Outcome = "empty" if not found else "changed" if before else "added"
    if found and before and len(before) == found and not left:
        outcome = "unchanged"  # it says what it said, as after a failure that is mended
    return _Reading(_state_of(source, chosen.name, digest), outcome, fresh, left)


def _read_sessions(
    source: DocumentSource, chosen: DocumentFormat, scrubber: Scrubber, options: IngestOptions
) -> Iterator[Session]:
    reading = ReadOptions(scrubber.text, options.most_mails)
    shown = scrubber.text(source.shown)
    items = (threads.scrub_item(item, scrubber) for item in read_items(source, chosen, reading))
    for thread in threads.group_threads(chosen.name, items):
        session = threads.to_session(source, shown, thread)
        if session is not None:
            yield session


def _hash_file(source: DocumentSource) -> str:
    digest = hashlib.blake2b(digest_size=16)
    try:
        with source.path.open("rb") as file:
            while block := file.read(_READ_AT_ONCE):
                digest.update(block)
    except OSError as error:
        raise DocumentError(f"it cannot be read ({error.strerror})", "check its permissions") from None
    return digest.hexdigest()


def _state_of(source: DocumentSource, kind: str, digest: str) -> SourceState:
    return SourceState(source.key, kind, source.size, source.mtime_ns, prefix_hash=digest)


def _failed(source: DocumentSource, state: SourceState | None, why: str) -> _Reading:
    kind = state.agent if state is not None else "unknown"
    # Without the hash of what is stored, so that the next reading is not taken for the same content.
    return _Reading(msgspec.structs.replace(_state_of(source, kind, ""), error=why), "failed", [], set())


def _stored_sessions(ledger: Ledger, source: DocumentSource) -> set[str]:
    return source_state.list_source_sessions(ledger.con, threads.source_id(source))


def _append_sessions(ledger: Ledger, sessions: list[Session], done: Ingested) -> None:
    with ledger.transaction():
        _add_sessions(ledger, sessions, done)


def _add_sessions(ledger: Ledger, sessions: list[Session], done: Ingested) -> None:
    for appended in ledger.append_all(sessions):
        done.chunks += appended.turns
    done.characters += sum(len(turn.content) for session in sessions for turn in session.turns)


def _write_readings(ledger: Ledger, readings: Sequence[_Reading], done: Ingested) -> None:
    if not readings:
        return
    changes = any(one.fresh or one.gone for one in readings)
    with ledger.transaction(indexed=changes):
        _add_sessions(ledger, [session for one in readings for session in one.fresh], done)
        done.removed += source_state.erase_sessions(ledger, {gone for one in readings for gone in one.gone})
        save_states(ledger.con, [one.state for one in readings])


def prune_sources(ledger: Ledger, roots: Iterable[Path], present: Iterable[DocumentSource]) -> list[str]:
    """Take out the sources below ``roots`` that are there no more; returns their paths, in order."""
    here = {source.key for source in present}
    tops = list(roots)
    gone = [
        state
        for key, state in sorted(read_states(ledger.con).items())
        if key not in here and any(Path(key).is_relative_to(top) for top in tops) and not Path(key).exists()
    ]
    _remove_sources(ledger, gone, ())
    return [state.source for state in gone]


def list_states(ledger: Ledger, path: Path) -> list[SourceState]:
    """List what is noted of a source, or of all below a folder, but for those that were forgotten; in order."""
    states = sorted(read_states(ledger.con).items())
    return [state for key, state in states if state.belongs and Path(key).is_relative_to(path)]


def forget_sources(ledger: Ledger, path: Path) -> list[str]:
    """Take out a source, or all below a folder, and remember not to read them again; returns their paths, in order."""
    named = list_states(ledger, path)
    stay = [msgspec.structs.replace(state, belongs=False, error=None) for state in named]
    _remove_sources(ledger, named, stay)
    return [state.source for state in named]


def _remove_sources(ledger: Ledger, states: Sequence[SourceState], instead: Sequence[SourceState]) -> None:
    if not states:
        return
    with ledger.transaction():
        sources = [DocumentSource(Path(state.source), "", 0, 0) for state in states]
        stored = [_stored_sessions(ledger, source) for source in sources]
        source_state.erase_sessions(ledger, {session for sessions in stored for session in sessions})
        source_state.delete_states(ledger.con, [state.source for state in states])
        save_states(ledger.con, instead)
