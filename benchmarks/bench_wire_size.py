"""How small sessions travel: raw transcript bytes against wire bytes, and against ``zstd -19`` of JSON lines.

    python benchmarks/bench_wire_size.py [DIRECTORY of Claude Code transcripts]

Both contenders carry the same parsed records. The parser here reads the plain shape of a transcript only (text, tool
calls, edits); nothing is scrubbed, nothing is written.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import zstandard

from rekal import ids
from rekal.model import Edit, Outcome, Role, Session, ToolCall, Turn
from rekal.transport.segment import Segment, decode, encode
from rekal.transport.strings import clean

FIXTURES = Path(__file__).resolve().parents[2] / "shared" / "fixtures" / "claude"
_EDITORS = {"Edit": "new_string", "Write": "content", "MultiEdit": "edits", "NotebookEdit": "new_source"}
_WRAPPERS = ("<command-", "<local-command", "<task-notification", "<bash-", "Caveat:", "[Request interrupted")


def _entries(path: Path) -> Iterator[dict[str, Any]]:
    for line in path.read_bytes().split(b"\n"):
        try:
            entry = json.loads(line)
        except ValueError:
            continue
        if isinstance(entry, dict) and isinstance(entry.get("message"), dict):
            yield entry


def _blocks(entry: dict[str, Any]) -> list[dict[str, Any]]:
    content = entry["message"].get("content")
    if isinstance(content, str):
        return [{"type": "text", "text": content}]
    return [block for block in content or () if isinstance(block, dict)]


def _when(entry: dict[str, Any]) -> datetime | None:
    try:
        return datetime.fromisoformat(str(entry.get("timestamp"))).astimezone(UTC)
    except ValueError:
        return None


def _written(block: dict[str, Any]) -> tuple[int, ...]:
    wrote = block["input"].get(_EDITORS.get(block["name"], ""), "")
    texts = [str(edit.get("new_string", "")) for edit in wrote] if isinstance(wrote, list) else [str(wrote)]
    hashes = (ids.line_hash(clean(line)) for text in texts for line in text.split("\n"))
    return tuple(value for value in hashes if value is not None)


class _Builder:
    """One transcript as the store would keep it."""

    def __init__(self, path: Path, entries: list[dict[str, Any]]) -> None:
        self.native = path.stem
        self.id = ids.session_id("claude", path.stem, "dev@example.com")
        self.cwd = next((str(entry["cwd"]) for entry in entries if entry.get("cwd")), "/")
        self.branch = next((str(entry["gitBranch"]) for entry in entries if entry.get("gitBranch")), None)
        self.turns: list[Turn] = []
        self.calls: list[ToolCall] = []
        self.edits: list[Edit] = []
        self.errors = self._errors(entries)
        for entry in entries:
            for index, block in enumerate(_blocks(entry)):
                self._take(entry, index, block)

    @staticmethod
    def _errors(entries: list[dict[str, Any]]) -> dict[str, bool]:
        results = (block for entry in entries for block in _blocks(entry) if block.get("type") == "tool_result")
        return {str(block.get("tool_use_id")): bool(block.get("is_error")) for block in results}

    def _take(self, entry: dict[str, Any], index: int, block: dict[str, Any]) -> None:
        uid = ids.derive("turn", str(entry.get("uuid")), str(index))
        text = clean(str(block.get("text", "")).strip())
        noise = bool(entry.get("isMeta")) or text.startswith(_WRAPPERS)
        if block.get("type") == "text" and text and not noise:
            role: Role = "assistant" if entry.get("type") == "assistant" else "human"
            role = "summary" if entry.get("isCompactSummary") else role
            model = entry["message"].get("model")
            self.turns.append(Turn(len(self.turns), uid, role, text, _when(entry), model))
        elif block.get("type") == "tool_use" and isinstance(block.get("input"), dict):
            self._call(uid, entry, block)

    def _call(self, uid: str, entry: dict[str, Any], block: dict[str, Any]) -> None:
        given = block["input"]
        path = given.get("file_path") or given.get("notebook_path") or given.get("path")
        path = clean(str(path).removeprefix(self.cwd).lstrip("/\\")) if path else None
        command = given.get("command") or given.get("pattern") or given.get("description")
        command = clean(str(command)[:200]) if command else None
        failed = self.errors.get(str(block.get("id")))
        outcome: Outcome | None = None if failed is None else "error" if failed else "ok"
        seq = len(self.calls)
        name = str(block["name"])
        turn = len(self.turns) - 1
        self.calls.append(ToolCall(seq, uid, turn, name, path, command, outcome, None, _when(entry)))
        if path and not failed and (hashes := _written(block)):
            self.edits.append(Edit(len(self.edits), seq, path, hashes))

    def session(self) -> Session:
        return Session(
            id=self.id,
            agent="claude",
            native_id=self.native,
            author_name="Dev",
            author_email="dev@example.com",
            branch=self.branch,
            started_at=self.turns[0].occurred_at if self.turns else None,
            turns=tuple(self.turns),
            tool_calls=tuple(self.calls),
            edits=tuple(self.edits),
        )


def sessions(directory: Path) -> Iterator[tuple[int, Session]]:
    """Yield size in bytes and session of every transcript below ``directory``, in order of path."""
    for path in sorted(directory.rglob("*.jsonl")):
        yield path.stat().st_size, _Builder(path, list(_entries(path))).session()


def json_lines(found: list[Session]) -> bytes:
    """The same records as JSON lines, one for a head, a turn, a call or an edit."""
    encoder = msgspec.json.Encoder()
    lines: list[object] = []
    for one in found:
        lines.append(msgspec.structs.replace(one, turns=(), tool_calls=(), edits=()))
        lines += [*one.turns, *one.tool_calls, *one.edits]
    return encoder.encode_lines(lines)


def _timed(found: list[Session]) -> tuple[list[Segment], float, float]:
    start = time.perf_counter()
    segments = list(encode(found))
    written = time.perf_counter()
    decode(segment.data for segment in segments)
    return segments, written - start, time.perf_counter() - written


def main(directory: Path) -> None:
    pairs = list(sessions(directory))
    raw = sum(size for size, _ in pairs)
    found = [session for _, session in pairs]
    segments, written, read = _timed(found)
    wire = sum(len(segment.data) for segment in segments)
    lines = json_lines(found)
    packed = len(zstandard.ZstdCompressor(level=19).compress(lines))
    turns, calls, hashes = (
        sum(len(one.turns) for one in found),
        sum(len(one.tool_calls) for one in found),
        sum(len(edit.line_hashes) for one in found for edit in one.edits),
    )
    print(f"{len(found)} sessions, {turns} turns, {calls} calls, {hashes} line hashes")
    print(f"raw transcripts     {raw:>12,}")
    print(f"wire                {wire:>12,}   {raw / wire:5.1f} x smaller than raw, {len(segments)} segments")
    print(f"JSON lines          {len(lines):>12,}")
    print(f"JSON lines, zstd 19 {packed:>12,}   wire is {wire / packed:.3f} of it")
    print(f"encode {written:.2f} s, decode {read:.2f} s")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else FIXTURES)
