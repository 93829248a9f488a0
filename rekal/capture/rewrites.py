"""A commit that became another keeps its sessions, whether git said so or the change is found to be the same.

Amend and rebase give a commit a new name; the checkpoint of the old one is carried over to the new one, and a commit
squashed from several gets the sessions of all of them. Work that went into the new commit only (an amend with more
edits) joins them. The old checkpoint stays: it is history too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import msgspec

from rekal import ids
from rekal.capture.link import CommitFacts, edited_ranges
from rekal.files import write_atomically
from rekal.git import Repo, join_lines, split_at_nul
from rekal.git.patch_ids import compute_patch_id, compute_patch_ids, read_branch_patch
from rekal.git.repo import find_present_commits, has_object
from rekal.model import Checkpoint, Rewrite, SessionRange
from rekal.plain_text import replace_surrogates
from rekal.store import commit_rows
from rekal.store.commit_rows import commits_within_paths, commits_without_checkpoint, select_commits_by_patch
from rekal.store.database import Connection
from rekal.store.layout import COPIES_SEEN
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
    found = commit_rows.checkpoints_of_commits(ledger.con, olds)
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


# Commits that are older commits over again, though nobody said so: cherry-picks, rebases made elsewhere, squashes.
#
# An equal patch-id is the same change; a patch-id equal to that of all a branch did since the merge base is a squash of
# it. Only what is new since the last look is examined, at most :data:`NEWEST` commits, and only against commits that
# carried sessions and whose files the new commit changes: an ordinary commit costs a handful of git processes.

NEWEST = 200
"""New commits examined in one look, newest first."""

_POINTS = 30  # ends of branches tried for one squash
_HEADS = 20
_LOOKED_AT = 500
_ONLY = ("--no-merges", f"-n{NEWEST}")


class Change(msgspec.Struct, frozen=True):
    """A commit and its patch-id."""

    sha: str
    patch_id: str


def fresh_commits(repo: Repo, run: Path, head: str | None, announced: Iterable[str]) -> list[str]:
    """Commits on ``head`` since the last look, and those ``announced`` by hooks; merges left out, oldest first."""
    if head is None:
        return []
    seen = _seen(run)
    known = [f"^{seen}"] if seen and has_object(repo, f"{seen}^{{commit}}") else []
    listed = (repo.ask("rev-list", *_ONLY, head, *known, "--") or "").split()
    there = [sha for sha in dict.fromkeys(announced) if has_object(repo, f"{sha}^{{commit}}")]
    return list(dict.fromkeys([*reversed(listed), *there]))


def _seen(run: Path) -> str | None:
    try:
        return (run / COPIES_SEEN).read_text(encoding="ascii").strip() or None
    except (FileNotFoundError, UnicodeDecodeError):
        return None


def note_examined(run: Path, head: str | None) -> None:
    """Remember that ``head`` and all before it were examined; None before the first commit."""
    if head:
        write_atomically(run / COPIES_SEEN, head.encode("ascii"))


def find_copied_commits(
    con: Connection, repo: Repo, fresh: Sequence[str], coming: Sequence[Change] = ()
) -> list[Rewrite]:
    """Find the originals of the commits in ``fresh``.

    They are among commits with a checkpoint, or among those in ``coming``, which are about to get one (oldest first).
    Raises :class:`rekal.errors.GitError`.
    """
    unknown = commits_without_checkpoint(con, fresh)
    patches = compute_patch_ids(repo, unknown) if unknown else {}
    same = [*_same_change(con, patches), *_same_as_coming(coming, patches)]
    copied = {rewrite.new_sha for rewrite in same}
    rest = {sha: patch for sha, patch in patches.items() if sha not in copied}
    changed = _changed_paths(repo, list(rest))
    found = (one for sha, patch in rest.items() for one in _squashed(con, repo, Change(sha, patch), changed[sha]))
    return [*same, *found]


def _same_change(con: Connection, patches: Mapping[str, str]) -> list[Rewrite]:
    recorded = select_commits_by_patch(con, patches.values())
    return [Rewrite(old, sha, "patch-id") for sha, patch in patches.items() for old in sorted(recorded.get(patch, ()))]


def _same_as_coming(coming: Sequence[Change], patches: Mapping[str, str]) -> list[Rewrite]:
    first: dict[str, str] = {}
    for change in coming:
        first.setdefault(change.patch_id, change.sha)
    return [Rewrite(first[p], sha, "patch-id") for sha, p in patches.items() if first.get(p, sha) != sha]


def _changed_paths(repo: Repo, shas: Sequence[str]) -> dict[str, list[str]]:
    """Return the paths that each commit changed, in one process."""
    found: dict[str, list[str]] = {sha: [] for sha in shas}
    if not shas:
        return found
    # With the letters of statuses: a path alone may look like a commit's name.
    how = ("--stdin", "-r", "-z", "--root", "--no-renames", "--name-status")
    parts = iter(split_at_nul(repo.run_raw("diff-tree", *how, stdin=join_lines(shas), timeout=60.0)))
    here: list[str] = []
    for part in parts:
        if part in found:
            here = found[part]
        else:
            here.append(next(parts, ""))
    return found


def _squashed(con: Connection, repo: Repo, whole: Change, changed: Sequence[str]) -> list[Rewrite]:
    """Find the commits squashed into ``whole``: all between the merge base and the point whose change it is."""
    for point in _points(con, repo, whole.sha, changed):
        branch = read_branch_patch(repo, point, f"{whole.sha}^")
        if branch and compute_patch_id(repo, branch.patch) == whole.patch_id:
            olds = repo.run("rev-list", "--reverse", f"-n{NEWEST}", point, f"^{branch.base}", "--").split()
            return [Rewrite(old, whole.sha, "squash") for old in olds]
    return []


def _points(con: Connection, repo: Repo, sha: str, changed: Sequence[str]) -> list[str]:
    """Places where a branch squashed into ``sha`` may have ended.

    They are commits with sessions that change only files it changes (what they deleted may have come and gone), and the
    tips of branches that hold one.
    """
    olds = commits_within_paths(con, map(replace_surrogates, changed), _LOOKED_AT)
    beside = _outside_history(repo, olds, sha)[:_POINTS]
    return list(dict.fromkeys([*(tip for one in beside[:3] for tip in _heads_with(repo, one)), *beside]))


def _outside_history(repo: Repo, olds: Sequence[str], sha: str) -> list[str]:
    """Keep the commits that are still there and not part of the history of ``sha``."""
    if not olds:
        return []
    present = find_present_commits(repo, olds)
    outside = set(repo.run("rev-list", "--stdin", stdin=join_lines([*present, f"^{sha}"]), timeout=60.0).split())
    return [old for old in olds if old in outside]


def _heads_with(repo: Repo, sha: str) -> list[str]:
    options = (f"--count={_HEADS}", f"--contains={sha}", "--format=%(objectname)")
    return (repo.ask("for-each-ref", *options, "refs/heads", "refs/remotes") or "").split()
