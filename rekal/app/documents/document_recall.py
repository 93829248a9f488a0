"""Documents in a recall: rows of their own under the same gate, from the repository's documents and the person's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime

import msgspec
import numpy as np

from rekal.app.resources import Kept, find_vectors_of
from rekal.config import Embed
from rekal.errors import FOUND, EngineError, StoreBusy, StoreError
from rekal.index.build import refresh_documents
from rekal.index.dense import Meaning
from rekal.index.filters import Filters, filtered_turns
from rekal.index.reader import IndexReader
from rekal.recall.answer import Answer, DocumentRow, Hit
from rekal.recall.excerpts import list_shown_sessions
from rekal.recall.recall import Options, answer_question
from rekal.store.database import translated_errors
from rekal.store.layout import Layout
from rekal.store.ledger import open_ledger
from rekal.store.source_state import ChunkPlace, read_places

_WAIT = 1.0
_NOT_OF_DOCUMENTS = ("empty_store", "filtered_out")
NEAREST = 0.35
"""Cosine below which a chunk is not near a question, where meaning alone is asked for."""


class Lane(msgspec.Struct, frozen=True):
    """One ledger of documents that is asked."""

    layout: Layout
    personal: bool


class QuestionModel(msgspec.Struct, frozen=True):
    """The model that questions are embedded with: its settings, and the environment that they are read in."""

    chosen: Embed
    env: Mapping[str, str]


def add_documents(
    answer: Answer,
    lanes: Sequence[Lane],
    kept: Kept,
    engine: QuestionModel,
    filters: Filters,
    options: Options,
    only: str | None = None,
) -> Answer:
    """The answer with the chunks that bear on its question; unchanged when none does.

    ``only`` asks one arm: ``keyword`` or ``meaning``. What cannot be read is said in a note and costs that lane alone.
    """
    rows: list[DocumentRow] = []
    notes: list[str] = []
    asked: list[Answer] = []
    for lane in lanes:
        whose = "personal documents" if lane.personal else "documents"
        try:
            found = _ask_lane(answer.question, lane, kept, engine, filters, options, only)
            rows += _rows_of(found, lane)
            asked.append(found)
        except StoreBusy:
            notes.append(f"{whose}: not read, they are being written")
        except (StoreError, EngineError) as error:
            notes.append(f"{whose}: not read ({error.message})")
    notes = [*answer.notes, *notes]
    if rows:
        support = max(answer.support, *(one.support for one in asked))
        return msgspec.structs.replace(
            answer, verdict="INJECT", reason="", support=support, exit_code=FOUND, notes=notes, documents=rows
        )
    if asked and answer.reason in _NOT_OF_DOCUMENTS:  # sessions were not asked, or there are none
        reason, support, uncovered = asked[0].reason, asked[0].support, asked[0].uncovered
        answer = msgspec.structs.replace(answer, reason=reason, support=support, uncovered=uncovered)
    return msgspec.structs.replace(answer, notes=notes)


def _ask_lane(
    question: str, lane: Lane, kept: Kept, engine: QuestionModel, filters: Filters, options: Options, only: str | None
) -> Answer:
    reader = _open_index(lane, kept)
    options = msgspec.structs.replace(options, senders=True)
    meaning = None
    if only != "keyword":
        meaning = find_vectors_of(lane.layout, engine.chosen, engine.env, kept).meaning
    with translated_errors(lane.layout.index):
        if only == "meaning":
            return _ask_nearest(reader, question, filters, options, meaning)
        try:
            return answer_question(reader, question, filters, options, meaning)
        except EngineError:
            return answer_question(reader, question, filters, options)


def _open_index(lane: Lane, kept: Kept) -> IndexReader:
    """Open the index, which is built again where it is gone or damaged: it holds nothing of its own."""
    try:
        return kept.index(lane.layout.index)
    except StoreBusy:
        raise
    except StoreError:
        refresh_documents(lane.layout, changed=False)
    return kept.index(lane.layout.index)


def _ask_nearest(
    reader: IndexReader, question: str, filters: Filters, options: Options, meaning: Meaning | None
) -> Answer:
    """The sessions whose chunks are nearest in meaning. EngineError without vectors."""
    if meaning is None:
        raise EngineError("they have no vectors yet", "run `rekal embed`")
    allowed = filtered_turns(reader, filters)
    cosine = np.where(allowed, meaning.near(question).cosine, 0.0)
    session = reader.units("turn").session
    best = np.zeros(len(reader.sessions))
    np.maximum.at(best, session, cosine)
    order = [int(one) for one in np.argsort(-best, kind="stable") if best[one] >= NEAREST][: options.limit]
    shown = list_shown_sessions(reader, order, allowed & (cosine >= NEAREST), options.budget)
    support = float(best.max(initial=0.0))
    verdict, code = ("INJECT", FOUND) if shown else ("SILENCE", 1)
    return Answer(verdict, "", round(support, 2), question, shown, [], [], code)  # type: ignore[arg-type]


def _rows_of(found: Answer, lane: Lane) -> list[DocumentRow]:
    if found.verdict != "INJECT" or not found.sessions:
        return []
    with open_ledger(lane.layout.data, read_only=True, wait=_WAIT) as ledger:
        places = read_places(ledger.con, [hit.session_id for hit in found.sessions])
    return [row for hit in found.sessions for row in _rows_of_hit(hit, places, lane)]


def _rows_of_hit(hit: Hit, places: dict[tuple[str, int], ChunkPlace], lane: Lane) -> list[DocumentRow]:
    rows = []
    for row in hit.rows:
        place = places.get((hit.session_id, row.seq), ChunkPlace(hit.title or "", "", hit.agent))
        when: datetime | None = row.occurred_at
        rows.append(
            DocumentRow(
                hit.session_id,
                row.seq,
                place.path,
                place.place,
                place.kind,
                hit.title,
                hit.author_name or None,
                when,
                row.text,
                row.cut,
                lane.personal,
                row.score,
            )
        )
    return rows
