"""Files of the agents that name this repository, are newer than all that was read there, and that no adapter knows.

A new version of an agent may put its conversations in another place or in other tables. Nothing read is then not
nothing there, so `status` says a line for each such agent.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path

import msgspec

from rekal.agents import registry
from rekal.capture.former_places import names_root, top_directories
from rekal.capture.read_sources import Job
from rekal.store.source_state import SourceState

_STORES = (".jsonl", ".json", ".db", ".sqlite", ".sqlite3", ".vscdb", ".zst", ".ndjson")
# Lists, settings and copies of files, which name directories and hold no conversation.
_NO_CONVERSATION = frozenset({
    "history.jsonl", "session_index.jsonl", "sessions-index.json", "sessions.json", "projects.json", "workspace.json",
    "trustedFolders.json", "settings.json", "settings.local.json", "config.json", "mcp.json", "mcp-config.json",
})  # fmt: skip
_NO_PLACE = frozenset({
    ".git", "node_modules", "extensions", "plugins", "logs", "log", "cache", "file-history", "todos", "tool-results",
    "shell-snapshots", "statsig", "memory", "skills",
    "part", "message", "snapshot", "session_diff",  # pieces of sessions that are sources elsewhere
})  # fmt: skip
_MOST_ENTRIES = 20_000  # of one agent that are looked at: `status` is to answer at once
_LARGEST = 256 << 20
_RECENT = 90 * 86400 * 10**9  # nanoseconds; where nothing was read, older files are history


def find_unread_files(job: Job, states: Mapping[str, SourceState]) -> dict[str, list[Path]]:
    """Return such files by agent, the newest first."""
    read: dict[str, int] = {}
    for state in states.values():
        if state.belongs and state.session_id is not None:
            read[state.agent] = max(read.get(state.agent, 0), _changed(Path(state.source.split("#")[0])))
    # A file that is written to while a capture runs is a little newer than the capture.
    limits = {name: read.get(name, time.time_ns() - _RECENT) for name in registry.agent_names()}
    names = [adapter.name for adapter in job.adapters]
    found = {name: _newer(job, name, limits[name]) for name in dict.fromkeys(names)}
    if not any(found.values()):
        return {}
    # Those of other repositories are known, too: the whole machine is listed only where there is something to ask.
    everywhere = msgspec.structs.replace(job.where, roots=top_directories(job.where))
    known = {str(s.path) for place in (job.where, everywhere) for a in job.adapters for s in a.discover(place)}
    known |= {key.split("#")[0] for key in states}
    left = {name: [path for path in paths if not _is_known(path, known)] for name, paths in found.items()}
    return {name: sorted(paths, key=_changed, reverse=True) for name, paths in left.items() if paths}


def _is_known(path: Path, known: set[str]) -> bool:
    """True for a source, and for a description that lies beside one."""
    beside = (str(path.with_suffix(".jsonl")), str(path.with_name("messages.jsonl")))
    return str(path) in known or (path.suffix == ".json" and not known.isdisjoint(beside))


def _newer(job: Job, agent: str, limit: int) -> list[Path]:
    where = job.where
    info = registry.describe_agent(agent)
    named = [Path(value) for name, value in where.env.items() if name.startswith(info.environment_prefixes or "\0")]
    folders = [where.home / trace for trace in info.traces] + [path for path in named if path.is_absolute()]
    return [
        path
        for folder in dict.fromkeys(folders)
        for path in _stores(folder)
        if _changed(path) > limit and names_root(path, where.roots, _LARGEST)
    ]


def _stores(folder: Path) -> Iterator[Path]:
    """Yield the files below a folder that may hold conversations."""
    seen = 0
    for directory, folders, files in os.walk(folder):
        folders[:] = sorted(name for name in folders if name not in _NO_PLACE)
        seen += len(files) + len(folders)
        if seen > _MOST_ENTRIES:
            return
        for name in files:
            if name.endswith(_STORES) and name not in _NO_CONVERSATION and not name.endswith(".meta.json"):
                yield Path(directory, name)


def _changed(path: Path) -> int:
    try:
        return path.stat().st_mtime_ns
    except OSError:
        return 0
