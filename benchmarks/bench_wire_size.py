"""How small sessions travel: raw transcript bytes against wire bytes, and against ``zstd -19`` of JSON lines.

    python benchmarks/bench_wire_size.py [DIRECTORY of Claude Code transcripts]

Both contenders carry the records that arrive: the transcripts parsed, scrubbed and sent. What the wire leaves out is
printed, since it would otherwise pass for compression. Nothing is written.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path

import msgspec
import zstandard

from rekal import ids
from rekal.agents.claude.adapter import ADAPTER
from rekal.agents.contract import Source, Where
from rekal.capture.read_sources import localise_paths
from rekal.config import Exclude
from rekal.errors import SourceError
from rekal.model import Author, Checkpoint, Edit, FileChange, Session, SessionRange
from rekal.scrub.rules import Rules
from rekal.scrub.scrubber import Scrubber
from rekal.scrub.sessions import scrub_session
from rekal.wire.limits import Tally, WireReport
from rekal.wire.segment import Record, decode_segments, encode_segments
from rekal.wire.session_parts import SessionPart

FIXTURES = Path(__file__).resolve().parents[2] / "shared" / "fixtures" / "claude"
AUTHOR = Author("Dev", "dev@example.com")


def sessions(directory: Path) -> Iterator[tuple[int, Session]]:
    """Yield size in bytes and sessions of every transcript below ``directory``, in order of path.

    The size counts once a file; a file that cannot be read is said and left out of both.
    """
    where = Where(home=directory, roots=())
    scrubber = Scrubber(Rules())
    for path in sorted(directory.rglob("*.jsonl")):
        size = path.stat().st_size
        try:
            parsed = ADAPTER.parse(Source("claude", str(path), path, size, 0), None, where)
        except SourceError as error:
            print(f"left out: {error}")
            continue
        for transcript in parsed.transcripts:
            roots = [Path(cwd) for cwd in transcript.cwds[:1]]
            local = localise_paths(transcript, roots, Exclude()) if roots else transcript
            yield size, scrub_session(scrubber, local, AUTHOR)
            size = 0


def _as_it_arrives(edit: Edit) -> Edit:
    return msgspec.structs.replace(edit, line_hashes=tuple(value >> 23 for value in edit.line_hashes))


def json_lines(records: list[Record]) -> bytes:
    """Records as JSON lines, one for a head, a turn, a call or an edit; line hashes have 40 bits here too."""
    lines: list[object] = []
    for one in records:
        if isinstance(one, SessionPart):
            lines += [*one.turns, *one.tool_calls, *map(_as_it_arrives, one.edits)]
        else:
            lines.append(one)
    return msgspec.json.Encoder().encode_lines(lines)


def deltas(found: list[Session], size: int = 4) -> list[int]:
    """Wire bytes of every ``size`` turns of every session, with head and checkpoint: what a commit costs."""
    out = []
    for one in found:
        for start in range(0, len(one.turns), size):
            turns = one.turns[start : start + size]
            calls = tuple(call for call in one.tool_calls if turns[0].seq <= call.turn_seq <= turns[-1].seq)
            seqs = {call.seq for call in calls}
            edits = tuple(edit for edit in one.edits if edit.tool_call_seq in seqs)
            part = msgspec.structs.replace(one, turns=turns, tool_calls=calls, edits=edits)
            segments = encode_segments([part, _checkpoint(part)])
            out.append(sum(len(segment.data) for segment in segments))
    return sorted(out)


def _checkpoint(part: Session) -> Checkpoint:
    last = part.turns[-1]
    sha, tree, patch, parent = (ids.content_hash(last.uid + kind) + "00000000" for kind in "abcd")
    return Checkpoint(
        id=ids.checkpoint_id(sha, part.author_email),
        git_sha=sha,
        author_email=part.author_email,
        tree_sha=tree,
        patch_id=patch,
        parent_sha=parent,
        branch=part.branch,
        subject=last.content.split("\n")[0][:60],
        committed_at=last.occurred_at,
        files=tuple(FileChange(path, "M") for path in sorted({edit.path for edit in part.edits})),
        sessions=(SessionRange(part.id, part.turns[0].seq, last.seq, "edited"),),
    )


def _counts(records: Sequence[Record]) -> dict[str, int]:
    parts = [one for one in records if isinstance(one, Session | SessionPart)]
    return {
        "turns": sum(len(one.turns) for one in parts),
        "calls": sum(len(one.tool_calls) for one in parts),
        "edits": sum(len(one.edits) for one in parts),
        "line hashes": sum(len(edit.line_hashes) for one in parts for edit in one.edits),
    }


class Figures(msgspec.Struct, frozen=True):
    """What one measurement gave; sizes in bytes."""

    raw: int
    wire: int
    lines: int
    lines_packed: int
    sent: dict[str, int]
    arrived: dict[str, int]
    written: WireReport
    read: WireReport
    seconds: tuple[float, float]  # encode, decode


def measure(raw: int, found: list[Session]) -> Figures:
    """Send ``found``, parsed from ``raw`` bytes of transcripts, and receive it."""
    tally = Tally()
    start = time.perf_counter()
    segments = list(encode_segments(found, tally))
    written = time.perf_counter()
    arrived, report = decode_segments(segment.data for segment in segments)
    read = time.perf_counter()
    lines = json_lines(arrived)
    return Figures(
        raw=raw,
        wire=sum(len(segment.data) for segment in segments),
        lines=len(lines),
        lines_packed=len(zstandard.ZstdCompressor(level=19).compress(lines)),
        sent=_counts(found),
        arrived=_counts(arrived),
        written=tally.report(),
        read=report,
        seconds=(written - start, read - written),
    )


def main(directory: Path) -> None:
    """Measure the transcripts below ``directory`` and print the figures."""
    pairs = list(sessions(directory))
    found = [session for _, session in pairs]
    it = measure(sum(size for size, _ in pairs), found)
    print(f"written: {it.written.sentence()}")
    print(f"read: {it.read.sentence()}")
    for name, count in it.arrived.items():
        print(f"  {name:<12}{count:>8,} of {it.sent[name]:,}")
    print(f"raw transcripts     {it.raw:>12,}")
    print(f"wire                {it.wire:>12,}   {it.raw / it.wire:5.1f} x smaller than raw")
    print(f"JSON lines          {it.lines:>12,}   of the records that arrived")
    print(f"JSON lines, zstd 19 {it.lines_packed:>12,}   wire is {it.wire / it.lines_packed:.3f} of it")
    print(f"encode {it.seconds[0]:.2f} s, decode {it.seconds[1]:.2f} s")
    costs = deltas(found)
    middle, ninth = costs[len(costs) // 2], costs[len(costs) * 9 // 10]
    within = sum(cost <= 2_048 for cost in costs) / len(costs)
    print(f"a commit of 4 turns: median {middle:,}, 9 in 10 up to {ninth:,}, {within:.0%} within 2 KB")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FIXTURES)
