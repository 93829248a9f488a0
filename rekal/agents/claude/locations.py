"""Where Claude Code keeps its transcripts.

``projects/<encoded directory>/<session>.jsonl`` below the configuration directory; a session's sub-agents lie in
``<session>/subagents/`` (older builds: ``agent-<id>.jsonl`` beside the sessions). The encoding is lossy, so folder
names only narrow the search.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from rekal.agents.base import Source, Where
from rekal.plain_text import lazy_pattern

_LONGEST = 200
_OTHER = lazy_pattern(r"[^A-Za-z0-9]")
_NOT_TRANSCRIPTS = frozenset({"journal.jsonl", "history.jsonl"})


def config_directories(where: Where) -> list[Path]:
    """``CLAUDE_CONFIG_DIR`` when set, else ``~/.claude`` and the ``~/.config/claude`` of some builds."""
    if configured := where.env.get("CLAUDE_CONFIG_DIR", "").strip():
        if configured == "~" or configured.startswith(("~/", "~\\")):
            return [where.home / configured[2:]]
        return [Path(configured)]
    return [where.home / ".claude", where.home / ".config" / "claude"]


def encode_directory(path: str) -> str:
    """The folder name of a directory, lower-cased and without the hash that ends a long one.

    The client counts UTF-16 units: a character outside the basic plane becomes two dashes.
    """
    widened = "".join(ch if ord(ch) < 0x10000 else "--" for ch in path)
    return _OTHER.sub("-", widened)[:_LONGEST].lower()


class Narrowing:
    """Folder names that may hold sessions of some roots: of the roots, below them, and of their ancestors.

    Worktrees that the agent made under ``.claude/worktrees`` are below a root.
    """

    def __init__(self, roots: tuple[Path, ...]) -> None:
        self._exact = {encode_directory(str(path)) for root in roots for path in (root, *root.parents)}
        self._below = tuple({(encode_directory(str(root)).rstrip("-") + "-")[:_LONGEST] for root in roots})

    def admits(self, folder: str) -> bool:
        name = folder.lower()
        return name[:_LONGEST] in self._exact or name.startswith(self._below)


def find_sources(where: Where, agent: str) -> Iterator[Source]:
    """Every transcript that may concern ``where.roots``, sessions before their sub-agents, in order of path.

    A folder that cannot be listed is itself a source: reading it fails and says why.
    """
    narrowing = Narrowing(where.roots)
    for projects in (config / "projects" for config in config_directories(where)):
        try:
            folders = [folder for folder in _listed(projects) if narrowing.admits(folder.name)]
        except OSError:
            yield Source(agent, str(projects), projects, 0, 0)
            continue
        for folder in folders:
            try:
                found = list(_of_folder(folder, agent))
            except OSError:
                found = [Source(agent, str(folder), folder, 0, 0)]
            yield from found


def _listed(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []


def _of_folder(folder: Path, agent: str) -> Iterator[Source]:
    entries = _listed(folder)
    for path in entries:
        if path.suffix == ".jsonl" and (source := _source(path, agent)):
            yield source
    for session in entries:
        if session.suffix != ".jsonl":
            for path in sorted((session / "subagents").rglob("*.jsonl")):
                if source := _source(path, agent, str(folder / f"{session.name}.jsonl")):
                    yield source


def _source(path: Path, agent: str, parent_key: str | None = None) -> Source | None:
    if path.name in _NOT_TRANSCRIPTS:
        return None
    try:
        stat = path.stat()
    except FileNotFoundError:
        return None
    except OSError:  # reading it fails, too, and says why
        return Source(agent, str(path), path, 0, 0, parent_key)
    return Source(agent, str(path), path, stat.st_size, stat.st_mtime_ns, parent_key)


def is_sub_agent(path: Path) -> bool:
    return path.name.startswith("agent-") or "subagents" in path.parts[:-1]


def session_above(path: Path) -> str | None:
    """The session whose ``subagents`` folder holds ``path``."""
    folders = path.parts[:-1]
    if "subagents" not in folders:
        return None
    at = len(folders) - 1 - folders[::-1].index("subagents")
    return folders[at - 1] if at > 0 else None
