"""What moves sessions and turns up once both gates have spoken: what the question names, and what was opened.

Nothing here can open a gate: verdict and support are settled before, on evidence that no boost has touched.
"""

from __future__ import annotations

from collections.abc import Sequence

import msgspec
import numpy as np

from rekal.index.reader import IndexReader
from rekal.recall.excerpts import SHOWN_WITHIN
from rekal.recall.mentions import Reach
from rekal.recall.scores import Floats
from rekal.recall.search import Look

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
