"""Real Claude Code transcripts, placed as if they had been recorded in our repository, captured whole and once."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path

import msgspec
import pytest

from rekal.app.context import App
from rekal.capture.capture import Captured, capture_commits
from rekal.capture.read_sources import Job
from rekal.git import find_repo
from tests.support.app import Rekal
from tests.support.claude import folder_of
from tests.support.store_contents import canonical

_CWD = re.compile(r'"cwd"\s*:\s*"((?:[^"\\]|\\.)*)"')
_SHORT = 6


class Placed(msgspec.Struct, frozen=True):
    """A store and the transcripts laid out for it."""

    rekal: Rekal
    app: App
    job: Job
    files: tuple[Path, ...]

    def capture(self) -> Captured:
        return capture_commits(self.app.layout, self.app.repo, self.job)


def _moved(text: str, root: Path) -> str:
    """``text`` with the directories it was recorded in replaced by ``root``, wherever their JSON spelling occurs."""
    target = json.dumps(str(root))[1:-1]
    for cwd in sorted(set(_CWD.findall(text)), key=len):
        if len(cwd) < _SHORT:  # "/" is in everything
            text = re.sub(rf'("cwd"\s*:\s*"){re.escape(cwd)}"', lambda found: f'{found[1]}{target}"', text)
        elif not cwd.startswith(target):
            text = text.replace(cwd, target)
    return text


def _place(rekal: Rekal, source: Path, files: list[Path]) -> Placed:
    folder = rekal.home / ".claude" / "projects" / folder_of(rekal.root)
    placed = []
    for path in files:
        inside = path.relative_to(source)
        # Sessions lie flat in a project folder; sub-agents keep their folder below their session's.
        target = folder / (Path(*inside.parts[-3:]) if "subagents" in inside.parts else Path(inside.name))
        target.parent.mkdir(parents=True, exist_ok=True)
        text = path.read_bytes().decode("utf-8", "surrogateescape")
        target.write_bytes(_moved(text, rekal.root).encode("utf-8", "surrogateescape"))
        placed.append(target)
    app = App(find_repo(rekal.root), rekal.home, {})
    return Placed(rekal, app, app.job(), tuple(placed))


def _check(placed: Placed) -> None:
    first = placed.capture()
    assert first.warnings == ()
    assert first.sources == len(placed.files)
    store = canonical(placed.app.layout.data)
    located = {str(path) for path in placed.files if _CWD.search(path.read_bytes().decode("utf-8", "replace"))}
    sql = "SELECT source FROM source_state WHERE belongs AND error IS NULL"
    belonging = {row[0] for row in placed.rekal("query", "--json", sql).json["rows"]}
    waiting = {path for path in located - belonging if '"tool_use_id"' not in Path(path).read_text("utf-8")}
    assert located - belonging == waiting, "only where every call is still running is there nothing to keep"
    assert len(waiting) < 3
    assert placed.capture() == Captured()
    for path in placed.files:  # looks changed, is not
        shutil.copyfile(path, path.with_suffix(".copy"))
        path.with_suffix(".copy").replace(path)
    again = placed.capture()
    assert (again.sources, again.sessions, again.turns, again.calls) == (len(placed.files), 0, 0, 0)
    after = canonical(placed.app.layout.data)
    for table in ("sessions", "turns", "tool_calls", "edits"):
        assert after[table] == store[table], table


@pytest.mark.shared
def test_every_recording_is_captured_once_and_without_an_exception(rekal: Rekal, shared: Path) -> None:
    source = shared / "fixtures" / "claude"
    placed = _place(rekal, source, sorted(source.rglob("*.jsonl")))
    assert len(placed.files) > 50
    _check(placed)
    (row,) = rekal("query", "--json", "SELECT sum(skipped_bytes)::BIGINT FROM source_state WHERE belongs").json["rows"]
    (claude,) = rekal("status", "--json").json["sources"]
    assert claude["skipped_bytes"] == row[0] > 0
    assert claude["unreadable"] == 0
