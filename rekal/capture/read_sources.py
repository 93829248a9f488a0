"""Read what is new in the agents' transcripts, and keep what belongs to this repository.

A source whose size and time did not move costs one ``stat``. A changed one is parsed, matched to the repository and
scrubbed before the store is opened; the store is then open for the milliseconds that the append takes.
"""

from __future__ import annotations

import contextlib
import functools
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import datetime
from fnmatch import fnmatch
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from rekal.agents.contract import Adapter, Parsed, Resume, Source, Where
from rekal.agents.formats.repo_paths import is_inside_roots, relative_path
from rekal.config import Exclude
from rekal.errors import SourceBusy, SourceError
from rekal.model import Author, RawCall, Session, Transcript
from rekal.store.source_state import SourceState

if TYPE_CHECKING:
    from rekal.scrub import Scrubber


BATCH_BYTES = 32 << 20
"""A batch is one transaction: what an interrupted back-fill loses at most."""

SNIFFED = 64 << 10
"""Bytes of a file by which an adapter tells whether it is its agent's."""


class Job(msgspec.Struct, frozen=True, dict=True):
    """Everything a sweep needs that does not change while it runs.

    ``elsewhere`` are transcripts of this repository in folders of other directories, by path their agent.
    ``make_scrubber`` is called when there is something to scrub: most sweeps find nothing changed, and compiling the
    scrubber's patterns would be a good part of what they cost.
    """

    where: Where
    adapters: Sequence[Adapter]
    make_scrubber: Callable[[], Scrubber]
    author: Author
    exclude: Exclude = msgspec.field(default_factory=Exclude)
    elsewhere: Mapping[str, str] = {}

    @functools.cached_property
    def scrubber(self) -> Scrubber:
        """The one choke point."""
        return self.make_scrubber()


class SourceReading(msgspec.Struct, frozen=True):
    """One source read: the sessions for the store and where to go on next time.

    Without a ``state`` nothing is to be remembered: the source is tried again by the next capture.
    """

    state: SourceState | None
    sessions: tuple[Session, ...] = ()
    warning: str | None = None


def find_changed_sources(job: Job, known: Mapping[str, SourceState]) -> list[tuple[Adapter, Source]]:
    """Sources whose size or time is not the known one, oldest first: an original comes before its copies."""
    found: dict[str, tuple[Adapter, Source] | None] = {}  # None: unchanged, and not worth the memory of a path
    for adapter in job.adapters:
        for source in adapter.discover(job.where):
            found[source.key] = None if _is_unchanged(source, known) else (adapter, source)
    for key, agent in job.elsewhere.items():
        reader = next((one for one in job.adapters if one.name == agent), None)
        with contextlib.suppress(OSError):  # deleted, as transcripts are after a time
            stat = Path(key).stat()
            if reader is not None and key not in found:
                source = Source(agent, key, Path(key), stat.st_size, stat.st_mtime_ns)
                found[key] = None if _is_unchanged(source, known) else (reader, source)
    return sorted(filter(None, found.values()), key=lambda pair: (pair[1].mtime_ns, pair[1].key))


def _is_unchanged(source: Source, known: Mapping[str, SourceState]) -> bool:
    state = known.get(source.key)
    return state is not None and (state.size, state.mtime_ns) == (source.size, source.mtime_ns)


def changed_since(sources: Sequence[tuple[Adapter, Source]], when: datetime) -> list[tuple[Adapter, Source]]:
    """Keep the sources that changed after ``when``. A database has no time of its own and is always included."""
    limit = int(when.timestamp() * 1e9)
    return [(a, s) for a, s in sources if "#" in s.key or s.mtime_ns >= limit]


def batch_sources(sources: Sequence[tuple[Adapter, Source]]) -> Iterator[list[tuple[Adapter, Source]]]:
    """Cut the work into transactions of about :data:`BATCH_BYTES` of transcript."""
    batch: list[tuple[Adapter, Source]] = []
    size = 0
    for adapter, source in sources:
        batch.append((adapter, source))
        size += source.size
        if size >= BATCH_BYTES or len(batch) >= 200:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _refuse_special(path: Path) -> None:
    if path.exists() and not path.is_file() and not path.is_dir():
        # A pipe would be waited for without end.
        raise SourceError(f"{path} is neither a file nor a directory")


def read_source(job: Job, adapter: Adapter, source: Source, state: SourceState | None) -> SourceReading:
    """Read one source. A source that cannot be read is a warning and is not tried again until it changes."""
    try:
        _refuse_special(source.path)
        agent, parsed = parse_source(job, adapter, source, state)
    except SourceError as error:
        said = job.scrubber.text(str(error))
        failed = SourceState(source.key, source.agent, source.size, source.mtime_ns, error=said)
        return SourceReading(None if isinstance(error, SourceBusy) else failed, warning=f"{source.agent}: {said}")
    source = msgspec.structs.replace(source, agent=agent)
    known = state is not None and state.belongs and state.session_id is not None
    mine = [t for t in parsed.transcripts if known or belongs_here(t, job.where.roots)]
    kept = [t for t in mine if not is_excluded(t, job.where.roots, job.exclude)]
    sessions = tuple(_scrub_transcript(job, t) for t in kept)
    new = _source_state(source, state, parsed, sessions, belongs=known or bool(mine))
    if parsed.drift and not parsed.transcripts:
        # Without a conversation there is no telling whose it is; where it was found it is most likely ours.
        new = msgspec.structs.replace(new, belongs=True)
    return SourceReading(new, sessions)


def parse_source(job: Job, adapter: Adapter, source: Source, state: SourceState | None) -> tuple[str, Parsed]:
    """Return a source's raw transcripts and the agent whose adapter could tell. Raises what its own adapter raised."""
    failure: SourceError | None = None
    for reader in _readers(job, adapter, source):
        resumable = state and state.belongs and state.prefix_hash and state.agent == reader.name
        try:
            resume = Resume(state.offset, state.prefix_hash) if state and resumable else None
            return reader.name, reader.parse(source, resume, job.where)
        except SourceError as error:
            failure = error if failure is None or reader is adapter else failure
    assert failure is not None
    raise failure


def _readers(job: Job, adapter: Adapter, source: Source) -> Iterator[Adapter]:
    """Adapters that may read a source, in order: the one that found it, unless its beginning is another agent's.

    One file looks much like another by its name; what is in it decides. A part of a database is what it was listed as.
    """
    head = b"" if source.key != str(source.path) else _first_bytes(source.path)
    own = not head or any(one.sniff(head) for one in job.adapters if one.name == adapter.name)
    if own:
        yield adapter
    if head:
        yield from (one for one in job.adapters if one.name != adapter.name and one.sniff(head))
    if not own:
        yield adapter


def _first_bytes(path: Path) -> bytes:
    """The first bytes of a file; nothing of one that cannot be read, which its own adapter will say."""
    try:
        with path.open("rb") as file:
            return file.read(SNIFFED)
    except OSError:
        return b""


def _scrub_transcript(job: Job, transcript: Transcript) -> Session:
    from rekal.scrub import scrub_session  # loaded only when there is something to scrub, see Job

    return scrub_session(job.scrubber, localise_paths(transcript, job.where.roots, job.exclude), job.author)


def _source_state(
    source: Source, old: SourceState | None, parsed: Parsed, sessions: Sequence[Session], *, belongs: bool
) -> SourceState:
    # A source of another repository is read from its beginning when it grows: it may have moved in by then.
    offset = parsed.offset if belongs else 0
    carried = old if old and belongs and not parsed.restarted and parsed.offset else None
    drift = dict(carried.drift) if carried else {}
    for kind, count in parsed.drift.items():
        drift[kind] = drift.get(kind, 0) + count
    owner = sessions[0].id if sessions else (old.session_id if old else None)
    return SourceState(
        source=source.key,
        agent=source.agent,
        size=source.size,
        mtime_ns=source.mtime_ns,
        offset=offset,
        prefix_hash=parsed.prefix_hash if belongs else "",
        session_id=owner,
        belongs=belongs,
        skipped_bytes=parsed.skipped_bytes + (carried.skipped_bytes if carried else 0),
        drift=drift,
    )


def search_places(
    home: Path, roots: Sequence[Path], env: Mapping[str, str], platform: str, former: Sequence[Path] = ()
) -> Where:
    """Places to look in, from the facts that the command line has; ``former`` are roots that are gone."""
    present = tuple(root.resolve() for root in roots)
    return Where(home, (*present, *(place for place in former if place not in present)), env, platform)


# Does a conversation belong to this repository?
#
# Decided on the working directories it recorded, by path components: one of them is inside a work tree of the
# repository and not inside another repository nested there. A conversation begun above several repositories belongs to
# those whose files it edited.


def belongs_here(transcript: Transcript, roots: Sequence[Path]) -> bool:
    """True if ``transcript`` is about the repository with these work trees."""
    if any(is_inside_roots(cwd, roots) and not _nested(cwd, roots) for cwd in transcript.cwds):
        return True
    above = [cwd for cwd in transcript.cwds if any(is_inside_roots(str(root), [Path(cwd)]) for root in roots)]
    return any(_edits_inside(call, cwd, roots) for cwd in above for call in transcript.calls)


def _nested(cwd: str, roots: Sequence[Path]) -> bool:
    """True if another repository (a submodule, a clone inside the work tree) lies between ``cwd`` and our root."""
    place = Path(cwd)
    if not place.is_dir():
        return False
    place = place.resolve()
    for directory in (place, *place.parents):
        if directory in roots:
            return False
        if (directory / ".git").exists():
            return True
    return False


def _edits_inside(call: RawCall, cwd: str, roots: Sequence[Path]) -> bool:
    if not call.path or not call.wrote:
        return False
    inside = relative_path(call.path, call.cwd or cwd, roots)
    return inside is not None and not _nested(str(Path(call.cwd or cwd, call.path).parent), roots)


def localise_paths(transcript: Transcript, roots: Sequence[Path], exclude: Exclude) -> Transcript:
    """The transcript with paths relative to the repository where inside it, and without calls on excluded paths."""
    cwd = transcript.cwds[0] if transcript.cwds else str(roots[0])
    calls = tuple(_localised(call, cwd, roots) for call in transcript.calls)
    kept = tuple(c for c in calls if not (c.path and _matches(c.path, exclude.paths)))
    here = next((d for d in transcript.cwds if is_inside_roots(d, roots)), cwd)
    return msgspec.structs.replace(transcript, calls=kept, cwds=(relative_path(here, here, roots) or here,))


def _localised(call: RawCall, cwd: str, roots: Sequence[Path]) -> RawCall:
    if not call.path:
        return call
    inside = relative_path(call.path, call.cwd or cwd, roots)
    return call if inside is None else msgspec.structs.replace(call, path=inside)


def is_excluded(transcript: Transcript, roots: Sequence[Path], exclude: Exclude) -> bool:
    """True if the settings keep this conversation out."""
    if _matches(transcript.native_id, exclude.sessions):
        return True
    if transcript.branches and all(_matches(branch, exclude.branches) for branch in transcript.branches):
        return True
    inside = [relative_path(cwd, cwd, roots) for cwd in transcript.cwds]
    return bool(inside) and all(cwd is not None and _matches(cwd, exclude.paths) for cwd in inside)


def _matches(value: str, patterns: Sequence[str]) -> bool:
    return any(fnmatch(value, pattern) or fnmatch(value, pattern.rstrip("/") + "/*") for pattern in patterns)
