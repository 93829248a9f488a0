"""Facts out of ingested documents, as proposed memories that cite their chunk.

Resumable: a thread whose facts were taken is noted when all of it is done, and memories have ids made of what they say
and cite, so that a batch asked twice adds nothing. A batch that fails costs itself and is asked again next time.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from pathlib import Path

import msgspec

from rekal import ids
from rekal.app.desk import Desk
from rekal.app.documents.ingest_documents import documents_layout
from rekal.config import read_variable
from rekal.documents import extraction, language_models
from rekal.documents.extraction import ExtractedFact, SourceChunk
from rekal.documents.ingest import list_states
from rekal.documents.language_models import LanguageModel, ModelChoice
from rekal.documents.threads import key_of_source
from rekal.errors import EngineError, UsageError
from rekal.files import read_or_empty, write_atomically
from rekal.memory.events import ReviewNote
from rekal.memory.state import Memory, fold
from rekal.memory.write import Actor, NewMemory, make_event, make_memory
from rekal.model import MemoryEvent
from rekal.store.ledger import open_ledger
from rekal.store.memory_log import append_events, read_events
from rekal.store.queries import session_ids
from rekal.store.source_state import read_chunks

KEYS = ("REKAL_EXTRACT_API_KEY", "OPENAI_API_KEY")
DOCUMENT_TAG = "document"
_ABOUT = "about:"
DATED_TAG = "dated:"
_WAIT = 60.0


class ExtractPlan(msgspec.Struct, frozen=True):
    """The work that is left: chunks, the batches they make, and the tokens that go out, about."""

    chunks: int
    batches: int
    tokens: int


class ExtractAnswer(msgspec.Struct, frozen=True):
    """The result of ``ingest --extract --json``.

    ``facts`` are new proposed memories, ``dropped`` counts what a model said that did not hold, by reason; ``failed``
    batches are asked again next time, ``problems`` say why; ``retracted`` facts cited text that is gone.
    """

    plan: ExtractPlan
    model: str
    facts: int = 0
    dropped: dict[str, int] = {}
    failed: int = 0
    retracted: int = 0
    problems: list[str] = []
    dry_run: bool = False


class ExtractRequest(msgspec.Struct, frozen=True, kw_only=True):
    """Documents to take facts from: those below ``paths``. ``jobs`` batches are asked at once."""

    paths: tuple[Path, ...]
    choice: ModelChoice
    hints: tuple[str, ...] = ()
    jobs: int = 1
    personal: bool = False
    dry_run: bool = False


def choose_model(desk: Desk, model: str | None, url: str | None, command: str | None) -> ModelChoice:
    """Return the model that options name, else the one of the settings."""
    chosen = desk.config.extract
    if model or command:
        return ModelChoice(model, url or chosen.url, command)
    return ModelChoice(chosen.model, url or chosen.url, chosen.command)


def extract_facts(
    desk: Desk, request: ExtractRequest, report: Callable[[int, int], None] = lambda done, of: None
) -> ExtractAnswer:
    """Ask a model for the facts of what was ingested and not asked yet. UsageError without a model.

    ``report`` is called with the number of batches that are done, and of all.
    """
    personal = request.personal or desk.app is None
    chunks, present = _pending(desk, request, personal=personal)
    batches = list(extraction.batch_chunks(chunks))
    plan = _make_plan(batches, request.hints)
    name = request.choice.command or request.choice.model or ""
    if request.dry_run:
        return ExtractAnswer(plan, name, dry_run=True)
    key = next((found for one in KEYS if (found := read_variable(desk.env, one))), None)
    model = language_models.open_model(request.choice, desk.env, key, extraction.SCHEMA)
    dropped: Counter[str] = Counter()
    problems: list[str] = []
    failed: set[str] = set()
    facts = 0
    for number, (batch, outcome) in enumerate(_ask_all(model, batches, request), 1):
        if isinstance(outcome, EngineError):
            problems.append(str(outcome))
            failed |= {chunk.session_id for chunk in batch}
        else:
            facts += _remember_facts(desk, outcome[0], model.name, personal=personal)
            dropped.update(outcome[1])
            _note_done(desk, batch, batches[number:], failed, personal=personal)
        report(number, len(batches))
    retracted = 0 if failed else _retract_stale(desk, present, model.name, personal=personal)
    return ExtractAnswer(plan, model.name, facts, dict(sorted(dropped.items())), len(problems), retracted, problems)


def _make_plan(batches: Sequence[Sequence[SourceChunk]], hints: Sequence[str]) -> ExtractPlan:
    sizes = [len(extraction.SYSTEM) + len(extraction.write_request(batch, hints)) for batch in batches]
    return ExtractPlan(sum(map(len, batches)), len(batches), sum(sizes) // 4)


def _pending(desk: Desk, request: ExtractRequest, *, personal: bool) -> tuple[list[SourceChunk], set[str]]:
    """Chunks of the documents asked for that no model has seen, in order, and all sessions that are stored."""
    layout = documents_layout(desk, personal=personal)
    if not layout.data.exists():
        raise UsageError("nothing was ingested yet", "run `rekal ingest FOLDER` first")
    done = set(read_or_empty(layout.extracted).decode().split())
    chunks: list[SourceChunk] = []
    with open_ledger(layout.data, read_only=True, wait=_WAIT) as ledger:
        for path in request.paths:
            for state in list_states(ledger, Path.cwd() / path):
                for session_id, seq, text, place in read_chunks(ledger.con, key_of_source(state.source)):
                    if session_id not in done:
                        chunks.append(SourceChunk(session_id, seq, text, place))
        present = set(session_ids(ledger.con))
    return list(dict.fromkeys(chunks)), present


Outcome = tuple[list[ExtractedFact], Counter[str]] | EngineError


def _ask_all(
    model: LanguageModel, batches: Sequence[list[SourceChunk]], request: ExtractRequest
) -> Iterator[tuple[list[SourceChunk], Outcome]]:
    """Yield each batch with what came of it, in order; some are asked at once."""

    def ask(batch: list[SourceChunk]) -> Outcome:
        try:
            answer = model.answer(extraction.SYSTEM, extraction.write_request(batch, request.hints))
            return extraction.read_answer(answer, batch)
        except EngineError as error:
            return error

    with ThreadPoolExecutor(max_workers=max(1, request.jobs)) as pool:
        yield from zip(batches, pool.map(ask, batches), strict=True)


def _remember_facts(desk: Desk, facts: Sequence[ExtractedFact], model: str, *, personal: bool) -> int:
    now = datetime.now(UTC)
    actor = Actor(f"{model} for {desk.actor.name}", "derived", "ingest")
    events = [_fact_event(desk, fact, actor, now, personal=personal) for fact in facts]
    if not events:
        return 0
    with desk.writing(personal=personal) as ledger:
        return append_events(ledger, events)


def _fact_event(desk: Desk, fact: ExtractedFact, actor: Actor, now: datetime, *, personal: bool) -> MemoryEvent:
    memory_id = ids.derive("fact", fact.chunk.cite, fact.text)
    about = (f"{_ABOUT}{fact.about}",) if fact.about else ()
    new = NewMemory(
        fact.text, "fact", tags=(DOCUMENT_TAG, *about, *_days_as_tag(fact)), source=fact.chunk.cite, quote=fact.quote,
        personal=personal, id=memory_id,
    )  # fmt: skip
    event = make_memory(new, actor, now, desk.scrub)
    # The same fact found again is the same entry of the log.
    return msgspec.structs.replace(event, id=ids.derive("fact event", memory_id))


def _days_as_tag(fact: ExtractedFact) -> tuple[str, ...]:
    """The days of a fact as a tag. They are no validity: that the fair will be in June holds, and is asked, in May."""
    if fact.first is None:
        return ()
    last = "" if fact.last in (None, fact.first) else f"..{fact.last}"
    return (f"{DATED_TAG}{fact.first}{last}",)


def _note_done(
    desk: Desk,
    batch: Sequence[SourceChunk],
    later: Sequence[Sequence[SourceChunk]],
    failed: set[str],
    *,
    personal: bool,
) -> None:
    """Note the threads of a batch that end in it, and of which nothing failed."""
    going_on = {chunk.session_id for one in later for chunk in one}
    done = {chunk.session_id for chunk in batch} - going_on - failed
    if done:
        path = documents_layout(desk, personal=personal).extracted
        write_atomically(path, read_or_empty(path) + "".join(f"{one}\n" for one in sorted(done)).encode())


def _retract_stale(desk: Desk, present: set[str], model: str, *, personal: bool) -> int:
    """Take back proposed facts whose text is stored no more; what a person accepted stays."""
    now = datetime.now(UTC)
    actor = Actor(f"{model} for {desk.actor.name}", "derived", "ingest")
    with desk.writing(personal=personal) as ledger:
        held = fold(read_events(ledger.con), now).all
        stale = [
            one for one in held if is_extracted(one) and one.state == "proposed" and _cited_session(one) not in present
        ]
        note = ReviewNote(note="the document does not say so any more")
        return append_events(ledger, [make_event(one.id, "retract", note, actor, now) for one in stale])


def is_extracted(memory: Memory) -> bool:
    """True for a fact that a model took out of a document."""
    return memory.type == "fact" and memory.via == "ingest" and DOCUMENT_TAG in memory.tags


def _cited_session(memory: Memory) -> str:
    return (memory.source or "").partition("#")[0]


def name_subject(memory: Memory) -> str | None:
    """Return whom or what a fact is about, as its writer named it."""
    tags = (tag.removeprefix(_ABOUT) for tag in memory.tags if tag.startswith(_ABOUT))
    return memory.subject or next(tags, None)
