"""Fetching around refs that a remote cannot send: where an object is missing there, git gives up on all of them."""

from __future__ import annotations

import time

from rekal.errors import GitError
from rekal.git import split_output
from rekal.git.repo import Repo
from rekal.transport.refs import Namespace, ref_prefix, tracking_prefix

_OPTIONS = ("--quiet", "--no-tags", "--no-recurse-submodules", "--no-write-fetch-head")
_LISTING_SECONDS = 30.0
# git says no more than this; what is missing is told on the remote's side.
_LACKING = ("pack-objects died", "upload-pack: ", "missing necessary objects", "did not send all necessary objects")
_MOST_LACKING = 32  # refs that cannot be sent; past them the remote needs its owner rather than our patience


def fetch_memory_refs(repo: Repo, remote: str, specs: list[str], seconds: float) -> None:
    """Fetch these refspecs. GitError, also when it takes longer than ``seconds``."""
    # A repacking that a fetch starts would outlive this command. Refspecs may be thousands: more than a command takes.
    repo.run(
        "-c",
        "maintenance.auto=false",
        "fetch",
        *_OPTIONS,
        "--stdin",
        remote,
        stdin="".join(f"{spec}\n" for spec in specs).encode(),
        timeout=seconds,
        env=repo.quiet_environment(),
    )


def fetch_whole_refs(repo: Repo, remote: str, namespace: Namespace, seconds: float) -> list[str]:
    """Fetch the refs with memory that a remote can send, half by half; return the names of the others.

    GitError where the remote does not answer, where more than 32 cannot be sent, and past ``seconds``.
    """
    end = time.monotonic() + seconds
    prefix, here = ref_prefix(namespace), tracking_prefix(remote)
    listed = repo.run(
        "ls-remote", "--refs", remote, f"{prefix}*", timeout=_LISTING_SECONDS, env=repo.quiet_environment()
    )
    tips = {name: tip for tip, _, name in (line.partition("\t") for line in split_output(listed))}
    present = repo.run("for-each-ref", "--format=%(refname) %(objectname)", here, timeout=_LISTING_SECONDS)
    known = {name: tip for name, _, tip in (line.rpartition(" ") for line in split_output(present))}
    wanted = [name for name, tip in tips.items() if known.get(here + name.removeprefix(prefix)) != tip]
    waiting = [wanted] if wanted else []
    lacking: list[str] = []
    while waiting:
        names = waiting.pop()
        specs = [f"+{name}:{here}{name.removeprefix(prefix)}" for name in names]
        try:
            fetch_memory_refs(repo, remote, specs, end - time.monotonic())
        except GitError as error:
            if not lacks_objects(error) or len(lacking) == _MOST_LACKING or time.monotonic() >= end:
                raise
            if len(names) == 1:
                lacking += names
            else:
                waiting += [names[: len(names) // 2], names[len(names) // 2 :]]
    return lacking


def lacks_objects(error: GitError) -> bool:
    """True if a fetch failed because of what the remote has, and not because it was not reached."""
    return any(words in error.message for words in _LACKING)
