"""From a commit to the turns that led to it, through all rewrites of the commit since.

A commit's own checkpoint counts, and those of the commits it was amended, rebased, squashed or copied from: a chain of
the ``rewrites`` table, or the same change by patch-id (a copy that no hook saw). Where these give nothing, the commits
that it became later are asked.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rekal.git import Repo
from rekal.git.patch_ids import compute_patch_ids
from rekal.store import why_rows
from rekal.store.commit_rows import select_commits_by_patch
from rekal.store.database import Connection
from rekal.store.why_rows import TurnRange

_PATCHES = 200  # commits whose patch-id is computed for one question


def find_turn_ranges(con: Connection, repo: Repo, shas: Iterable[str]) -> dict[str, list[TurnRange]]:
    """For each commit the turns that led to it; commits without any are left out."""
    wanted = list(dict.fromkeys(shas))
    found = why_rows.select_turn_ranges(con, wanted, backwards=True)
    # From the cheapest and surest to the dearest and weakest: each step asks only about what is still missing.
    missing = [sha for sha in wanted if sha not in found]
    if missing:
        found |= _find_by_patch(con, repo, missing)
        missing = [sha for sha in missing if sha not in found]
    return found | (why_rows.select_turn_ranges(con, missing, backwards=False) if missing else {})


def _find_by_patch(con: Connection, repo: Repo, shas: Sequence[str]) -> dict[str, list[TurnRange]]:
    ours = compute_patch_ids(repo, shas[:_PATCHES]) if why_rows.has_patch_ids(con) else {}
    if not ours:
        return {}
    others = select_commits_by_patch(con, ours.values())
    twins = sorted({sha for group in others.values() for sha in group})
    recorded = why_rows.select_turn_ranges(con, twins, backwards=True)
    found = {
        sha: [turns for other in sorted(others.get(patch, ())) for turns in recorded.get(other, ())]
        for sha, patch in ours.items()
    }
    return {sha: ranges for sha, ranges in found.items() if ranges}
