"""From candidates to what is shown: the telling sentences of the best turns, in a budget of tokens, and their order."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache

import msgspec
import numpy as np

from rekal.index import text
from rekal.index.reader import Bools, IndexedText, IndexReader
from rekal.recall.answer import Hit, Row
from rekal.recall.mentions import Reach
from rekal.recall.question import read_question
from rekal.recall.row_text import SHORT_ROW, is_worth_a_row, snap_to_sentences
from rekal.recall.scores import Floats
from rekal.recall.search import Look
from rekal.store.database import make_record, with_zone

# Measured on English and code chat: about four characters a token.
_CHARS_A_TOKEN = 4
_LONGEST_ROW = 120
_LONGEST_LISTED = 480  # characters of a prompt or an outcome, where a question lists sessions
_HEAD = 32  # characters that every row has before its text
_TRIED_FIRST = 4  # best turns of a session, the first that says something is its first row
_MOST_ROWS = 60
_SHORTEST_ROW = 80
_READ_WHOLE = 20_000  # characters; of a longer turn only what is around the question's words is read
_READ_AT_MOST = 4_000_000  # characters: what stands further behind in a turn is not looked for
_MOST_SPOTS = 12  # places looked at for each term of the question
_LONGEST_PROMPT = 2_000  # characters
_LOOKED_AT = 8  # turns at either end of a session, for its prompt and its outcome
SHOWN_WITHIN = 0.5  # of the best session's score
_SAME_WORK = timedelta(hours=12)  # between the starts of two sessions of one piece of work
_SAME_FILES = 2  # that both touched, and half of those of either at least
_PEOPLE = ("human", "steering")
_WORD = re.compile(r"\S+")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _shown_sessions(reader: IndexReader, seen: Look, limit: int) -> list[int]:
    """Numbers of the sessions worth showing, best first: those near the best one, ``limit`` at most."""
    best = float(seen.sessions.max(initial=0.0))
    near = np.flatnonzero((seen.sessions > 0) & (seen.sessions >= best * SHOWN_WITHIN))
    order = np.lexsort((reader.sessions.rank[near], -seen.sessions[near]))
    return [int(number) for number in near[order][:limit]]


def excerpt_sessions(reader: IndexReader, seen: Look, limit: int, budget: int) -> list[Hit]:
    """Return at most ``limit`` sessions, best first, with rows worth about ``budget`` tokens in all.

    Rows are chosen by their own score over all sessions together, but the best turn of each session comes first: a
    session without any row would be a handle without a reason.
    """
    numbers = _shown_sessions(reader, seen, limit)
    turns = reader.units("turn")
    mine = np.flatnonzero(np.isin(turns.session, numbers) & seen.allowed)
    order = mine[np.lexsort((mine, -seen.turns[mine]))]
    left = budget * _CHARS_A_TOKEN
    best = [order[turns.session[order] == number][:_TRIED_FIRST].tolist() for number in numbers]
    read = dict.fromkeys([*(place for places in best for place in places), *order[:_MOST_ROWS].tolist()])
    said = {t.doc_id: t for t in reader.texts([int(turns.doc[p]) for p in read])}
    # Judged when its turn comes: most of the best sixty never are, and one costs a tenth of a millisecond.
    worth = cache(lambda place: _is_worth_a_row(said[int(turns.doc[place])]))
    firsts = _choose_firsts(best, worth)[: max(1, left // _SHORTEST_ROW)]
    share = max(_SHORTEST_ROW, min(_LONGEST_ROW, left // max(1, len(firsts)) - _HEAD))
    wanted = list(dict.fromkeys([*firsts, *order[:_MOST_ROWS].tolist()]))
    rows: dict[int, list[Row]] = {number: [] for number in numbers}
    weights = dict(zip(seen.lexical.postings.terms, seen.found.idf.tolist(), strict=True))
    finder = text.TermFinder(weights)
    for place in wanted:
        turn, is_first = said[int(turns.doc[place])], place in firsts
        if not is_first and left < _HEAD + SHORT_ROW:
            break
        # Cutting is most of the work; a long turn's excerpt is never much shorter than the longest row.
        if not is_first and (left < _LONGEST_ROW // 2 < len(turn.text.strip()) or not worth(place)):
            continue
        agent = turn.role not in _PEOPLE
        excerpt, cut = _cut_excerpt(turn.text, weights, finder, share if is_first else _LONGEST_ROW, agent=agent)
        taken = rows[int(turns.session[place])]
        if not is_first and (len(excerpt) + _HEAD > left or (len(excerpt) <= SHORT_ROW and taken)):
            continue
        left -= len(excerpt) + _HEAD
        score = round(float(seen.turns[place]), 3)
        row = Row(int(turn.seq or 0), turn.role or "", _to_datetime(turn.occurred_us), excerpt, cut, score)
        taken.append(row)
    shown = {n: sorted(rows[n], key=lambda r: r.seq) for n in numbers if rows[n]}
    return _group_same_work(reader, _make_hits(reader, shown, {n: float(seen.sessions[n]) for n in shown}))


def _choose_firsts(best: Sequence[Sequence[int]], worth: Callable[[int], bool]) -> list[int]:
    """The turn of each session that is printed whatever becomes of the rest: its best one that says something.

    A session of nothing but "yes" and narration is still shown by its best turn.
    """
    return [next((place for place in places if worth(place)), places[0]) for places in best if places]


def _is_worth_a_row(turn: IndexedText) -> bool:
    return is_worth_a_row(turn.text[:_READ_WHOLE], turn.role in _PEOPLE)


def list_shown_sessions(reader: IndexReader, numbers: Sequence[int], turns: Bools, budget: int) -> list[Hit]:
    """Return the sessions ``numbers`` in this order, each with its prompt and its outcome among ``turns`` (a mask)."""
    units = reader.units("turn")
    places = {number: np.flatnonzero(turns & (units.session == number)) for number in numbers}
    ends = {number: [*at[:_LOOKED_AT], *at[-_LOOKED_AT:]] for number, at in places.items()}
    texts = {t.doc_id: t for t in reader.texts([int(units.doc[p]) for at in ends.values() for p in at])}
    most = max(_SHORTEST_ROW, budget * _CHARS_A_TOKEN // max(1, 2 * len(numbers)))
    shown = {}
    for number in numbers:
        said = [texts[int(units.doc[place])] for place in dict.fromkeys(ends[number])]
        chosen = dict.fromkeys((*_first_prompt(said), *_last_answer(said)))
        shown[number] = [_plain_row(turn, min(most, _LONGEST_LISTED)) for turn in chosen]
    return _make_hits(reader, shown, {})


def _first_prompt(said: Sequence[IndexedText]) -> list[IndexedText]:
    """The first thing that a person asked for; "yes, go on" asks for nothing."""
    people = [turn for turn in said if turn.role in ("human", "steering")]
    return [turn for turn in people if read_question(turn.text[:_LONGEST_PROMPT]).topics][:1] or people[:1]


def _last_answer(said: Sequence[IndexedText]) -> list[IndexedText]:
    """The last thing that the agent said."""
    return [turn for turn in said if turn.role not in ("human", "steering")][-1:]


def _plain_row(turn: IndexedText, most: int) -> Row:
    said, cut = snap_to_sentences(turn.text.strip(), 0, most, agent=turn.role not in _PEOPLE)
    return Row(int(turn.seq or 0), turn.role or "", _to_datetime(turn.occurred_us), said, cut, 0.0)


def _to_datetime(us: int | None) -> datetime | None:
    return None if us is None else _EPOCH + timedelta(microseconds=us)


def _cut_excerpt(
    said: str, weights: Mapping[str, float], finder: text.TermFinder, most: int, *, agent: bool
) -> tuple[str, bool]:
    """About ``most`` characters of a turn in which most of the question's weight stands together, as whole sentences,
    and whether anything was cut.
    """
    said = said.strip()
    if len(said) <= most:
        return snap_to_sentences(said, 0, len(said), agent=agent)
    # Each term once, in order: a set would add the weights in another order in every process.
    words = [(s, e, dict.fromkeys(finder[said[s:e]])) for s, e in _word_spans(said, list(weights))]
    spans = [(s, e, sum(weights[term] for term in terms)) for s, e, terms in words]
    telling = [(s, e, w) for s, e, w in spans if w > 0]
    start = max(0, min(_densest(telling, most) - most // 6, len(said) - most)) if telling else 0
    return snap_to_sentences(said, start, start + most, agent=agent)


def _word_spans(said: str, terms: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Offsets of the words that may hold one of ``terms``, in order; of a long text only those around them."""
    regions = [(0, len(said))] if len(said) <= _READ_WHOLE else _regions(said, terms)
    for start, stop in regions:
        yield from (word.span() for word in _WORD.finditer(said, start, stop))


def _regions(said: str, terms: Sequence[str]) -> list[tuple[int, int]]:
    """Stretches of a long text around places that look like ``terms``, in order, none overlapping.

    Analysing all of it takes a second a megabyte; finding a stem's first letters takes milliseconds.
    """
    said = said[:_READ_AT_MOST]
    low = said.lower()
    low = low if len(low) == len(said) else said  # a few letters change their length with their case
    spots: set[int] = set()
    for term in terms:
        # A stem may end otherwise than its words do: "retri" is found in "retry" by its first four letters.
        start, at = term[: max(3, len(term) - 1)], -1
        for _ in range(_MOST_SPOTS):
            at = low.find(start, at + 1)
            if at < 0:
                break
            spots.add(at)
            at += _LONGEST_ROW // 2
    found: list[tuple[int, int]] = []
    for at in sorted(spots):
        begin, end = max(0, at - _LONGEST_ROW // 4), min(len(said), at + _LONGEST_ROW)
        if found and begin <= found[-1][1]:
            found[-1] = found[-1][0], end
        else:
            found.append((begin, end))
    return found


def _densest(telling: Sequence[tuple[int, int, float]], most: int) -> int:
    """Offset of the stretch of ``most`` characters with the most weight."""
    best, best_start = -1.0, telling[0][0]
    for i, (start, _, _) in enumerate(telling):
        weight = sum(w for _, e, w in telling[i : i + 60] if e <= start + most)
        if weight > best:
            best, best_start = weight, start
    return best_start


def _make_hits(reader: IndexReader, shown: Mapping[int, list[Row]], scores: Mapping[int, float]) -> list[Hit]:
    """Sessions by number with their rows, in this order, as they are printed: two questions to the index for all."""
    ids = [reader.sessions.ids[number] for number in shown]
    facets = reader.rows(
        """SELECT session_id, agent, author_name, author_email, origin, actor, branch, commits, title, started_at
           FROM facets WHERE list_contains(?, session_id)""",
        [ids],
    )
    linked = reader.rows(
        """SELECT session_id, git_sha, subject, last_seq FROM session_commits JOIN facets USING (session_ord)
           WHERE list_contains(?, session_id) ORDER BY first_seq, last_seq, git_sha, subject""",
        [ids],
    )
    about = {str(row[0]): row for row in facets}
    commits: dict[str, list[tuple[str, str | None, int]]] = {}
    for owner, *commit in linked:
        commits.setdefault(str(owner), []).append((commit[0], commit[1], commit[2]))
    return [
        make_record(
            Hit,
            (*about[one][:9], with_zone(about[one][9]), round(scores.get(number, 0.0), 3), rows, *commit),
        )
        for one, (number, rows) in zip(ids, shown.items(), strict=True)
        for commit in [_relevant_commit(commits.get(one, []), rows)]
    ]


def _group_same_work(reader: IndexReader, hits: list[Hit]) -> list[Hit]:
    """The same sessions, those of one piece of work behind the best of them.

    Work goes on in the next session, with the same files and much the same words: such twins otherwise stand apart.
    """
    if len(hits) < 2:
        return hits
    rows = reader.rows(
        """SELECT session_id, path FROM session_files JOIN facets USING (session_ord)
           WHERE list_contains(?, session_id)""",
        [[hit.session_id for hit in hits]],
    )
    files: dict[str, set[str]] = {hit.session_id: set() for hit in hits}
    for owner, path in rows:
        files[str(owner)].add(str(path))
    groups: list[list[Hit]] = []
    for hit in hits:
        for group in groups:
            if _is_same_work(hit, group[0], files):
                group.append(msgspec.structs.replace(hit, same_work_as=group[0].session_id))
                break
        else:
            groups.append([hit])
    return [hit for group in groups for hit in group]


def _is_same_work(one: Hit, other: Hit, files: Mapping[str, set[str]]) -> bool:
    if one.started_at is None or other.started_at is None or abs(one.started_at - other.started_at) > _SAME_WORK:
        return False
    mine, theirs = files[one.session_id], files[other.session_id]
    both = len(mine & theirs)
    return both >= _SAME_FILES and 2 * both >= min(len(mine), len(theirs))


def _relevant_commit(
    linked: Sequence[tuple[str, str | None, int]], rows: Sequence[Row]
) -> tuple[str | None, str | None]:
    """Name and subject of the commit that the best of ``rows`` led to: the first one that was made after it.

    ``linked`` are a session's commits in order, each with the last turn that led to it.
    """
    if not linked:
        return None, None
    best = max(rows, key=lambda row: row.score).seq if rows else 0
    # What was said after the last commit has led to none yet; that commit is the nearest.
    sha, subject, _ = next((one for one in linked if one[2] >= best), linked[-1])
    return sha, subject


# What moves sessions and turns up once both gates have spoken: what the question names, and what was opened.
#
# Nothing here can open a gate: verdict and support are settled before, on evidence that no boost has touched.

# Whatever is good enough to be shown at all and is what the question names comes before all that is not. On LoCoMo's
# dated questions session hit@1 goes from .59 to .75 by this, and no factor from 1.5 to 3 does better by a point.
NAMED = 1 / SHOWN_WITHIN
"""Factor of a session, or of a turn in the time named, for each name of the question that it answers to."""

# Opening a session is a choice, being shown is this program's own doing: ranking on that would only confirm itself
# until the same few sessions are shown for everything. Even a choice says little about the next question, so all the
# openings there can be weigh less than one word more or less: they settle what is as good as equal.
OPENED = 0.05
"""The most that a session gains by having been opened, reached in ever smaller steps: half of it by the first."""


def boost_named(reader: IndexReader, seen: Look, reaches: Sequence[Reach]) -> Look:
    """Return ``seen`` with the scores that it is shown by: the names in the question and past openings count."""
    sessions = 1 + OPENED * _saturated(_opened(reader))
    turns = np.ones(len(seen.turns))
    for one in reaches:
        # Files are left to BM25 of the facets: many sessions touch what few are about. On devrecall's 426 questions
        # that name a file this factor lowers MRR, by .13 on commit subjects; 1.1 to 1.25 gains as often as it loses.
        if one.named.kind == "path":
            continue
        sessions *= np.where(one.sessions, NAMED, 1.0)
        if one.named.kind == "date":
            turns *= np.where(one.turns, NAMED, 1.0)
        else:
            turns *= np.where(one.sessions, NAMED, 1.0)[seen.found.session]
    return msgspec.structs.replace(seen, sessions=seen.sessions * sessions, turns=seen.turns * turns)


def _saturated(counts: Floats) -> Floats:
    shares: Floats = counts / (counts + 1)
    return shares


def _opened(reader: IndexReader) -> Floats:
    """Times that each session, or a sub-agent's under it, was opened on this machine, by session number."""
    counts = np.zeros(len(reader.sessions))
    rows = reader.cached_rows("SELECT session_id, opened_count FROM opened WHERE opened_count > 0 ORDER BY session_id")
    for session_id, count in rows:
        number = reader.sessions.number(str(session_id))
        if number is not None:
            counts[number] += count
            parent = reader.sessions.parents[number]
            above = reader.sessions.number(parent) if parent else None
            if above is not None:
                counts[above] += count
    return counts
