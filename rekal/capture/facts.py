"""What git says about a commit, scrubbed: gathered before the store is opened."""

from __future__ import annotations

import re
from collections.abc import Callable

import msgspec

from rekal.capture.link import CommitFacts
from rekal.capture.sweep import Job
from rekal.errors import GitError
from rekal.git import Repo

MAX_FILES = 10_000
"""Paths kept of one commit: a vendored tree of a million files says nothing about who worked on what."""

_ANCESTRY = re.compile(r"[~^].*$")


def facts_reader(repo: Repo, job: Job) -> Callable[[str], CommitFacts | None]:
    """A function from a commit's name to its facts; None for a commit that is not there (any more)."""
    here: dict[str, str | None] = {}

    def read(sha: str) -> CommitFacts | None:
        scrubber = job.scrubber
        if not here:
            here.update(head=repo.head(), branch=repo.branch())
        try:
            commit = repo.commit(sha)
        except GitError:
            return None
        if commit is None:
            return None
        branch = here["branch"] if commit.sha == here["head"] else _branch_of(repo, commit.sha)
        changes = tuple(
            msgspec.structs.replace(c, path=scrubber.text(c.path), old_path=c.old_path and scrubber.text(c.old_path))
            for c in repo.changes(commit)[:MAX_FILES]
        )
        clean = msgspec.structs.replace(commit, subject=scrubber.text(commit.subject))
        return CommitFacts(clean, changes, repo.patch_id(commit), branch and scrubber.text(branch))

    return read


def _branch_of(repo: Repo, sha: str) -> str | None:
    """A local branch that contains the commit, the nearest one by git's own measure."""
    name = repo.ask("name-rev", "--name-only", "--no-undefined", "--refs=refs/heads/*", sha)
    return _ANCESTRY.sub("", name) if name else None
