"""From a commit to the turns that led to it, through whatever rewrote the commit since.

A commit's own checkpoint counts, and those of the commits it was amended, rebased, squashed or copied from: a chain of
the ``rewrites`` table, or the same change by patch-id (a copy that nobody saw being made). Where these know nothing,
what the commit itself became later is asked.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence

import msgspec

from rekal.git import Repo
from rekal.git.patch_ids import compute_patch_ids
from rekal.model import Evidence
from rekal.store.database import Connection

_PATCHES = 200  # commits whose patch-id is computed for one question


class Led(msgspec.Struct, frozen=True):
    """Turns of one session that led to a commit; ``git_sha`` is the commit under which that was recorded."""

    git_sha: str
    session_id: str
    first_seq: int
    last_seq: int
    evidence: Evidence


def led_to(con: Connection, repo: Repo, shas: Iterable[str]) -> dict[str, list[Led]]:
    """For each commit the turns that led to it; commits that nothing is known of are left out."""
    wanted = list(dict.fromkeys(shas))
    found = _recorded(con, wanted, "r.new_sha", "r.old_sha")
    missing = [sha for sha in wanted if sha not in found]
    if missing:
        found |= _same_change(con, repo, missing)
        missing = [sha for sha in missing if sha not in found]
    return found | (_recorded(con, missing, "r.old_sha", "r.new_sha") if missing else {})


def _recorded(con: Connection, shas: Sequence[str], from_: str, to: str) -> dict[str, list[Led]]:
    """Turns recorded under each commit or under what ``rewrites`` leads to from it."""
    rows = con.execute(
        f"""WITH RECURSIVE kin(root, sha) AS (
                SELECT sha, sha FROM (SELECT unnest(?::VARCHAR[]) AS sha)
                UNION SELECT kin.root, {to} FROM kin JOIN rewrites r ON {from_} = kin.sha)
            SELECT kin.root, c.git_sha, k.session_id, k.first_seq, k.last_seq, k.evidence
            FROM kin JOIN checkpoints c ON c.git_sha = kin.sha JOIN checkpoint_sessions k ON k.checkpoint_id = c.id
            ORDER BY kin.root, kin.sha = kin.root DESC, c.git_sha, k.session_id, k.first_seq""",
        [list(shas)],
    ).fetchall()
    found: dict[str, list[Led]] = defaultdict(list)
    for root, sha, session, first, last, evidence in rows:
        found[str(root)].append(Led(sha, session, first, last, evidence))
    return dict(found)


def _same_change(con: Connection, repo: Repo, shas: Sequence[str]) -> dict[str, list[Led]]:
    any_known = con.execute("SELECT 1 FROM checkpoints WHERE patch_id IS NOT NULL LIMIT 1").fetchone()
    ours = compute_patch_ids(repo, shas[:_PATCHES]) if any_known else {}
    if not ours:
        return {}
    rows = con.execute(
        "SELECT DISTINCT patch_id, git_sha FROM checkpoints WHERE patch_id IN (SELECT unnest(?::VARCHAR[]))",
        [sorted(set(ours.values()))],
    ).fetchall()
    others: dict[str, list[str]] = defaultdict(list)
    for patch, sha in rows:
        others[str(patch)].append(str(sha))
    known = _recorded(con, sorted({sha for group in others.values() for sha in group}), "r.new_sha", "r.old_sha")
    found = {
        sha: [led for other in sorted(others[patch]) for led in known.get(other, ())] for sha, patch in ours.items()
    }
    return {sha: leds for sha, leds in found.items() if leds}
