"""Who speaks in a turn, where its text says so: "Ada: I moved it".

Imported talk often comes as turns that begin with a name. A session has speakers if names that open two of its turns
or more open at least half of them: a single "Note: ..." makes nobody a person.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Sequence
from typing import TYPE_CHECKING

import msgspec
import numpy as np
from numpy.typing import NDArray

from rekal.index.writer import insert_rows
from rekal.store.database import Connection

if TYPE_CHECKING:
    from rekal.index.reader import IndexReader

Longs = NDArray[np.int64]

LABEL = r"^(\p{Lu}[\p{L}\p{N}_'’.-]*(?: \p{Lu}[\p{L}\p{N}_'’.-]*)?):\s+"
"""Label at the start of a turn, as DuckDB spells patterns."""

_LONGEST_LABEL = 60  # characters of a turn that are looked at
_MOST_SPEAKERS = 12  # of one session; more are headings
_FEWEST_TURNS = 2
_NO_SPEAKER = frozenset(
    """agent ai answer assistant bug caution chore context done error example feat feature fix goal hint human important
    info input issue note output plan problem question reason refactor result risk status step summary system task test
    tests tip title todo tool update user verdict warning""".split()  # noqa: SIM905 - a list of words reads as one
)
NOBODY, UNKNOWN = -3, -2


class Speakers(msgspec.Struct, frozen=True):
    """``says`` and ``hears`` are numbers in ``names``, by place of the turn: :data:`NOBODY` says a turn without a
    label, :data:`UNKNOWN` hears one in a session that has not exactly two speakers.
    """

    names: tuple[str, ...]
    says: Longs
    hears: Longs

    def sessions_of(self, session: NDArray[np.int32], persons: Sequence[str], count: int) -> NDArray[np.bool_]:
        """Mask by session number: sessions in which one of ``persons`` speaks; ``session`` is by place."""
        wanted = [self.names.index(person) for person in persons if person in self.names]
        return np.bincount(session, np.isin(self.says, wanted), minlength=count) > 0


def write_speakers(index: Connection, ordinals: Sequence[int]) -> None:
    """Note the speakers of the sessions with these numbers anew; their turns are in the index already."""
    index.execute("DELETE FROM speech WHERE list_contains(?, session_ord)", [list(ordinals)])
    labelled = index.execute(
        f"""SELECT session_ord, doc_id, regexp_extract(left(text, {_LONGEST_LABEL}), ?, 1) AS label FROM docs
            WHERE kind = 'turn' AND list_contains(?, session_ord) AND label <> '' ORDER BY session_ord, doc_id""",
        [LABEL, list(ordinals)],
    ).fetchall()
    turns: dict[int, list[tuple[int, str]]] = defaultdict(list)
    for number, doc, label in labelled:
        if str(label).casefold() not in _NO_SPEAKER:
            turns[int(number)].append((int(doc), str(label)))
    sizes = _count_turns(index, list(turns))
    rows = [(number, *row) for number, said in turns.items() for row in _speech(said, sizes[number])]
    insert_rows(index, "speech", ("INTEGER", "INTEGER", "VARCHAR", "VARCHAR"), rows)


def _count_turns(index: Connection, ordinals: Sequence[int]) -> dict[int, int]:
    sql = """SELECT session_ord, count(*) FROM docs WHERE kind = 'turn' AND list_contains(?, session_ord)
        GROUP BY session_ord"""
    return {int(number): int(count) for number, count in index.execute(sql, [list(ordinals)]).fetchall()}


def _speech(said: Sequence[tuple[int, str]], turns: int) -> list[tuple[int, str, str | None]]:
    """Rows (document, says, hears) of one session's labelled turns; none when its labels are no speakers."""
    counted = Counter(label for _, label in said)
    again = sorted(label for label, count in counted.items() if count >= _FEWEST_TURNS)
    if not again or len(again) > _MOST_SPEAKERS or sum(counted[label] for label in again) * 2 < turns:
        return []
    other = dict(zip(again, reversed(again), strict=True)) if len(again) == 2 else {}
    return [(doc, label, other.get(label)) for doc, label in said if label in again]


def read_speakers(reader: IndexReader) -> Speakers:
    """Speakers of all turns; no names in a store of sessions without labels."""
    units = reader.units("turn")
    rows = reader.rows("SELECT doc_id, says, hears FROM speech ORDER BY doc_id")
    names = tuple(sorted({str(says) for _, says, _ in rows}))
    number = {name: at for at, name in enumerate(names)}
    says, hears = np.full(len(units), NOBODY, np.int64), np.full(len(units), UNKNOWN, np.int64)
    for doc, who, listener in rows:
        says[units.place[doc]] = number[str(who)]
        hears[units.place[doc]] = number.get(str(listener), UNKNOWN)
    return Speakers(names, says, hears)
