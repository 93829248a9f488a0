"""What recorded edits wrote, looked up by line."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping
from datetime import datetime

import msgspec

from rekal.model import writes_whole
from rekal.store.database import Connection
from rekal.store.rows import aware
from rekal.why.line_keys import DROPPED_BITS


class Wrote(msgspec.Struct, frozen=True):
    """One edit: where it stands, and how often it wrote each of the lines asked for."""

    session_id: str
    turn_seq: int
    call_seq: int
    path: str
    at: datetime | None
    whole: bool
    keys: Mapping[int, int]

    @property
    def order(self) -> tuple[float, str, int]:
        """Earlier edits before later ones; what has no time comes first."""
        return (self.at.timestamp() if self.at else 0.0, self.session_id, self.call_seq)


def edits_of(
    con: Connection, keys: Collection[int], paths: Collection[str], sessions: Collection[str]
) -> dict[int, list[Wrote]]:
    """Edits of ``paths``, or by ``sessions`` of any path, by the ``keys`` of lines they wrote; in order of time."""
    rows = con.execute(
        f"""WITH k AS (
                SELECT session_id, tool_call_seq, path, unnest(line_hashes) >> {DROPPED_BITS} AS key FROM edits
                WHERE path IN (SELECT unnest($paths::VARCHAR[])) OR session_id IN (SELECT unnest($sessions::VARCHAR[])))
            SELECT k.session_id, c.turn_seq, k.tool_call_seq, k.path, any_value(c.occurred_at), any_value(c.tool),
                   list(k.key)
            FROM k JOIN (SELECT unnest($keys::BIGINT[]) AS key) w ON w.key = k.key
            JOIN tool_calls c ON c.session_id = k.session_id AND c.seq = k.tool_call_seq
            GROUP BY k.session_id, c.turn_seq, k.tool_call_seq, k.path""",
        {"paths": sorted(paths), "sessions": sorted(sessions), "keys": sorted(keys)},
    ).fetchall()
    found: dict[int, list[Wrote]] = defaultdict(list)
    edits = [
        Wrote(session, max(turn, 0), call, path, aware(at), writes_whole(tool), Counter(wrote))
        for session, turn, call, path, at, tool, wrote in rows
    ]
    for edit in sorted(edits, key=lambda e: e.order):
        for key in edit.keys:
            found[key].append(edit)
    return dict(found)


def introduced(edits: Iterable[Wrote]) -> list[Wrote]:
    """Of edits in order of time that all wrote a line which occurs once, those that brought it.

    A file written whole repeats what it had. Capture takes that out as far as commits show it; what was not committed
    in between is left.
    """
    kept: list[Wrote] = []
    for edit in edits:
        if not edit.whole or all(edit.path != earlier.path for earlier in kept):
            kept.append(edit)
    return kept


def names_of(con: Connection, paths: Iterable[str]) -> set[str]:
    """``paths`` and every name that recorded commits renamed them from."""
    rows = con.execute(
        """WITH RECURSIVE names(path) AS (
               SELECT unnest($paths::VARCHAR[])
               UNION SELECT f.old_path FROM names JOIN files_touched f ON f.path = names.path
               WHERE f.old_path IS NOT NULL)
           SELECT path FROM names""",
        {"paths": sorted(set(paths))},
    ).fetchall()
    return {str(row[0]) for row in rows}
