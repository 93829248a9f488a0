"""Our refs: their names, commits on them made without touching the work tree or the index, and leases on them.

One ref a clone, written by that clone alone, so every push is a fast-forward. Its commits are made with git's plumbing,
without an index.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import msgspec

from rekal.errors import GitError
from rekal.files import write_atomically
from rekal.git import Repo, share_of_time
from rekal.model import Author
from rekal.store.layout import LEASES
from rekal.wire.segment import Segment

Namespace = Literal["rekal", "heads"]

LAYOUT = 2  # how a ref holds its segments
SUBJECT = f"rekal {LAYOUT}"
FORMAT = "FORMAT"  # the file that said in layout 1 what subject and author of the commit say now
CLONE_ID_LENGTH = 10
_OTHER = re.compile(r"[^a-z0-9]+")
# Signing may ask for a passphrase where nobody can type one, and the commit must still be made and sent afterwards.
_SIGNING_SECONDS, _SIGNING_SHARE = 5.0, 0.4


class OwnRef(msgspec.Struct, frozen=True):
    """This clone's ref."""

    name: str
    author: Author
    store_id: str


class Published(msgspec.Struct, frozen=True):
    """Outcome of a publish. ``tip`` is the ref's commit now; ``note`` is a sentence for the user."""

    tip: str
    fresh: bool
    note: str = ""


def email_slug(email: str) -> str:
    """Return an e-mail address as one part of a ref's name."""
    return _OTHER.sub("-", email.lower()).strip("-") or "unknown"


def clone_id(store_id: str) -> str:
    """Return the part of a ref's name that tells this clone from the same person's others."""
    return store_id[:CLONE_ID_LENGTH]


def ref_prefix(namespace: Namespace) -> str:
    """Return the start of the names that refs with memory have on a remote."""
    return "refs/heads/rekal/" if namespace == "heads" else "refs/rekal/"


def tracking_prefix(remote: str) -> str:
    """Return the start of the names under which a fetch puts a remote's refs with memory."""
    return f"refs/rekal-remote/{remote}/"


def fetch_refspec(remote: str, namespace: Namespace) -> str:
    """Return the fetch refspec that brings a remote's memory."""
    return f"+{ref_prefix(namespace)}*:{tracking_prefix(remote)}*"


def own_ref(author: Author, store_id: str, namespace: Namespace) -> OwnRef:
    """Return this clone's ref."""
    return OwnRef(f"{ref_prefix(namespace)}{email_slug(author.email)}/{clone_id(store_id)}", author, store_id)


def tip_of(repo: Repo, ref: str) -> str | None:
    """Return the commit that a ref names; None when there is no such ref."""
    return repo.ask("rev-parse", "--verify", "--quiet", f"{ref}^{{commit}}")


def publish_segments(repo: Repo, ref: OwnRef, segments: Sequence[Segment], *, root: bool = False) -> Published:
    """Add segments to this clone's ref in one commit, whose tree holds them and nothing else.

    What the ref holds is what all its commits hold, so a push costs the same however many went before. With ``root``
    the commit has no parent (after something was forgotten). Publishing again what the tip holds makes no commit.
    Raises :class:`rekal.errors.GitError`.
    """
    tip = tip_of(repo, ref.name)
    tree = _write_tree(repo, segments)
    if tip and not root and repo.run("rev-parse", f"{tip}^{{tree}}").strip() == tree:
        return Published(tip, fresh=False)
    parents = ["-p", tip] if tip and not root else []
    commit, note = _write_commit(repo, ref.author, tree, parents)
    repo.run("update-ref", ref.name, commit, tip or "0" * len(commit))
    return Published(commit, fresh=True, note=note)


def _write_tree(repo: Repo, segments: Sequence[Segment]) -> str:
    rows = [f"100644 blob {_write_blob(repo, segment.data)}\t{segment.file_name}\n" for segment in segments]
    return repo.run("mktree", stdin="".join(rows).encode()).strip()


def _write_blob(repo: Repo, data: bytes) -> str:
    return repo.run("hash-object", "-w", "--stdin", stdin=data).strip()


def _write_commit(repo: Repo, author: Author, tree: str, parents: Sequence[str]) -> tuple[str, str]:
    """A commit, signed when the user signs commits and that works without asking."""
    arguments = ["commit-tree", tree, *parents, "-m", SUBJECT]
    said = {"NAME": author.name or "unknown", "EMAIL": author.email}
    env = {f"GIT_{role}_{what}": value for role in ("AUTHOR", "COMMITTER") for what, value in said.items()}
    note = ""
    if repo.ask("config", "--type=bool", "--get", "commit.gpgSign") == "true":
        try:
            limit = share_of_time(_SIGNING_SHARE, _SIGNING_SECONDS)
            return repo.run(*arguments, "-S", timeout=limit, env=env).strip(), note
        except GitError as error:
            note = f"not signed ({error.message})"
    return repo.run(*arguments, "--no-gpg-sign", env=env).strip(), note


# Remotes that still have a ref as it was before something was forgotten.
#
# The next push there replaces the ref instead of adding to it, if and only if the remote still has the tip that was
# noted: git's lease. A note is made before the ref changes and goes when the remote has taken the new one.


def note_lease(run: Path, remote: str, tip: str) -> None:
    """Remember the tip that a remote has, unless an earlier note did: the remote has not moved since."""
    path = _lease_path(run, remote)
    path.parent.mkdir(exist_ok=True)
    if not path.exists():
        write_atomically(path, tip.encode("ascii"))


def drop_lease(run: Path, remote: str) -> None:
    """Forget the note: the remote has the ref as it is now."""
    _lease_path(run, remote).unlink(missing_ok=True)


def lease_options(run: Path, remote: str, ref: OwnRef) -> Sequence[str]:
    """Return options for ``git push`` that replace the ref there; none where adding to it will do."""
    try:
        tip = _lease_path(run, remote).read_text(encoding="ascii").strip()
    except FileNotFoundError:
        return ()
    return (f"--force-with-lease={ref.name}:{tip}",)


def _lease_path(run: Path, remote: str) -> Path:
    # A remote's name may hold slashes.
    return run / LEASES / remote.replace("%", "%25").replace("/", "%2F")
