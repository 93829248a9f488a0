"""LongMemEval: 500 questions, each with a haystack of chat sessions of its own, 30 of them unanswerable ("_abs").

A file is a JSON list; ``longmemeval_s_cleaned.json`` (277 MB, some 50 sessions a question) and
``longmemeval_oracle.json`` (evidence sessions alone) have the same shape. One question's haystack is one store, and
only one is in memory at a time.
"""

from __future__ import annotations

import mmap
import re
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
from devrecall import HEAD
from locomo import BUDGETS, TOKENS_A_WORD
from passages import Passages, lowest_ratio
from rows import NOT_FOUND, Row, in_time, measure, window
from stores import Store
from vectors import VectorCache

from rekal.recall.dates import Period, read_periods
from rekal.recall.question import read_question

FILES = {
    "oracle": ("longmemeval_oracle.json", "longmemeval_oracle"),
    "s": ("longmemeval_s_cleaned.json", "longmemeval_s.json", "longmemeval_s"),
}
"""Names each variant is published under, the preferred one first; some copies have no suffix."""


class Unreadable(Exception):
    """A file that is none of this set's."""


class Turn(msgspec.Struct, frozen=True):
    """``has_answer`` marks evidence; most turns outside evidence sessions do not have it."""

    role: str
    content: str
    has_answer: bool | None = None


class Entry(msgspec.Struct, frozen=True):
    """One question as published; the three ``haystack_`` lists are parallel."""

    question_id: str
    question_type: str
    question: str
    haystack_session_ids: list[str]
    haystack_dates: list[str]
    haystack_sessions: list[list[Turn]]
    answer_session_ids: list[str] = []
    question_date: str = ""

    @property
    def abstains(self) -> bool:
        return self.question_id.endswith("_abs")


def variants(folder: Path) -> dict[str, Path]:
    """Which variants ``folder`` holds."""
    held = {name: [folder / file for file in files if (folder / file).is_file()] for name, files in FILES.items()}
    return {name: found[0] for name, found in held.items() if found}


def questions(path: Path) -> list[msgspec.Raw]:
    """Each question of a file undecoded, in the file's own mapped pages. Unreadable when it is no JSON list."""
    try:
        with path.open("rb") as file:
            mapped = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        return msgspec.json.decode(mapped, type=list[msgspec.Raw])
    except (ValueError, msgspec.DecodeError) as error:  # ValueError: nothing to map, it is empty
        raise Unreadable(f"{path} is not a JSON list of questions: {error}") from error


def entries(path: Path) -> Iterator[Entry]:
    """The questions of a file one by one. One of another shape is told and left out; Unreadable as of
    :func:`questions`.
    """
    for at, raw in enumerate(questions(path)):
        try:
            entry = msgspec.json.decode(raw, type=Entry)
        except msgspec.ValidationError as error:
            print(f"  {path.name}: question {at} left out: {error}")
            continue
        if len({len(entry.haystack_session_ids), len(entry.haystack_dates), len(entry.haystack_sessions)}) > 1:
            print(f"  {path.name}: question {at} left out: its sessions, their ids and dates differ in number")
            continue
        yield entry


_DATE = re.compile(r"\s*(\d{4})[/-](\d{1,2})[/-](\d{1,2})(?:\D*?(\d{1,2}):(\d{2}))?")


def read_date(text: str) -> datetime | None:
    """ "2023/05/30 (Tue) 23:40", the weekday unread, midnight without an hour; None for what is no date."""
    match = _DATE.match(text)
    if match is None:
        return None
    year, month, day, hour, minute = (int(part or 0) for part in match.groups())
    try:
        return datetime(year, month, day, hour, minute, tzinfo=UTC)
    except ValueError:
        return None


class Session(msgspec.Struct, frozen=True):
    id: str
    time: datetime | None
    turns: list[Turn]


def sessions_of(entry: Entry) -> list[Session]:
    """In order of time, undated ones last; turns without text and sessions without turns left out.

    A haystack may list a session twice, at two dates; a store has it once, as of the first.
    """
    times = [read_date(date) for date in entry.haystack_dates]
    listed = zip(entry.haystack_session_ids, times, entry.haystack_sessions, strict=True)
    dated = [Session(*one) for one in listed]
    dated.sort(key=lambda one: (one.time is None, one.time or datetime.min.replace(tzinfo=UTC)))
    kept: list[Session] = []
    for one in dated:
        turns = [turn for turn in one.turns if turn.content.strip()]
        if turns and not any(one.id == other.id and turns == other.turns for other in kept):
            kept.append(Session(one.id, one.time, turns))
    return kept


class Gold(msgspec.Struct, frozen=True):
    """Numbers of evidence sessions and places of evidence turns; ``lost`` evidence sessions are not in the haystack."""

    sessions: list[int]
    turns: list[int]
    lost: int


def gold_of(entry: Entry, sessions: list[Session]) -> Gold:
    """Nothing for an unanswerable question: what it cites is its trap."""
    if entry.abstains:
        return Gold([], [], 0)
    wanted = set(entry.answer_session_ids)
    flat = [(one.id, turn) for one in sessions for turn in one.turns]
    return Gold(
        sessions=[number for number, one in enumerate(sessions) if one.id in wanted],
        turns=[place for place, (name, turn) in enumerate(flat) if name in wanted and turn.has_answer],
        lost=len(wanted - {one.id for one in sessions}),
    )


def _times_named(entry: Entry, sessions: list[Session]) -> list[Period]:
    """Read on the day of the question; where that is no date, a day after the last session."""
    times = [one.time for one in sessions if one.time]
    now = read_date(entry.question_date) or (max(times) + timedelta(days=1) if times else None)
    return read_periods(entry.question, now) if now else []


def _count_lost(row: Row, gold: Gold) -> None:
    """Evidence that no store can find is evidence not found."""
    if gold.lost:
        row.session_rank = row.session_rank or float(NOT_FOUND)
        row.session_rank_all = float(NOT_FOUND)


def row_of(entry: Entry, vectors: VectorCache) -> Row | None:
    """The question measured in its own haystack; None when that holds no text. Kind answerable or abstention, part
    the type of the question.
    """
    sessions = sessions_of(entry)
    if not sessions:
        return None
    texts = [turn.content for one in sessions for turn in one.turns]
    numbers = [number for number, one in enumerate(sessions) for _ in one.turns]
    store = Store(texts, numbers, vectors([text[:HEAD] for text in texts]))
    named = _times_named(entry, sessions)
    question = read_question(entry.question, (), [(one.start, one.stop) for one in named])
    gold = gold_of(entry, sessions)
    kind = "abstention" if entry.abstains else "answerable"
    row = Row(id=entry.question_id, group=entry.question_id, kind=kind, part=entry.question_type, turns=len(texts))
    dense = vectors([question.plain])[0]
    _, _, shown_by = measure(
        row, store, question, dense, gold.sessions, gold.turns, in_time(named, [one.time for one in sessions])
    )
    row.ratio = lowest_ratio(Passages(["\n\n".join(turn.content for turn in one.turns) for one in sessions]), question)
    _count_lost(row, gold)
    lengths = [int(len(text.split()) * TOKENS_A_WORD) + 3 for text in texts]
    for budget in BUDGETS if gold.turns else ():
        shown, _ = window(store, shown_by, lengths, budget)
        row.in_window[f"any@{budget}"] = bool(shown & set(gold.turns))
        row.in_window[f"all@{budget}"] = set(gold.turns) <= shown
    return row


def rows(path: Path, vectors: VectorCache) -> list[Row]:
    """A row for each question of one file."""
    found = []
    for entry in entries(path):
        row = row_of(entry, vectors)
        if row is None:
            print(f"  {path.name}: {entry.question_id} left out: its haystack has no text")
            continue
        found.append(row)
    return found
