"""Answering a question: indexes and vectors are opened, mended where they can be, and the notes say so."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import msgspec

from rekal.app.context import App, local_now, personal_directory, read_moment
from rekal.app.resources import Kept, LedgerState, find_semantic, keywords_only, open_resources
from rekal.config import Recall
from rekal.errors import NOTHING_FOUND, EngineError, GitError, NotInitialised, StoreBusy, StoreDamaged, StoreError
from rekal.files import write_atomically
from rekal.index.filters import Filters
from rekal.index.reader import IndexReader
from rekal.model import LOCAL
from rekal.recall.answer import Answer, Hit
from rekal.recall.recall import Options, answer_question
from rekal.store import spool
from rekal.store.database import translated_errors
from rekal.store.layout import CHECKED_LEDGER, Layout

if TYPE_CHECKING:  # what it imports no recall of a repository needs
    from rekal.app.desk import Desk

_PATIENCE = 1.0  # seconds to wait for a writer: memories are read from the ledger itself

Actor = Literal["human", "agent"]
Arm = Literal["keyword", "meaning"]


class AskedQuestion(msgspec.Struct, frozen=True, kw_only=True):
    """A question as a face hands it over: times as people write them, None where nothing was chosen.

    ``limit`` counts sessions, ``budget`` tokens of evidence; ``strictness`` 0 to 1 is the gate's, None: the settings'.
    ``type`` asks documents of one format only, ``only`` one arm of the search.
    """

    text: str
    file: str | None = None
    commit: str | None = None
    author: str | None = None
    agent: str | None = None
    actor: Actor | None = None
    branch: str | None = None
    since: str | None = None
    until: str | None = None
    as_of: str | None = None
    known_at: str | None = None
    limit: int | None = None
    budget: int | None = None
    explain: bool = False
    type: str | None = None
    only: Arm | None = None
    strictness: float | None = None


def ask_question(app: App, question: AskedQuestion) -> Answer:
    """Answer a question from the store of ``app``. Raises UsageError for a time that is none, and StoreError."""
    known_at = read_moment(app, question.known_at, end=True)
    filters = Filters(
        file=None if question.file is None else app.path_in_repo(question.file),
        commit=question.commit,
        author=question.author,
        agent=question.agent,
        actor=question.actor,
        branch=question.branch,
        since=read_moment(app, question.since),
        until=read_moment(app, question.until, end=True),
        as_of=read_moment(app, question.as_of, end=True),
        known_at=known_at,
        later=_list_later(app, known_at),
    )
    options = _options(app.config.recall, question)
    notes: list[str] = []
    with open_resources() as kept:
        try:
            only_documents = question.type is not None or question.only is not None
            answer = (
                _nothing_asked(question)
                if only_documents
                else _recall_once(app, kept, question.text, filters, options, notes)
            )
        except StoreDamaged:
            # The index holds nothing of its own: building it again loses nothing.
            notes[:] = ["the index was damaged and has been built again"]
            _rebuild_index(app, notes, full=True)
            answer = _recall_once(app, kept, question.text, filters, options, notes)
        answer = _add_documents(app, kept, answer, filters, options, question)
        hits = _mark_signatures(app, kept, _mark_merged(app, answer.sessions))
    return msgspec.structs.replace(answer, sessions=hits, notes=[*notes, *answer.notes])


def _add_documents(
    app: App, kept: Kept, answer: Answer, filters: Filters, options: Options, question: AskedQuestion
) -> Answer:
    """The answer with what ingested documents say to the question."""
    stores = ((app.layout.documents, False), (Layout(personal_directory(app.env)).documents, True))
    held = [(layout, personal) for layout, personal in stores if layout.data.exists()]
    if not held:
        return answer
    # Only a store with documents needs it.
    from rekal.app.documents.document_recall import Lane, QuestionModel, add_documents

    lanes = [Lane(layout, personal) for layout, personal in held]
    engine = QuestionModel(app.config.embed, app.env)
    return add_documents(answer, lanes, kept, engine, document_filters(filters, question), options, question.only)


def document_filters(filters: Filters, question: AskedQuestion) -> Filters:
    """Return the filters for documents: a type is a format's name, and a file's own time is all there is to know."""
    return msgspec.structs.replace(filters, agent=question.type or filters.agent, later=(), known_at=None)


def ask_personal_documents(desk: Desk, question: AskedQuestion) -> Answer:
    """Answer from the person's documents alone, outside of any repository. NotInitialised where there are none."""
    from rekal.app.documents.document_recall import Lane, QuestionModel, add_documents

    layout = desk.personal.documents
    if not layout.data.exists():
        raise NotInitialised("there is no repository here and no documents of yours", "run `rekal ingest FOLDER`")
    filters = Filters(
        file=question.file,
        author=question.author,
        since=read_moment(None, question.since),
        until=read_moment(None, question.until, end=True),
        as_of=read_moment(None, question.as_of, end=True),
    )
    with open_resources() as kept:
        engine = QuestionModel(desk.config.embed, desk.env)
        chosen = document_filters(filters, question)
        options = _options(desk.config.recall, question)
        return add_documents(
            _nothing_asked(question), [Lane(layout, True)], kept, engine, chosen, options, question.only
        )


def _options(chosen: Recall, question: AskedQuestion) -> Options:
    shown = chosen.limit if question.limit is None else question.limit
    strictness = chosen.strictness if question.strictness is None else question.strictness
    return Options(strictness, question.budget or chosen.budget, shown, question.explain, local_now())


def _nothing_asked(question: AskedQuestion) -> Answer:
    """The answer of sessions that were not asked."""
    return Answer("SILENCE", "filtered_out", 0.0, question.text, [], [], [], NOTHING_FOUND)


def _mark_merged(app: App, hits: list[Hit]) -> list[Hit]:
    """The same sessions, each with whether its commit is part of what everybody has: the remote's default branch."""
    shas = sorted({hit.commit for hit in hits if hit.commit})
    if not shas:
        return hits
    from rekal.git.repo import find_merged_commits

    chosen = app.config.transport
    remote = next(iter(sorted(chosen.remotes)), "origin")
    try:
        merged = find_merged_commits(app.repo, shas, f"refs/remotes/{remote}/{chosen.mainline or 'HEAD'}")
    except GitError:  # a damaged repository costs the mark alone
        return hits
    return [msgspec.structs.replace(hit, merged=merged.get(hit.commit or "")) for hit in hits]


def _list_later(app: App, known_at: datetime | None) -> tuple[tuple[str, int], ...]:
    """Return the turns that the ledger recorded after ``known_at``: a session and the first of them, each."""
    if known_at is None:
        return ()
    from rekal.store.ledger import open_ledger
    from rekal.store.queries import turns_recorded_after

    with open_ledger(app.layout.data, read_only=True) as ledger:
        return tuple(turns_recorded_after(ledger.con, known_at))


def _recall_once(app: App, kept: Kept, question: str, filters: Filters, options: Options, notes: list[str]) -> Answer:
    reader = _open_reader(app, kept, notes)
    ledger = _read_ledger_state(app, kept)
    lacking = ledger.position - reader.position if ledger else 0
    if lacking > 0:
        notes.append(f"index: {lacking} captures behind")
    found = find_semantic(app, kept)
    with translated_errors(app.layout.index):
        try:
            answer = answer_question(reader, question, filters, options, found.meaning)
        except EngineError as error:
            answer, found = answer_question(reader, question, filters, options), keywords_only(error)
    notes.append(found.note)
    if ledger is None:
        notes.append("memories: not read, the store is being written")
        return answer
    if not ledger.events and not Layout(personal_directory(app.env)).data.exists():
        return answer
    # The room of memories takes 15 ms to load, and only a store with memories needs it.
    from rekal.app.desk import Desk
    from rekal.app.memory_recall import Moment, add_memories

    return add_memories(
        Desk(app.home, app.env, app), answer, ledger.events, Moment(filters.as_of, filters.known_at), file=filters.file,
        branch=filters.branch, reader=reader, meaning=found.meaning,
    )  # fmt: skip


def _open_reader(app: App, kept: Kept, notes: list[str]) -> IndexReader:
    try:
        return kept.index(app.layout.index)
    except StoreBusy:
        raise
    except StoreError:  # none yet, damaged, or made by another version
        _rebuild_index(app, notes)
    notes.append("the index was missing or damaged and has been built again")
    return kept.index(app.layout.index)


def _rebuild_index(app: App, notes: list[str], *, full: bool = False) -> None:
    from rekal.index.build import refresh_index  # the modules that build an index take 20 ms to import

    refresh_index(app.layout, app.repo, app.scrub, notes.append, full=full)


def _read_ledger_state(app: App, kept: Kept) -> LedgerState | None:
    """Read position and memories of the ledger; None while it is being written: the writer indexes the rest."""

    def read() -> LedgerState:
        mark = LedgerMark(app.layout)
        marked = mark.read()
        if marked is not None:
            return LedgerState(marked)
        from rekal.store.ledger import open_ledger  # 10 ms that most recalls do without
        from rekal.store.memory_log import read_events

        before = mark.list_files()
        with open_ledger(app.layout.data, read_only=True, wait=_PATIENCE) as ledger:
            state = LedgerState(ledger.position(), tuple(read_events(ledger.con)))
        if not state.events:
            mark.write(state.position, before)
        return state

    try:
        return kept.ledger(app.layout.data, read)
    except StoreBusy:
        return None


def _mark_signatures(app: App, kept: Kept, hits: list[Hit]) -> list[Hit]:
    """The same sessions, teammates' with the verdict on the signature of their ref; "unchecked" while it is not to be
    read: an answer does not wait for a writer.
    """
    origins = {hit.origin for hit in hits} - {LOCAL}
    if not origins:
        return hits

    def read(lacking: Collection[str]) -> Mapping[str, str]:
        from rekal.store.ledger import open_ledger  # 10 ms that most recalls do without
        from rekal.why.trust import list_signatures

        with open_ledger(app.layout.data, read_only=True, wait=0) as ledger:
            return list_signatures(ledger.con, lacking)

    signed: Mapping[str, str] = {}
    with contextlib.suppress(StoreError):
        signed = kept.signatures(app.layout.data, origins, read)
    return [
        msgspec.structs.replace(hit, signature=None if hit.origin == LOCAL else signed.get(hit.origin, "unchecked"))
        for hit in hits
    ]


def note_shown(app: App, answer: Answer) -> None:
    """Leave an event that these sessions were shown. OSError where the store cannot be written.

    Being shown never ranks; it is the number that being opened is compared to. A silence for want of evidence is noted
    with the session that came near, so that somebody can say whether it was right.
    """
    ids = tuple(hit.session_id for hit in answer.sessions)
    weighed = answer.verdict == "SILENCE" and answer.reason in ("below_gate", "anchor_mismatch")
    if ids or weighed:
        near = answer.perhaps.session_id if answer.perhaps else ""
        event = spool.RecallEvent(
            "surfaced" if ids else "silent", ids or (near,), datetime.now(UTC), app.scrub(answer.question)
        )
        spool.note_recall(app.layout.spool, event)


def count_evidence(answer: Answer) -> list[str]:
    """Return what answers, in numbers and words, as ``["1 memory", "3 sessions"]``."""
    counts = (
        (len(answer.memories or ()), "memory", "memories"),
        (len(answer.sessions), "session", "sessions"),
        (len(answer.documents or ()), "chunk of documents", "chunks of documents"),
    )
    return [f"{number} {one if number == 1 else many}" for number, one, many in counts if number]


# The position of a ledger without memories, noted beside it: a recall that finds the note need not open the ledger.
#
# To open it costs 30 ms, and in most stores there is nothing in it that the index has not. The note says in which state
# of the file it was true, so whatever writes the ledger makes it void.

# A clock of files may stand still for some milliseconds: a file that was just written may be written again unseen.
_SETTLED = 2.0  # seconds


class LedgerMark(msgspec.Struct, frozen=True):
    """The note of one store."""

    layout: Layout

    def read(self) -> int | None:
        """Return the position of a ledger that holds no memory; None where the ledger must be opened to know."""
        try:
            words = (self.layout.run / CHECKED_LEDGER).read_text("ascii").split()
        except (OSError, ValueError):
            return None
        files = self.list_files()
        return int(words[0]) if files and words[1:] == files and words[0].isdigit() else None

    def write(self, position: int, files: list[str]) -> None:
        """Note the position of a ledger that held no memory when :meth:`list_files` gave ``files``."""
        newest = max((int(word) for word in files[1::3]), default=0)
        if time.time_ns() - newest < _SETTLED * 1e9 or files != self.list_files():
            return
        with contextlib.suppress(OSError):  # a store that cannot be written is recalled from, too
            write_atomically(self.layout.run / CHECKED_LEDGER, " ".join((str(position), *files)).encode())

    def list_files(self) -> list[str]:
        """Return words that change whenever the ledger or its log does; none where there is no ledger."""
        words: list[str] = []
        for path in (self.layout.data, self.layout.data.with_name(f"{self.layout.data.name}.wal")):
            with contextlib.suppress(OSError):
                found = path.stat()
                words += [str(found.st_ino), str(found.st_mtime_ns), str(found.st_size)]
        return words
