"""Gemini CLI: the chats of each project under ``~/.gemini/tmp``.

A project's folder is named by the SHA-256 of its path or, since 0.29, by a short name that ``projects.json`` and
the folder's own ``.project_root`` explain. A chat is one JSON document or, since 0.39, a log.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator
from pathlib import Path

import msgspec

from rekal.agents.contract import Parsed, Resume, Source, Where
from rekal.agents.formats.json_fields import load_object, object_at, read_object
from rekal.agents.formats.jsonl import LineReader, Record
from rekal.agents.formats.repo_paths import common_folder, concerns_roots, parents_upwards
from rekal.agents.gemini.chat import Chat
from rekal.errors import SourceError
from rekal.plain_text import lazy_pattern

_CHATS = "chats"
_GEMINI = lazy_pattern(rb'(?<!\\)"type"\s*:\s*"gemini"')
_PROJECT = lazy_pattern(rb'^\s*\{\s*"(?:sessionId|projectHash|kind|startTime|lastUpdated|messages)"\s*:')
_HASH = lazy_pattern(rb'(?<!\\)"projectHash"\s*:\s*"')


class Gemini:
    """Reads the chats of Gemini CLI; see :class:`rekal.agents.contract.Adapter`."""

    name = "gemini"

    def discover(self, where: Where) -> Iterator[Source]:
        """Yield the chats of the projects that may concern ``where.roots``, sub-agents' after their parents'."""
        # Read at each look: the program adds a project's name when it first opens it.
        names = _project_names(where)
        for project in _list_folders(_gemini_home(where) / "tmp"):
            root = _project_root(project, names, where)
            # Of a project known by its hash alone, the files that its chats touched tell.
            if root is not None and not concerns_roots(root, where.roots):
                continue
            for path in _chats(project / _CHATS):
                try:
                    stat = path.stat()
                except OSError:
                    continue
                yield Source(self.name, str(path), path, stat.st_size, stat.st_mtime_ns)

    def parse(self, source: Source, resume: Resume | None, where: Where) -> Parsed:
        """Read one chat whole: a log's later lines change its earlier ones."""
        path, chat, skipped = source.path, Chat(), 0
        if path.suffix == ".jsonl":
            reader = LineReader(path)
            chat.replay(record for _, record in reader)
            skipped = reader.skipped_bytes
            unread = not chat.messages and not chat.meta and (chat.drift or skipped)
        else:
            document = read_object(path)
            unread = not isinstance(document.get("messages"), list)
            chat.load(document)
        if unread:
            raise SourceError(f"{path} holds no Gemini session")
        parent = path.parent.name if path.parent.parent.name == _CHATS else None
        project = path.parents[2] if parent is not None else path.parents[1]
        # A chat's own hash last: it is there also where neither the folder nor projects.json names the path.
        root = _project_root(project, _project_names(where), where) or _hashed_root(chat.meta, where)
        found = chat.transcript(self.name, path.stem, parent, (root,) if root is not None else ())
        # The hash of a directory that is not ours says nothing: the files that were touched say where it was.
        if not found.cwds and (folder := common_folder(call.path for call in found.calls)) is not None:
            found = msgspec.structs.replace(found, cwds=(folder,))
        return Parsed(transcripts=(found,), skipped_bytes=skipped, drift=dict(chat.drift))

    def sniff(self, head: bytes) -> bool:
        """True if ``head`` starts a chat, as a document or as a log."""
        head = head.removeprefix(b"\xef\xbb\xbf").lstrip()
        first = load_object(head.split(b"\n", 1)[0])
        if first is not None and "messages" not in first:
            described = "sessionId" in first and "startTime" in first and "type" not in first
            # A log that was cut at its top begins with a message instead of the description.
            spoken = {"id", "timestamp", "type", "content"} <= first.keys() and _GEMINI.search(head) is not None
            return described or spoken
        return _PROJECT.match(head) is not None and (_HASH.search(head) or _GEMINI.search(head)) is not None


def _gemini_home(where: Where) -> Path:
    given = where.env.get("GEMINI_CLI_HOME")
    return (Path(given) if given else where.home) / ".gemini"


def _list_folders(folder: Path) -> list[Path]:
    try:
        with os.scandir(folder) as listing:
            return sorted(Path(entry.path) for entry in listing if entry.is_dir())
    except OSError:
        return []


def _project_names(where: Where) -> dict[str, str]:
    """Paths of projects by their short names."""
    try:
        known = load_object((_gemini_home(where) / "projects.json").read_bytes())
    except OSError:
        return {}
    listed = object_at(known, "projects") or object_at(known)
    return {name: path for path, name in listed.items() if isinstance(name, str)}


def _project_root(project: Path, names: dict[str, str], where: Where) -> str | None:
    """The path a project's folder stands for, or None when only another machine's user could tell."""
    try:
        written = (project / ".project_root").read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        written = ""
    return written or names.get(project.name) or _hashed_root({"projectHash": project.name}, where)


def _hashed_root(meta: Record, where: Where) -> str | None:
    for place in parents_upwards(where.roots):
        if hashlib.sha256(place.encode("utf-8", "surrogateescape")).hexdigest() == meta.get("projectHash"):
            return place
    return None


def _chats(folder: Path) -> Iterator[Path]:
    """The chats of a project, then those of their sub-agents, one folder for each parent."""
    yield from _list_files(folder, (".json", ".jsonl"))
    for parent in _list_folders(folder):
        yield from _list_files(parent, (".jsonl",))


def _list_files(folder: Path, endings: tuple[str, ...]) -> list[Path]:
    try:
        with os.scandir(folder) as listing:
            return sorted(Path(entry.path) for entry in listing if entry.name.endswith(endings) and entry.is_file())
    except OSError:
        return []


ADAPTER = Gemini()
