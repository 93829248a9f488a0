"""Recordings of all agents laid out in a home directory the way the agents themselves keep them.

Recordings come from many machines; here all of them are made to have been recorded in one repository: wherever a
record names a working directory, the repository's own is put in its place.
"""

from __future__ import annotations

import hashlib
import re
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

_CWD = re.compile(
    rb'"(?:cwd|directory|workspaceDirectory|current_working_directory|worktree)"\s*:\s*"((?:[^"\\]|\\.){3,})"'
)


def _put(source: Path, target: Path, root: Path) -> None:
    """Copy a recording; wherever a text names a working directory of its own it names ``root`` instead."""
    target.parent.mkdir(parents=True, exist_ok=True)
    if source.suffix in (".jsonl", ".json", ".txt"):
        data = source.read_bytes()
        for place in sorted({found[1] for found in _CWD.finditer(data)}, key=len):
            data = data.replace(b'"' + place, b'"' + str(root).encode())
        target.write_bytes(data)
    else:
        shutil.copyfile(source, target)


def lay_out(fixtures: Path, home: Path, root: Path) -> None:
    """Fill ``home`` with the recordings under ``fixtures`` as if they had been made in ``root``."""
    _claude(fixtures / "claude", home / ".claude/projects" / re.sub(r"[^A-Za-z0-9]", "-", str(root)), root)
    for number, path in enumerate(_files(fixtures / "codex", (".jsonl", ".zst", ".json"))):
        name = f"rollout-2026-03-{number % 28 + 1:02}T10-00-00-{path.name}"
        _put(path, home / ".codex/sessions/2026/03" / f"{number % 28 + 1:02}" / name, root)
    for number, path in enumerate(_files(fixtures / "copilot/cli", (".jsonl",))):
        _put(path, home / ".copilot/session-state" / f"s{number}" / "events.jsonl", root)
    _vscode(fixtures / "copilot/vscode", home / ".config/Code/User/workspaceStorage/w", root)
    _cursor(fixtures / "cursor", home, root)
    for path in _files(fixtures / "gemini", (".jsonl", ".json")):
        project = hashlib.sha256(str(root).encode()).hexdigest()
        _put(path, home / ".gemini/tmp" / project / "chats" / path.name, root)
    _kiro(fixtures / "kiro", home, root)
    _opencode(fixtures / "opencode", home / ".local/share/opencode", root)


def _files(folder: Path, endings: tuple[str, ...]) -> list[Path]:
    return sorted(path for path in folder.rglob("*") if path.is_file() and path.name.endswith(endings))


def _claude(folder: Path, project: Path, root: Path) -> None:
    for path in _files(folder, (".jsonl",)):
        inside = path.relative_to(folder).parts
        nested = inside[1:] if "subagents" in inside else inside[-1:]
        _put(path, project.joinpath(*nested), root)


def _vscode(folder: Path, storage: Path, root: Path) -> None:
    storage.mkdir(parents=True)
    (storage / "workspace.json").write_text(f'{{"folder": "{root.as_uri()}"}}', encoding="utf-8")
    for number, path in enumerate(_files(folder, (".jsonl", ".json"))):
        kind = "GitHub.copilot-chat/transcripts" if "transcripts" in path.parts else "chatSessions"
        _put(path, storage / kind / f"{number}-{path.name}", root)


def _cursor(folder: Path, home: Path, root: Path) -> None:
    project = home / ".cursor/projects" / str(root).strip("/").replace("/", "-") / "agent-transcripts"
    for number, path in enumerate(_files(folder, (".jsonl", ".txt"))):
        _put(path, project / f"{number}-{path.name}", root)
    for path in _files(folder, (".vscdb",)):
        target = home / ".config/Cursor/User/globalStorage/state.vscdb"
        if not target.exists():
            _put(path, target, root)
    chats = home / ".cursor/chats" / hashlib.md5(str(root).encode()).hexdigest()
    for number, path in enumerate(_files(folder, (".db",))):
        _put(path, chats / f"c{number}" / "store.db", root)


def _kiro(folder: Path, home: Path, root: Path) -> None:
    for number, path in enumerate(_files(folder, ("messages.jsonl",))):
        bucket = hashlib.sha256(str(root).encode()).hexdigest()[:16]
        _put(path, home / ".kiro/sessions" / bucket / f"sess_{number}" / path.name, root)
    for number, path in enumerate(p for p in _files(folder, (".jsonl",)) if p.name != "messages.jsonl"):
        target = home / ".kiro/sessions/cli" / f"{number}-{path.name}"
        _put(path, target, root)
        target.with_suffix(".json").write_text(f'{{"cwd": "{root}"}}', encoding="utf-8")
    for path in _files(folder, (".sqlite3", ".db"))[:1]:
        target = home / ".local/share/kiro-cli/data.sqlite3"
        _put(path, target, root)
        with closing(sqlite3.connect(target)) as con, con:
            con.execute("UPDATE OR IGNORE conversations_v2 SET key = ?", (str(root),))


def _opencode(folder: Path, data: Path, root: Path) -> None:
    for number, path in enumerate(_files(folder, (".db",))):
        target = data / f"opencode-{number}.db"
        _put(path, target, root)
        with closing(sqlite3.connect(target)) as con, con:
            if con.execute("SELECT count(*) FROM sqlite_master WHERE name = 'session'").fetchone()[0]:
                con.execute("UPDATE session SET directory = ?", (str(root),))
    for path in _files(folder / "agent-sessions-storage/storage_v2", (".json",)):
        _put(path, data / "storage" / path.relative_to(folder / "agent-sessions-storage/storage_v2"), root)
    # Exports are filed by whoever made them: here where another agent's chats are looked for.
    for path in _files(folder / "export", (".json",)):
        _put(path, data.parents[2] / ".config/Code/User/workspaceStorage/w/chatSessions" / path.name, root)
