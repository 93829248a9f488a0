"""The merge gate: a checkpoint may leave once its commit is part of the mainline.

It is when the mainline's tip reaches it; when the mainline holds the same change (an equal patch-id: a rebase, a
cherry-pick); when everything its branch did since the merge base is one change of the mainline (a squash), or is held
line by line by one (a squash whose conflicts were resolved); when a commit so squashed reaches it; or when the user
says that a commit which reaches it was merged. Nothing else opens the gate: a commit without a name, an empty change
and a missing mainline all say no.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum

import msgspec

from rekal.git import Repo, join_lines, patch_ids
from rekal.git.repo import find_present_commits
from rekal.model import Checkpoint

RULE_VERSION = 2
_SHA = re.compile("[0-9a-f]{40}|[0-9a-f]{64}")
_PATCHES = 2_000  # changes of the mainline that are looked at, newest first
_SECONDS = 60.0


class Why(StrEnum):
    """Reason of a verdict, as the end of a sentence that begins with the commit."""

    REACHED = "is part of the mainline"
    SAME_CHANGE = "is on the mainline as another commit"
    SQUASHED = "was squashed into the mainline"
    RESOLVED = "was squashed into the mainline, its conflicts resolved"
    SAID = "is merged by your word"
    BELOW_SQUASHED = "belongs to a branch that was squashed into the mainline"
    UNMERGED = "is not part of the mainline"
    GONE = "is no longer in this clone"
    NO_MAINLINE = "has no mainline to be part of"

    @property
    def opens(self) -> bool:
        """True if the gate opens for this reason."""
        return self not in (Why.UNMERGED, Why.GONE, Why.NO_MAINLINE)


class Verdict(msgspec.Struct, frozen=True):
    """Verdict on one commit: may its checkpoint leave, and why."""

    git_sha: str
    why: Why

    @property
    def shareable(self) -> bool:
        """True if it may leave."""
        return self.why.opens

    def sentence(self) -> str:
        """The verdict in one sentence without a full stop."""
        return f"{self.git_sha[:12] or 'a commit without a name'} {self.why}"


class Mainline(msgspec.Struct, frozen=True):
    """The branch that everybody has: the ref on the remote's side, and its tip."""

    ref: str
    tip: str


def find_mainline(
    repo: Repo, remote: str, configured: str | None = None, pushed: Mapping[str, str] | None = None
) -> Mainline | None:
    """Return the ``configured`` branch, else the one that the remote's HEAD names; None when there is neither.

    A branch that was chosen and is not on the remote holds everything back: nobody said that another one will do.

    ``pushed`` is what this very push writes: the remote's refs and the commits they become. A push of the mainline
    itself counts as done, as long as it only adds to it.
    """
    prefix = f"refs/remotes/{remote}/"
    branch = configured
    if not branch:
        head = repo.ask("symbolic-ref", "--quiet", f"{prefix}HEAD")
        branch = head.removeprefix(prefix) if head and head.startswith(prefix) else None
    if not branch:
        return None
    ref = f"refs/heads/{branch}"
    tip = repo.resolve_commit(prefix + branch)
    coming = (pushed or {}).get(ref)
    if coming and _SHA.fullmatch(coming) and (_reaches(repo, coming, tip) if tip else repo.resolve_commit(coming)):
        tip = coming
    return Mainline(ref, tip) if tip else None


def _reaches(repo: Repo, tip: str, sha: str) -> bool:
    return repo.ask("merge-base", "--is-ancestor", sha, tip) is not None


def _only_in(repo: Repo, shas: Iterable[str], tip: str) -> set[str]:
    """Return everything that ``shas`` reach and ``tip`` does not."""
    return set(repo.run("rev-list", "--stdin", stdin=join_lines([*shas, f"^{tip}"]), timeout=_SECONDS).split())


def _mainline_patches(repo: Repo, tip: str, outside: Sequence[str]) -> bytes:
    """Return the patches of the mainline since all of ``outside`` left it."""
    base = repo.ask("merge-base", "--octopus", tip, *outside) if outside else None
    since = [f"^{base}"] if base else []
    return patch_ids.read_patches(
        repo, repo.run("rev-list", "--no-merges", f"-n{_PATCHES}", tip, *since, "--", timeout=_SECONDS).split()
    )


def _local_tips(repo: Repo) -> list[str]:
    return repo.run("for-each-ref", "--format=%(objectname)", "refs/heads", timeout=_SECONDS).split()


class _Gate:
    """Findings of one look at the repository about some checkpoints."""

    def __init__(self, repo: Repo, tip: str, checkpoints: Sequence[Checkpoint], said: Sequence[str]) -> None:
        shas = sorted({one.git_sha for one in checkpoints if _SHA.fullmatch(one.git_sha)})
        self.present = find_present_commits(repo, shas)
        self._patch_of = {one.git_sha: one.patch_id for one in checkpoints if one.patch_id}
        self.outside = self.present & _only_in(repo, self.present, tip) if self.present else set()
        self._said = _only_in(repo, said, tip) if said else set()
        gone = [one for one in checkpoints if one.git_sha not in self.present and one.patch_id]
        self._ids: set[str] = set()
        self._squashed: set[str] = set()
        self._resolved: set[str] = set()
        self._below: set[str] = set()
        if self.outside or gone:
            # A commit that is gone has no merge base: then the mainline is searched without a lower end.
            patches = _mainline_patches(repo, tip, [] if gone else sorted(self.outside))
            self._ids = set(patch_ids.list_patch_ids(repo, patches).values())
            missing = sorted(self.outside - self._patch_of.keys())
            self._patch_of |= patch_ids.compute_patch_ids(repo, missing) if missing else {}
            self._prove(repo, tip, patches)

    def _prove(self, repo: Repo, tip: str, patches: bytes) -> None:
        if not self._ids or not self.outside:
            return
        points = self.outside | (_only_in(repo, tips, tip) & set(tips) if (tips := _local_tips(repo)) else set())
        branches = {point: patch_ids.read_branch_patch(repo, point, tip) for point in sorted(points)}
        wholes = {point: branch.patch for point, branch in branches.items() if branch and branch.patch}
        ids = {point: patch_ids.compute_patch_id(repo, whole) for point, whole in wholes.items()}
        self._squashed = {point for point, patch_id in ids.items() if patch_id in self._ids}
        rest = {point: whole for point, whole in wholes.items() if point not in self._squashed}
        self._resolved = patch_ids.find_absorbed(rest, patches)
        proven = self._squashed | self._resolved
        self._below = _only_in(repo, proven, tip) if proven else set()

    def why(self, sha: str) -> Why:
        """Return the reason that decides for ``sha``."""
        if sha in self.present and sha not in self.outside:
            return Why.REACHED
        if self._patch_of.get(sha) in self._ids:
            return Why.SAME_CHANGE
        if sha not in self.present:
            return Why.GONE
        reasons = {
            Why.SQUASHED: self._squashed,
            Why.RESOLVED: self._resolved,
            Why.BELOW_SQUASHED: self._below,
            Why.SAID: self._said,
        }
        return next((why for why, shas in reasons.items() if sha in shas), Why.UNMERGED)


def judge_commits(
    repo: Repo,
    mainline: Mainline | None,
    checkpoints: Sequence[Checkpoint],
    known: Mapping[str, Why] | None = None,
    said: Sequence[str] = (),
) -> list[Verdict]:
    """One verdict a checkpoint, in their order.

    ``known`` are verdicts by commit that were found for this very tip under :data:`RULE_VERSION`. A *yes* stays true
    while the tip only grows; a *no* must be asked again when it moves. ``said`` are commits that the user says were
    merged, with all they reach. Costs a handful of git processes, and three more for each commit or local branch that
    the mainline does not reach. Raises :class:`rekal.errors.GitError`.
    """
    if mainline is None:
        return [Verdict(one.git_sha, Why.NO_MAINLINE) for one in checkpoints]
    known = {sha: why for sha, why in (known or {}).items() if why.opens or not said}
    unknown = [one for one in checkpoints if one.git_sha not in known]
    gate = _Gate(repo, mainline.tip, unknown, said) if unknown else None
    return [
        Verdict(one.git_sha, known[one.git_sha] if gate is None or one.git_sha in known else gate.why(one.git_sha))
        for one in checkpoints
    ]
