"""What git says about commits, scrubbed: gathered before the store is opened, for many commits at once."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING

import msgspec

from rekal.capture.link import CommitFacts
from rekal.capture.read_sources import Job
from rekal.git import Commit, Repo
from rekal.git.patch_ids import compute_first_parent_patch_ids
from rekal.model import FileChange

if TYPE_CHECKING:  # a capture that finds nothing new does not load the scrubber
    from rekal.scrub import Scrubber

MAX_FILES = 10_000
"""Paths kept of one commit: a vendored tree of a million files says nothing about who worked on what."""

_ANCESTRY = re.compile(r"[~^].*$")
_NAME = re.compile(r"[0-9a-f]{40,64}")
_AT_ONCE = 200
_NO_BRANCH = "undefined"


def read_facts(repo: Repo, job: Job, shas: Iterable[str]) -> dict[str, CommitFacts]:
    """Facts of commits by name; those that are not there (any more) are left out. Raises GitError."""
    wanted = [sha for sha in dict.fromkeys(shas) if _NAME.fullmatch(sha)]
    groups = (wanted[at : at + _AT_ONCE] for at in range(0, len(wanted), _AT_ONCE))
    return {facts.commit.sha: facts for group in groups for facts in _facts(repo, job, group)}


def _facts(repo: Repo, job: Job, shas: Sequence[str]) -> Iterator[CommitFacts]:
    commits = repo.commits(shas)
    if not commits:
        return
    changes, branches = repo.changes(commits), _branches(repo, commits)
    patches = compute_first_parent_patch_ids(repo, commits)
    text = job.scrubber.text
    for commit in commits:
        yield CommitFacts(
            msgspec.structs.replace(commit, subject=text(commit.subject)),
            tuple(_scrubbed(job.scrubber, change) for change in changes.get(commit.sha, ())[:MAX_FILES]),
            patches.get(commit.sha),
            (branch := branches.get(commit.sha)) and text(branch),
        )


def _scrubbed(scrubber: Scrubber, change: FileChange) -> FileChange:
    old = change.old_path and scrubber.text(change.old_path)
    return msgspec.structs.replace(change, path=scrubber.text(change.path), old_path=old)


def _branches(repo: Repo, commits: Sequence[Commit]) -> dict[str, str | None]:
    """A local branch that contains each commit, the nearest by git's own measure; HEAD's is the current one."""
    named = repo.ask("name-rev", "--name-only", "--refs=refs/heads/*", *(commit.sha for commit in commits)) or ""
    found: dict[str, str | None] = {
        commit.sha: None if name == _NO_BRANCH else _ANCESTRY.sub("", name)
        for commit, name in zip(commits, named.splitlines(), strict=False)
    }
    if (head := repo.head()) in found:
        found[str(head)] = repo.branch()
    return found
