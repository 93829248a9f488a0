"""Reading what a ref's commit holds, without trusting the size or shape of anything in it.

Git objects are asked for their size first and read only within limits. Trees are read one level at a time and compared
with the tree that was read before, so a push that adds one segment costs three small trees.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

import msgspec

from rekal.git import Repo
from rekal.transport.limits import MAX_SEGMENT
from rekal.transport.refs import FORMAT

MAX_FORMAT = 4_096  # bytes of the FORMAT file
MAX_TOP = 64 << 10  # bytes of the trees at the root and of `segments`
MAX_FOLDER = 2 << 20  # bytes of one tree of segments: 28,000 names
_CHUNK = 32 << 20  # bytes that one git process hands over
_SECONDS = 120.0

_FOLDER = re.compile(rb"[0-9a-f]{2}")
_SEGMENT = re.compile(rb"([0-9a-f]{40})\.rkl")
_TREE, _FILE = b"40000", b"100644"


class Entry(msgspec.Struct, frozen=True):
    """One line of a tree."""

    mode: bytes
    name: bytes
    oid: str


class Listing(msgspec.Struct, frozen=True):
    """What a tip holds that its predecessor did not: segments by name with the object that should be it.

    ``format`` is the text of FORMAT, None when there is none to be read. ``strange`` counts names and trees that have
    no place here.
    """

    format: str | None
    segments: dict[str, str]
    strange: int = 0


def sizes(repo: Repo, oids: Sequence[str]) -> dict[str, tuple[str, int]]:
    """Type and size of these objects; those that are not there are left out."""
    asked = "".join(f"{oid}\n" for oid in oids).encode()
    out = repo.run("cat-file", "--batch-check=%(objectname) %(objecttype) %(objectsize)", stdin=asked, timeout=_SECONDS)
    found = (line.split(" ") for line in out.splitlines())
    return {row[0]: (row[1], int(row[2])) for row in found if len(row) == 3}


def contents(repo: Repo, known: Mapping[str, int]) -> Iterator[tuple[str, bytes]]:
    """The bytes of these objects, whose sizes are known, in order and a few at a time."""
    chunk: list[str] = []
    weight = 0
    for oid, size in known.items():
        if chunk and weight + size > _CHUNK:
            yield from _read(repo, chunk)
            chunk, weight = [], 0
        chunk.append(oid)
        weight += size
    if chunk:
        yield from _read(repo, chunk)


def _read(repo: Repo, oids: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    asked = "".join(f"{oid}\n" for oid in oids).encode()
    out = repo.run_raw("cat-file", "--batch=%(objectname) %(objectsize)", stdin=asked, timeout=_SECONDS)
    at = 0
    for _ in oids:
        end = out.index(b"\n", at)
        head = out[at:end].split(b" ")
        at = end + 1
        if head[1:] == [b"missing"]:
            continue
        size = int(head[1])
        yield head[0].decode(), out[at : at + size]
        at += size + 1


def listing(repo: Repo, tip: str, before: str | None) -> Listing:
    """What ``tip`` adds to ``before``; everything when there is no ``before`` or git has it no more."""
    old = _top(repo, before) if before else {}
    top = _top(repo, tip)
    text = _format(repo, top.get(FORMAT.encode()))
    strange = sum(name not in (FORMAT.encode(), b"segments") for name in top)
    new_folders, bad = _folders(repo, top.get(b"segments"))
    old_folders, _ = _folders(repo, old.get(b"segments"))
    changed = {name: entry for name, entry in new_folders.items() if old_folders.get(name) != entry}
    had = _segments(repo, [old_folders[name].oid for name in changed if name in old_folders])
    have = _segments(repo, [entry.oid for entry in changed.values()])
    fresh = {name: oid for name, oid in have.found.items() if had.found.get(name) != oid}
    return Listing(text, fresh, strange + bad + have.strange)


def _tree(data: bytes, oid_bytes: int) -> Iterator[Entry]:
    at = 0
    while at < len(data):
        space, end = data.find(b" ", at), data.find(b"\0", at)
        if space < 0 or end < space or end + 1 + oid_bytes > len(data):
            return
        yield Entry(data[at:space], data[space + 1 : end], data[end + 1 : end + 1 + oid_bytes].hex())
        at = end + 1 + oid_bytes


def _trees(repo: Repo, oids: Sequence[str], limit: int) -> dict[str, list[Entry]]:
    """The entries of those of these trees that are within the limit."""
    found = sizes(repo, oids) if oids else {}
    good = {oid: size for oid, (kind, size) in found.items() if kind == "tree" and size <= limit}
    return {oid: list(_tree(data, len(oid) // 2)) for oid, data in contents(repo, good)}


def _top(repo: Repo, commit: str) -> dict[bytes, Entry]:
    oid = repo.ask("rev-parse", "--verify", "--quiet", f"{commit}^{{tree}}")
    entries = _trees(repo, [oid], MAX_TOP).get(oid, []) if oid else []
    return {entry.name: entry for entry in entries}


def _format(repo: Repo, entry: Entry | None) -> str | None:
    if entry is None or entry.mode != _FILE:
        return None
    kind, size = sizes(repo, [entry.oid]).get(entry.oid, ("", 0))
    if kind != "blob" or size > MAX_FORMAT:
        return None
    return next((data.decode("utf-8", "replace") for _, data in contents(repo, {entry.oid: size})), None)


def _folders(repo: Repo, segments: Entry | None) -> tuple[dict[bytes, Entry], int]:
    if segments is None:
        return {}, 0
    entries = _trees(repo, [segments.oid], MAX_TOP).get(segments.oid) if segments.mode == _TREE else None
    if entries is None:
        return {}, 1
    good = {entry.name: entry for entry in entries if entry.mode == _TREE and _FOLDER.fullmatch(entry.name)}
    return good, len(entries) - len(good)


class _Found(msgspec.Struct, frozen=True):
    found: dict[str, str]
    strange: int


def _segments(repo: Repo, folders: Sequence[str]) -> _Found:
    trees = _trees(repo, folders, MAX_FOLDER)
    found: dict[str, str] = {}
    strange = len(set(folders)) - len(trees)
    for entry in (entry for entries in trees.values() for entry in entries):
        match = _SEGMENT.fullmatch(entry.name)
        if match and entry.mode == _FILE:
            found[match[1].decode()] = entry.oid
        else:
            strange += 1
    return _Found(found, strange)


def readable(repo: Repo, segments: Mapping[str, str]) -> dict[str, tuple[str, int]]:
    """Object and size of those of these segments that are blobs within the size limit, by name."""
    known = sizes(repo, list(segments.values())) if segments else {}
    return {
        name: (oid, known[oid][1])
        for name, oid in segments.items()
        if oid in known and known[oid][0] == "blob" and known[oid][1] <= MAX_SEGMENT
    }
