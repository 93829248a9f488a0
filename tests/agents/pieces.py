"""Reading line files whole and in pieces: what one reading gives, the same reading in two must give too."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from rekal.agents.contract import Adapter, Parsed, Resume, Source, Where
from rekal.model import RawCall, RawTurn, Transcript

Kept = dict[str, dict[str, RawTurn | RawCall]]


def write_lines(path: Path, records: Iterable[Any]) -> Path:
    """Write ``records`` as JSON, one a line."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return path


def source_of(adapter: Adapter, path: Path) -> Source:
    """The source that ``discover`` would make of a file."""
    stat = path.stat()
    return Source(adapter.name, str(path), path, stat.st_size, stat.st_mtime_ns)


def read(adapter: Adapter, path: Path, before: Parsed | None = None, home: Path | None = None) -> Parsed:
    """Read a file from its beginning, or from where ``before`` stopped."""
    resume = Resume(before.offset, before.prefix_hash) if before is not None and before.offset else None
    return adapter.parse(source_of(adapter, path), resume, Where(home=home or path.parent, roots=()))


def only(parsed: Parsed) -> Transcript:
    """The one transcript of a reading."""
    (transcript,) = parsed.transcripts
    return transcript


def said(transcript: Transcript) -> list[tuple[str, str]]:
    """Role and content of every turn."""
    return [(turn.role, turn.content) for turn in transcript.turns]


def keep(kept: Kept, parsed: Parsed) -> None:
    """Store a reading as the ledger does: by session and native id, the first version of a record staying."""
    for transcript in parsed.transcripts:
        session = kept.setdefault(transcript.native_id, {})
        for turn in transcript.turns:
            session.setdefault(f"turn {turn.native_id}", turn)
        for call in transcript.calls:
            session.setdefault(f"call {call.native_id}", call)


def flat(kept: Kept) -> dict[str, list[tuple[Any, ...]]]:
    """What was kept, without the places that depend on where a reading began, in a fixed order."""
    return {
        session: sorted(
            (key, item.role, item.content) if isinstance(item, RawTurn) else (key, item.path, item.command, item.wrote)
            for key, item in records.items()
        )
        for session, records in kept.items()
        if records
    }


def check_pieces(adapter: Adapter, path: Path, scratch: Path, cuts: Iterable[int] | None = None) -> None:
    """Check that cutting the file after any line (or those of ``cuts``) loses nothing and doubles nothing.

    An outcome may differ: a call that was passed over in the first reading stays so.
    """
    raw = path.read_bytes().splitlines(keepends=True)
    whole: Kept = {}
    keep(whole, read(adapter, path))
    copy = scratch / path.name
    copy.parent.mkdir(parents=True, exist_ok=True)
    for cut in range(1, len(raw)) if cuts is None else cuts:
        kept: Kept = {}
        copy.write_bytes(b"".join(raw[:cut]))
        first = read(adapter, copy)
        keep(kept, first)
        copy.write_bytes(b"".join(raw))
        second = read(adapter, copy, first)
        assert not second.restarted
        keep(kept, second)
        assert flat(kept) == flat(whole), f"cut after line {cut}"
