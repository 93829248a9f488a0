"""The refs that fetches brought, and what each says about itself."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Mapping

import msgspec

from rekal.errors import GitError
from rekal.git import Repo
from rekal.model import UNVERIFIED
from rekal.transport import refs

TRACKING = "refs/rekal-remote/"
MAX_REFS = 4_096
BAD = "B"
UNCHECKED = "E"

_NAME = re.compile(r"(.+)/([a-z0-9-]{1,250}/[0-9a-z]{10})")
_AUTHOR = re.compile(r"author (.*) <([^<>\n]*)>")
_SIGNATURE_SECONDS = 20.0
_LISTING_SECONDS = 60.0


class Ref(msgspec.Struct, frozen=True):
    """One clone's ref as a fetch left it. ``clone`` is ``<author slug>/<clone id>``, whichever remote it came from."""

    name: str
    remote: str
    clone: str
    tip: str

    @property
    def origins(self) -> tuple[str, str]:
        """Origins that its records are stamped with: those of the author it names, and all others."""
        return self.clone, UNVERIFIED + self.clone


class Seen(msgspec.Struct, frozen=True):
    """The refs that may be read, and how many may not: under a name that is none of ours, or past the limit."""

    refs: tuple[Ref, ...]
    odd: int = 0
    beyond: int = 0


def list_arrived_refs(repo: Repo, remotes: Collection[str], own_store: str, known: Container[str] = ()) -> Seen:
    """List refs that came from these remotes, this clone's own left out, in order of clone and remote.

    ``known`` are names that were read before: where there are more than :data:`MAX_REFS`, those come first, then the
    newest, so that a flood of refs keeps nobody out who is here already.
    """
    form = "--format=%(refname) %(objectname) %(objecttype)"
    out = repo.run("for-each-ref", "--sort=-creatordate", form, TRACKING, timeout=_LISTING_SECONDS)
    found: list[Ref] = []
    odd = 0
    for line in out.splitlines():
        name, oid, kind = line.rsplit(" ", 2)
        match = _NAME.fullmatch(name.removeprefix(TRACKING))
        if match is None or kind != "commit":
            odd += 1
        elif match[1] in remotes and match[2].split("/")[1] != refs.clone_id(own_store):
            found.append(Ref(name, match[1], match[2], oid))
    if len(found) > MAX_REFS:
        found.sort(key=lambda ref: ref.name not in known)  # stable: the newest of the others are first
    kept = sorted(found[:MAX_REFS], key=lambda ref: (ref.clone, ref.remote))
    return Seen(tuple(kept), odd, len(found) - len(kept))


class Owner(msgspec.Struct, frozen=True):
    """Version and author that a ref claims; ``email`` is empty when it does not fit the ref's name."""

    version: int
    email: str = ""


def read_owner(ref: Ref, format_text: str | None) -> Owner | None:
    """Read who a ref says it belongs to; None when that cannot be understood."""
    lines = (format_text or "").splitlines()
    if not lines or not lines[0].startswith("rekal ") or not lines[0][6:].isdecimal() or len(lines[0]) > 12:
        return None
    version = int(lines[0][6:])
    who, clone = ref.clone.split("/")
    # Layout 1 named the store as well; the ref's name does that.
    store = next((line[6:] for line in lines if line.startswith("store ")), clone)
    author = next(filter(None, map(_AUTHOR.fullmatch, lines)), None)
    if author is None or (refs.email_slug(author[2]), refs.clone_id(store)) != (who, clone):
        return Owner(version)
    return Owner(version, author[2].lower())


def check_signatures(repo: Repo, tips: Collection[str]) -> Mapping[str, str]:
    """Return git's letter for the signature of each tip: G good, B bad, U unknown, N none, E not checked ..."""
    if not tips:
        return {}
    try:
        arguments = ("log", "--no-walk=unsorted", "--no-show-signature", "--format=%H %G?", "--stdin")
        asked = "".join(f"{tip}\n" for tip in tips).encode()
        out = repo.run(*arguments, stdin=asked, timeout=_SIGNATURE_SECONDS)
    except GitError:
        return dict.fromkeys(tips, UNCHECKED)
    return {sha: word for sha, _, word in (line.partition(" ") for line in out.splitlines())}
