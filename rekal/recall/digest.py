"""From candidates to what is shown: the telling sentences of the best turns, inside a budget of tokens."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

import numpy as np
from numpy.typing import NDArray

from rekal.index import text
from rekal.index.reader import IndexReader
from rekal.recall.answer import Hit, Row
from rekal.recall.search import Candidate, Found
from rekal.store.columns import aware, record

# Measured on English and code chat: about four characters a token.
_CHARS_A_TOKEN = 4
_LONGEST_ROW = 480
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def hits(reader: IndexReader, found: Found, shown: Sequence[Candidate], budget: int) -> list[Hit]:
    """The sessions ``shown`` with rows worth about ``budget`` tokens in all.

    Rows are chosen by their own score over all sessions together, but the best turn of each session comes first: a
    session without any row would be a handle without a reason.
    """
    turns = reader.units("turn")
    firsts = [int(c.turns[0]) for c in shown if len(c.turns)]
    others = sorted(
        (int(p) for c in shown for p in c.turns[1:]),
        key=lambda p: (-float(found.lexical.turns[p]), p),
    )
    rows: dict[int, list[Row]] = {c.number: [] for c in shown}
    left = budget * _CHARS_A_TOKEN
    wanted = [*firsts, *others]
    said = {t.doc_id: t for t in reader.texts([int(turns.doc[p]) for p in wanted])}
    for place in wanted:
        turn = said[int(turns.doc[place])]
        excerpt, cut = _excerpt(turn.text, found)
        if len(excerpt) > left and any(rows.values()):
            continue
        left -= len(excerpt)
        score = round(float(found.lexical.turns[place]), 3)
        rows[int(turns.session[place])].append(
            Row(int(turn.seq or 0), turn.role or "", _when(turn.occurred_us), excerpt, cut, score)
        )
    return [_hit(reader, c, sorted(rows[c.number], key=lambda r: r.seq)) for c in shown]


def _when(us: int | None) -> datetime | None:
    return None if us is None else _EPOCH + timedelta(microseconds=us)


def _excerpt(said: str, found: Found) -> tuple[str, bool]:
    """The part of a turn in which most of the question's weight stands together, and whether anything was cut."""
    said = said.strip()
    if len(said) <= _LONGEST_ROW:
        return said, False
    weights = {term: word.weight for word in found.words for term in _terms(found, word.terms)}
    spans = [(s, e, sum(weights.get(t, 0.0) for t in set(text.tokens(said[s:e])))) for s, e in _words(said)]
    telling = [(s, e, w) for s, e, w in spans if w > 0]
    if not telling:
        return said[:_LONGEST_ROW], True
    start = _densest(telling)
    start = max(0, min(start - _LONGEST_ROW // 6, len(said) - _LONGEST_ROW))
    end = start + _LONGEST_ROW
    while start and not said[start - 1].isspace() and said[start - 1] not in "([{\"'`":
        start -= 1
    return said[start:end].strip(), True


def _terms(found: Found, places: NDArray[np.intp]) -> list[str]:
    return [found.lexical.postings.terms[int(p)] for p in places]


def _words(said: str) -> list[tuple[int, int]]:
    spans = []
    start = -1
    for at, ch in enumerate(said):
        if ch.isspace():
            if start >= 0:
                spans.append((start, at))
            start = -1
        elif start < 0:
            start = at
    if start >= 0:
        spans.append((start, len(said)))
    return spans


def _densest(telling: Sequence[tuple[int, int, float]]) -> int:
    """Where the stretch of :data:`_LONGEST_ROW` characters with the most weight begins."""
    best, best_start = -1.0, telling[0][0]
    for i, (start, _, _) in enumerate(telling):
        weight = sum(w for _, e, w in telling[i : i + 60] if e <= start + _LONGEST_ROW)
        if weight > best:
            best, best_start = weight, start
    return best_start


def _hit(reader: IndexReader, candidate: Candidate, rows: list[Row]) -> Hit:
    facets = reader.rows(
        """SELECT session_id, agent, author_name, author_email, origin, actor, branch, commits, title, started_at
           FROM facets WHERE session_ord = ?""",
        [candidate.number],
    )[0]
    return record(Hit, (*facets[:9], aware(facets[9]), round(candidate.score, 3), rows))
