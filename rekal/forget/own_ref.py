"""Forgetting what this clone published: its ref made anew without it, and the old objects removed.

The ref becomes a single new commit with all that it held but the forgotten, and the tombstones. Remotes that have the
old one take the new one in its place, under a lease on what they have. What git keeps loose of the old ref is deleted;
what lies in packs stays there until git itself collects it, and is counted.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
from msgspec.structs import replace

from rekal.errors import GitError
from rekal.git import Repo, split_output
from rekal.git.repo import has_object, measure_objects, read_measured_objects
from rekal.model import Checkpoint, MemoryEvent, Session, Tombstone
from rekal.store.layout import REPLACED_TIPS
from rekal.store.tombstones import Forgotten
from rekal.transport import arrivals, refs
from rekal.transport.arrivals import TRACKING
from rekal.transport.refs import OwnRef, publish_segments, tip_of
from rekal.wire.segment import Record, SegmentReader, encode_segments
from rekal.wire.session_parts import SessionPart

_PUSHED = "refs/rekal-pushed/"
_SECONDS = 60.0


class Unpublished(msgspec.Struct, frozen=True):
    """Result for our ref. ``remotes`` still have the old one; ``packed`` objects of it are out of our reach."""

    changed: bool = False
    remotes: tuple[str, ...] = ()
    removed: int = 0
    packed: int = 0


def ref_holds(repo: Repo, ref: OwnRef, gone: Forgotten) -> bool:
    """True if our ref has anything that was forgotten."""
    tip = tip_of(repo, ref.name)
    return tip is not None and any(strip_record(record, gone) != record for record in _published(repo, tip))


def unpublish_ref(repo: Repo, run: Path, ref: OwnRef, gone: Forgotten, stones: Sequence[Tombstone]) -> Unpublished:
    """Make our ref anew without what was forgotten, tombstones included. Sends nothing: that is a push's business.

    Raises :class:`GitError`; the ref is then as it was.
    """
    tip = tip_of(repo, ref.name)
    if tip is None:
        return Unpublished()
    kept = [left for record in _published(repo, tip) if (left := strip_record(record, gone)) is not None]
    known = {record.target for record in kept if isinstance(record, Tombstone)}
    fresh = [stone for stone in stones if stone.target not in known]
    remotes = _pushed_to(repo, ref)
    # Before the new ref exists: cut short here, a push still knows what it may replace.
    for remote, there in remotes.items():
        refs.note_lease(run, remote, there)
    with (run / REPLACED_TIPS).open("a", encoding="ascii") as noted:
        noted.write(f"{tip}\n")
    publish_segments(repo, ref, list(encode_segments([*fresh, *kept])), root=True)
    removed, packed = drop_replaced_tips(repo, run, ref)
    return Unpublished(True, tuple(remotes), removed, packed)


def drop_replaced_tips(repo: Repo, run: Path, ref: OwnRef) -> tuple[int, int]:
    """Remove what is left of the tips that were replaced: how many objects went, how many lie in packs."""
    try:
        tips = set((run / REPLACED_TIPS).read_text(encoding="ascii").split()) - {tip_of(repo, ref.name)}
    except FileNotFoundError:
        return 0, 0
    removed = packed = 0
    _drop_copies(repo, ref, tips)
    for tip in sorted(tips):
        if has_object(repo, tip):
            done = _remove_objects(repo, tip)
            removed, packed = removed + done[0], packed + done[1]
    (run / REPLACED_TIPS).unlink()
    return removed, packed


def _published(repo: Repo, tip: str) -> Iterator[Record]:
    reader = SegmentReader()
    found = arrivals.find_readable(repo, arrivals.list_segments(repo, tip, None).segments)
    for _, data in read_measured_objects(repo, dict(sorted(found.values()))):
        yield from reader.read(data)


def strip_record(record: Record, gone: Forgotten) -> Record | None:
    """A record without what was forgotten; None when nothing is left."""
    if isinstance(record, Session):
        return None if record.id in gone else gone.without_words(record)
    if isinstance(record, SessionPart):
        return _strip_part(record, gone)
    if isinstance(record, Checkpoint):
        return gone.left_of(record)
    if isinstance(record, MemoryEvent):
        return None if gone.event(record) else record
    return record


def _strip_part(part: SessionPart, gone: Forgotten) -> SessionPart | None:
    if part.session_id in gone:
        return None
    turns = tuple(turn for turn in part.turns if not gone.turn(turn))
    calls = tuple(call for call in part.tool_calls if not gone.call(call))
    # An edit belongs to its call and cannot stay without it.
    lost = {call.seq for call in part.tool_calls}.difference(call.seq for call in calls)
    edits = tuple(e for e in part.edits if e.tool_call_seq not in lost and not gone.content(e.path))
    return replace(part, turns=turns, tool_calls=calls, edits=edits) if turns or calls or edits else None


def _pushed_to(repo: Repo, ref: OwnRef) -> dict[str, str]:
    """The remotes that have our ref, and the tip each has: as a fetch last saw it, or as we sent it since."""
    out = repo.run("for-each-ref", "--format=%(refname) %(objectname)", TRACKING, _PUSHED)
    below = {TRACKING: _ref_end(ref), _PUSHED: "/" + ref.name.removeprefix("refs/")}
    found: dict[str, str] = {}
    for prefix, end in below.items():
        rows = (line.split(" ") for line in split_output(out) if line.startswith(prefix))
        found.update({name[len(prefix) : -len(end)]: tip for name, tip in rows if name.endswith(end)})
    return found


def _ref_end(ref: OwnRef) -> str:
    return "/" + "/".join(ref.name.split("/")[-2:])


def _drop_copies(repo: Repo, ref: OwnRef, tips: set[str]) -> None:
    """Refs that name an old tip: what we noted when pushing, and our own ref as a fetch brought it back."""
    out = repo.run("for-each-ref", "--format=%(refname) %(objectname)", TRACKING, _PUSHED)
    rows = [line.split(" ") for line in split_output(out)]
    names = [name for name, tip in rows if tip in tips and name.endswith(_ref_end(ref))]
    if names:
        repo.run("update-ref", "--stdin", stdin="".join(f"delete {name}\n" for name in names).encode())
    if repo.ask("reflog", "exists", ref.name) is not None:
        repo.run("reflog", "expire", "--expire=all", "--expire-unreachable=all", ref.name)


def _remove_objects(repo: Repo, old: str) -> tuple[int, int]:
    """Delete the loose objects that only the old tip reaches; how many went, and how many lie in packs.

    Commits come last: cut short, the next attempt still finds what they reach.
    """
    if not repo.run("rev-list", "-n1", old, "--not", "--all", timeout=_SECONDS):
        return 0, 0  # some other ref has it
    # `--not` would not do: between unrelated histories git does not compare trees, and segments that stay are in both.
    walk = ("rev-list", "--objects", "--no-object-names", "--missing=allow-any")
    refs = ("--glob=refs/rekal*", "--glob=refs/heads/rekal/*")
    kept = set(repo.run(*walk, *refs, timeout=_SECONDS).split())
    # Listed from the tip down; deleted from the leaves up.
    listed = [oid for oid in reversed(repo.run(*walk, old, timeout=_SECONDS).split()) if oid not in kept]
    folder = Path(repo.run("rev-parse", "--path-format=absolute", "--git-path", "objects").rstrip("\n"))
    removed = 0
    for oid in listed:
        loose = folder / oid[:2] / oid[2:]
        if loose.exists():
            loose.unlink()
            removed += 1
    return removed, len(measure_objects(repo, listed))


def replace_on_remote(repo: Repo, run: Path, ref: OwnRef, remote: str, seconds: float) -> str:
    """Have a remote take the new ref in place of the old one; what was in the way, empty when nothing was."""
    options = ("--quiet", "--no-verify", "--recurse-submodules=no", *refs.lease_options(run, remote, ref))
    arguments = ("push", *options, remote, f"{ref.name}:{ref.name}")
    try:
        repo.run(*arguments, timeout=seconds, env=repo.quiet_environment())
    except GitError as error:
        return error.message
    repo.run("update-ref", f"{_PUSHED}{remote}/{ref.name.removeprefix('refs/')}", tip_of(repo, ref.name) or "")
    refs.drop_lease(run, remote)
    return ""
