"""Who may add what: the rules of origin for records that other clones recorded.

A batch comes from one ref. What it may do is narrow: add sessions and checkpoints of its own origins, and add to
those. A record of another origin, or of this clone, is never touched; a frame that tries is counted. Only a record
whose author could not be verified makes room for the same one from its author's own ref, so that the order in which
refs are read does not decide.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Sequence

from rekal.model import LOCAL
from rekal.store.database import Connection
from rekal.store.tombstones import forgotten

UNVERIFIED = "unverified:"

_BELOW: dict[str, tuple[tuple[str, str], ...]] = {
    "sessions": (("turns", "session_id"), ("tool_calls", "session_id"), ("edits", "session_id")),
    "checkpoints": (("files_touched", "checkpoint_id"), ("checkpoint_sessions", "checkpoint_id")),
    "memory_events": (),
}


class Admission:
    """The rules for one batch, and the count of what they did."""

    def __init__(self, con: Connection, origins: Sequence[str]) -> None:
        self.con = con
        self.origins = tuple(origins)
        self.gone = forgotten(con, (LOCAL, *origins))
        self.counts: Counter[str] = Counter()

    def owners(self, table: str, ids: Collection[str]) -> dict[str, str]:
        """The origin of each of these records that is stored."""
        rows = self.con.execute(
            f"SELECT id, any_value(origin) FROM {table} WHERE id IN (SELECT unnest(?::VARCHAR[])) GROUP BY id",
            [sorted(ids)],
        )
        return {str(id_): str(origin) for id_, origin in rows.fetchall()}

    def admit(self, table: str, id_: str, origin: str, owners: dict[str, str]) -> bool | None:
        """Whether a record is new and may come in (``owners`` then has it); None where it is known and this ref's."""
        owner = owners.get(id_)
        if owner in self.origins:
            return None
        if owner is not None:
            if not owner.startswith(UNVERIFIED) or origin.startswith(UNVERIFIED):
                self.counts["foreign"] += 1
                return False
            self._displace(table, id_)
        owners[id_] = origin
        return True

    def _displace(self, table: str, id_: str) -> None:
        for name, column in (*_BELOW[table], (table, "id")):
            self.con.execute(f"DELETE FROM {name} WHERE {column} = ?", [id_])
        self.counts["displaced"] += 1

    def is_new(self, known: set[tuple[str, str | int]], session_id: str, uid: str, seq: int) -> bool:
        """Whether neither a turn's or call's uid nor its number is taken; both are from then on."""
        if (session_id, uid) in known:
            return False
        if (session_id, seq) in known:
            self.counts["clashing"] += 1
            return False
        known.update(((session_id, uid), (session_id, seq)))
        return True
