"""A commit that became another keeps its sessions.

Amend and rebase give a commit a new name; the checkpoint of the old one is carried over to the new one, and a commit
squashed from several gets the sessions of all of them. Work that went into the new commit only (an amend with more
edits) joins them. The old checkpoint stays: it is history too.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import msgspec

from rekal import ids
from rekal.capture.link import CommitFacts, edited_ranges
from rekal.model import Checkpoint, Rewrite, SessionRange
from rekal.store import queries
from rekal.store.ledger import Ledger

Facts = Callable[[str], CommitFacts | None]


def carry_over(ledger: Ledger, rewrites: Sequence[Rewrite], facts_of: Facts) -> list[Checkpoint]:
    """Store the rewrites and carry checkpoints along. Inside a transaction. Returns the new checkpoints."""
    for rewrite in rewrites:
        ledger.add_rewrite(rewrite)
    carried: list[Checkpoint] = []
    for new_sha in dict.fromkeys(rewrite.new_sha for rewrite in rewrites):
        olds = [rewrite.old_sha for rewrite in rewrites if rewrite.new_sha == new_sha]
        carried.extend(c for c in _carried(ledger, olds, new_sha, facts_of) if ledger.add_checkpoint(c))
    return carried


def _carried(ledger: Ledger, olds: Sequence[str], new_sha: str, facts_of: Facts) -> list[Checkpoint]:
    found = queries.read_checkpoints(ledger.con, "list_contains(?::VARCHAR[], git_sha)", [list(olds)])
    facts = facts_of(new_sha) if found else None
    if facts is None:
        return []
    out = []
    for email in sorted({checkpoint.author_email for checkpoint in found}):
        ranges: dict[str, SessionRange] = {}
        _widen(ranges, edited_ranges(ledger, facts))
        for checkpoint in found:
            if checkpoint.author_email == email:
                _widen(ranges, checkpoint.sessions)
        out.append(
            Checkpoint(
                id=ids.checkpoint_id(new_sha, email),
                git_sha=new_sha,
                author_email=email,
                tree_sha=facts.commit.tree,
                patch_id=facts.patch_id,
                parent_sha=facts.commit.parents[0] if facts.commit.parents else None,
                branch=facts.branch,
                subject=facts.commit.subject,
                committed_at=facts.commit.committed_at,
                files=facts.changes,
                sessions=tuple(ranges[key] for key in sorted(ranges)),
            )
        )
    return out


def _widen(ranges: dict[str, SessionRange], more: Sequence[SessionRange]) -> None:
    """Join the ranges of one session into the one that spans them."""
    for r in more:
        old = ranges.get(r.session_id, r)
        first, last = min(old.first_seq, r.first_seq), max(old.last_seq, r.last_seq)
        ranges[r.session_id] = msgspec.structs.replace(old, first_seq=first, last_seq=last)
