"""The refs that fetches brought: what each says about itself, and what its commits hold."""

from __future__ import annotations

import re
from collections.abc import Collection, Container, Iterable, Iterator, Mapping, Sequence
from itertools import islice

import msgspec

from rekal.errors import GitError
from rekal.git import Repo, split_output
from rekal.git.repo import has_object, measure_objects, read_measured_objects
from rekal.model import UNVERIFIED
from rekal.transport import refs
from rekal.transport.refs import FORMAT
from rekal.wire.limits import MAX_SEGMENT

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
    for line in split_output(out):
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
    return {sha: word for sha, _, word in (line.partition(" ") for line in split_output(out))}


# Reading what a ref's commit holds, without trusting the size or shape of anything in it.
#
# Every commit of a ref holds the segments that it adds. Git objects are asked for their size first and read only within
# limits.

MAX_FORMAT = 4_096  # bytes of the FORMAT file
MAX_COMMITS = 1 << 17  # of one ref, the newest
MAX_FOLDER = 2 << 20  # bytes of one tree
MAX_TREES = 32 << 20  # bytes of the trees that are read at one go
MAX_TOP = 64 << 10  # bytes of the tree `segments` of layout 1
_SECONDS = 120.0

_OLD, _OLD_FOLDER = b"segments", re.compile(rb"[0-9a-f]{2}")
_SEGMENT = re.compile(rb"([0-9a-f]{16}|[0-9a-f]{40})\.rkl")
_TREE, _FILE = b"40000", b"100644"


class Entry(msgspec.Struct, frozen=True):
    """One line of a tree."""

    mode: bytes
    name: bytes
    oid: str


class SegmentListing(msgspec.Struct, frozen=True):
    """Additions of a tip to its predecessor: segments by name with the object that should be it.

    ``format`` is version and author of the ref, None when they are not to be read. ``strange`` counts names and trees
    that have no place here. ``cut`` says that a shallow fetch left older commits behind.
    """

    format: str | None
    segments: dict[str, str]
    strange: int = 0
    cut: bool = False


def list_segments(repo: Repo, tip: str, before: str | None) -> SegmentListing:
    """List what ``tip`` adds to ``before``; everything when there is no ``before`` or git has it no more."""
    commits = _list_commits(repo, tip, before)
    trees = list(dict.fromkeys(islice(commits.values(), MAX_COMMITS)))
    roots = _trees(repo, trees, MAX_FOLDER)
    entries = dict.fromkeys(entry for root in roots.values() for entry in root)
    old = dict.fromkeys(entry.oid for entry in entries if entry.name == _OLD and entry.mode == _TREE)
    found = _sort_entries(entry for entry in entries if entry.name != FORMAT.encode() and entry.oid not in old)
    older = _old_segments(repo, list(old))
    strange = found.strange + older.strange + len(trees) - len(roots) + (len(commits) > MAX_COMMITS)
    cut = not _cut_short(repo).isdisjoint(commits)
    return SegmentListing(read_format(repo, tip), older.found | found.found, strange, cut)


def _list_commits(repo: Repo, tip: str, before: str | None) -> dict[str, str]:
    """The commits that ``tip`` reaches and ``before`` does not, newest first, and the tree of each."""
    known = before and has_object(repo, f"{before}^{{commit}}")
    since = [f"^{before}"] if known else []
    form = (f"-n{MAX_COMMITS + 1}", "--format=%H %T", "--no-show-signature")
    rows = repo.run("log", *form, tip, *since, "--", timeout=_SECONDS).split()
    return dict(zip(rows[::2], rows[1::2], strict=True))


def _cut_short(repo: Repo) -> set[str]:
    """Commits whose parents a shallow fetch left behind."""
    try:
        return set((repo.common_dir / "shallow").read_text(encoding="ascii").split())
    except FileNotFoundError:
        return set()


def read_format(repo: Repo, tip: str) -> str | None:
    """Return subject and author of a commit as the text of a FORMAT file; in layout 1 that file."""
    blob = repo.ask("rev-parse", "--verify", "--quiet", f"{tip}:{FORMAT}")
    if blob:
        return _format(repo, blob)
    form = "%<(64,trunc)%s%nauthor %<(256,trunc)%an%n%<(256,trunc)%ae"
    subject, name, email = repo.run("log", "-1", f"--format={form}", "--no-show-signature", tip, "--").split("\n")[:3]
    return f"{subject.strip()}\n{name.strip()} <{email.strip()}>\n"


def _format(repo: Repo, blob: str) -> str | None:
    kind, size = measure_objects(repo, [blob]).get(blob, ("", 0))
    if kind != "blob" or size > MAX_FORMAT:
        return None
    return next((data.decode("utf-8", "replace") for _, data in read_measured_objects(repo, {blob: size})), None)


class _Found(msgspec.Struct, frozen=True):
    found: dict[str, str]
    strange: int


def _sort_entries(entries: Iterable[Entry]) -> _Found:
    found: dict[str, str] = {}
    strange = 0
    for entry in entries:
        match = _SEGMENT.fullmatch(entry.name)
        if match and entry.mode == _FILE:
            found[match[1].decode()] = entry.oid
        else:
            strange += 1
    return _Found(found, strange)


def _old_segments(repo: Repo, oids: Sequence[str]) -> _Found:
    """Find segments in trees of layout 1: folders named by the two digits that all names in them begin with."""
    tops = _trees(repo, oids, MAX_TOP) if oids else {}
    entries = dict.fromkeys(entry for top in tops.values() for entry in top)
    wanted = (entry for entry in entries if entry.mode == _TREE and _OLD_FOLDER.fullmatch(entry.name))
    folders = dict.fromkeys(entry.oid for entry in wanted)
    trees = _trees(repo, list(folders), MAX_FOLDER)
    inside = _sort_entries(dict.fromkeys(entry for tree in trees.values() for entry in tree))
    odd = sum(entry.oid not in folders for entry in entries)
    return _Found(inside.found, inside.strange + odd + len(oids) - len(tops) + len(folders) - len(trees))


def _read_tree(data: bytes, oid_bytes: int) -> Iterator[Entry]:
    at = 0
    while at < len(data):
        space, end = data.find(b" ", at), data.find(b"\0", at)
        if space < 0 or end < space or end + 1 + oid_bytes > len(data):
            return
        yield Entry(data[at:space], data[space + 1 : end], data[end + 1 : end + 1 + oid_bytes].hex())
        at = end + 1 + oid_bytes


def _trees(repo: Repo, oids: Sequence[str], limit: int) -> dict[str, list[Entry]]:
    """The entries of those of these trees that are within the limit, as many as take :data:`MAX_TREES` together."""
    found = measure_objects(repo, oids)
    good, left = dict[str, int](), MAX_TREES
    for oid, (kind, size) in found.items():
        if kind == "tree" and size <= min(limit, left):
            good[oid] = size
            left -= size
    return {oid: list(_read_tree(data, len(oid) // 2)) for oid, data in read_measured_objects(repo, good)}


def find_readable(repo: Repo, segments: Mapping[str, str]) -> dict[str, tuple[str, int]]:
    """Return object and size in bytes, by name, of those segments that are blobs within the size limit."""
    known = measure_objects(repo, list(segments.values()))
    return {
        name: (oid, known[oid][1])
        for name, oid in segments.items()
        if oid in known and known[oid][0] == "blob" and known[oid][1] <= MAX_SEGMENT
    }
