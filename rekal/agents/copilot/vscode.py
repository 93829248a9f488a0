"""Copilot Chat in VS Code: ``chatSessions`` of every workspace, and the extension's transcripts beside them."""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from rekal.agents.contract import Parsed, Resume, Source, Where
from rekal.agents.copilot import chat, cli
from rekal.agents.copilot.chat import KINDS
from rekal.agents.copilot.cli import NAME
from rekal.agents.formats.json_fields import load_object, objects_at, read_object, text_at
from rekal.agents.formats.jsonl import LineReader
from rekal.agents.formats.repo_paths import concerns_roots
from rekal.errors import SourceError
from rekal.plain_text import lazy_pattern

_PRODUCTS = ("Code", "Code - Insiders", "VSCodium")
# On a remote machine the editor's server keeps the sessions, in the home directory.
_SERVERS = (".vscode-server", ".vscode-server-insiders", ".vscodium-server")
_TRANSCRIPTS = ("GitHub.copilot-chat", "transcripts")
_STATE = lazy_pattern(
    rb'^\s*\{\s*"version"\s*:\s*\d+\s*,(?=.*"(?:requests|responderUsername|sessionId)"\s*:)', re.DOTALL
)
_LOG = lazy_pattern(rb'^\{"kind"\s*:\s*(?:0\s*,\s*"v"\s*:\s*\{|[123]\s*,\s*"k"\s*:\s*\[)')
_FOLDER = lazy_pattern(r'"(path|uri)"\s*:\s*"((?:[^"\\]|\\.)*)"')


class CopilotChat:
    """Reads the chat sessions of VS Code; see :class:`rekal.agents.contract.Adapter`."""

    name = NAME

    def discover(self, where: Where) -> Iterator[Source]:
        """Yield the sessions of the workspaces that lie inside ``where.roots`` or above."""
        for storage in _storages(where):
            if any(concerns_roots(folder, where.roots) for folder in _workspace_folders(storage / "workspace.json")):
                for path in _session_files(storage):
                    try:
                        stat = path.stat()
                    except OSError:
                        continue
                    yield Source(self.name, str(path), path, stat.st_size, stat.st_mtime_ns)

    def parse(self, source: Source, resume: Resume | None, where: Where) -> Parsed:
        """Read one session: a chat session whole, a transcript from its last prompt on."""
        path = source.path
        if path.parent.name == _TRANSCRIPTS[-1]:
            folders = _workspace_folders(path.parents[2] / "workspace.json")
            return cli.parse_events(path, path.stem, resume, None, folders)
        folders = _workspace_folders(path.parents[1] / "workspace.json")
        if path.suffix == ".jsonl":
            return _parse_log(path, folders)
        state = read_object(path)
        if not isinstance(state.get("requests"), list):
            raise SourceError(f"{path} holds no chat session")
        found = chat.read_chat_session(self.name, state, path.stem, folders)
        return Parsed(transcripts=(found,), drift=dict(chat.find_odd_requests(state)))

    def sniff(self, head: bytes) -> bool:
        """True if ``head`` starts a chat session, as a state or as a log of changes."""
        head = head.removeprefix(b"\xef\xbb\xbf")
        return _LOG.match(head) is not None or _STATE.match(head) is not None


def _parse_log(path: Path, folders: tuple[str, ...]) -> Parsed:
    reader = LineReader(path)
    entries = [entry for _, entry in reader]
    drift = Counter(f"kind {entry.get('kind')}"[:60] for entry in entries if entry.get("kind") not in KINDS)
    # Not one known kind of entry: this is another program's log.
    if len(entries) == drift.total() and (entries or reader.skipped_bytes):
        raise SourceError(f"{path} holds no chat session")
    state = chat.replay_changes(entries)
    found = chat.read_chat_session(NAME, state, path.stem, folders)
    drift += chat.find_odd_requests(state)
    return Parsed(transcripts=(found,), skipped_bytes=reader.skipped_bytes, drift=dict(drift))


def _storages(where: Where) -> Iterator[Path]:
    """The folder of every workspace that VS Code, or a relative of it, has ever opened."""
    for user in _users(where):
        # Each profile of the editor has a storage of its own.
        for base in (user, *_list_entries(user / "profiles")):
            yield from _list_entries(base / "workspaceStorage")


def _users(where: Where) -> Iterator[Path]:
    if where.platform == "darwin":
        base = where.home / "Library" / "Application Support"
    elif where.platform == "win32":
        base = Path(where.env.get("APPDATA") or where.home / "AppData" / "Roaming")
    else:
        base = Path(where.env.get("XDG_CONFIG_HOME") or where.home / ".config")
    for product in _PRODUCTS:
        yield base / product / "User"
    for server in _SERVERS:
        yield where.home / server / "data" / "User"


def _list_entries(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as listing:
            return sorted(Path(entry.path) for entry in listing)
    except OSError:
        return []


def _session_files(storage: Path) -> Iterator[Path]:
    """A session once: its log where there is one, then its state, then what the extension wrote."""
    found: dict[str, Path] = {}
    for path in _list_entries(storage / "chatSessions"):
        # The editor moves from .json to .jsonl and may leave the old file beside the new one.
        if path.suffix == ".jsonl" or (path.suffix == ".json" and path.stem not in found):
            found[path.stem] = path
    for path in _list_entries(storage.joinpath(*_TRANSCRIPTS)):
        if path.suffix == ".jsonl":
            found.setdefault(path.stem, path)
    yield from found.values()


def _workspace_folders(workspace: Path) -> tuple[str, ...]:
    """The folders a workspace consists of, from its ``workspace.json``."""
    try:
        known = load_object(workspace.read_bytes())
    except OSError:
        return ()
    if (folder := chat.chat_uri_path(text_at(known, "folder"))) is not None:
        return (folder,)
    listed = chat.chat_uri_path(text_at(known, "workspace"))
    return tuple(_listed_folders(Path(listed))) if listed is not None else ()


def _listed_folders(path: Path) -> Iterator[str]:
    """The folders of a ``.code-workspace`` file, whose JSON may have comments."""
    try:
        raw = path.read_text(encoding="utf-8", errors="replace")
    except (OSError, ValueError):
        return
    document = load_object(raw)
    if document is not None:
        named = [(key, text_at(item, key)) for item in objects_at(document, "folders") for key in ("path", "uri")]
    else:
        # With comments it is no JSON: a search for the two keys finds the folders all the same.
        named = [(found[1], found[2]) for found in _FOLDER.finditer(raw)]
    for key, value in named:
        if value is None:
            continue
        folder = chat.chat_uri_path(value) if key == "uri" else os.path.normpath(path.parent / value)
        if folder is not None:
            yield folder


ADAPTER = CopilotChat()
