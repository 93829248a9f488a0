"""Where Cursor's sessions lie and which directory each belongs to.

The folder of a project's transcripts names its directory with everything but letters and digits replaced, so
``/w/app-lib`` and ``/w/app/lib`` share a folder. A folder is therefore never decoded: the directories that exist and
encode to it are looked up, and when there are several, the files that the session touched decide.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from rekal.agents.contract import Where
from rekal.agents.cursor.text import uri_path
from rekal.agents.cursor.transcripts import FOLDER
from rekal.agents.formats.json_fields import load_object, objects_at, read_object
from rekal.agents.formats.repo_paths import concerns_roots, is_inside_roots, parents_upwards
from rekal.agents.formats.sqlite import open_copy
from rekal.errors import SourceError
from rekal.plain_text import lazy_pattern

_OTHER = lazy_pattern(r"[^a-z0-9]+")
_VIEW = lazy_pattern(r"workbench\.panel\.aichat\.view\.([0-9a-fA-F-]{36})")
_PANE = "workbench.panel.composerChatViewPane"
_PANES = "SELECT key, value FROM ItemTable WHERE key >= ? AND key < ?"
_ITEM = "SELECT value FROM ItemTable WHERE key = ?"


def command_line_folder(where: Where) -> Path:
    """``~/.cursor``, which CURSOR_CONFIG_DIR moves."""
    named = where.env.get("CURSOR_CONFIG_DIR")
    return Path(named) if named else where.home / ".cursor"


def data_folders(where: Where) -> list[Path]:
    """Folders in which the command line keeps chats: its own, and the one that CURSOR_DATA_DIR names."""
    named = where.env.get("CURSOR_DATA_DIR")
    return list(dict.fromkeys([command_line_folder(where), *([Path(named)] if named else [])]))


def user_folders(where: Where) -> list[Path]:
    """The IDE's ``User`` folders that exist."""
    home = where.home
    if where.platform == "darwin":
        found = [home / "Library/Application Support/Cursor/User"]
    elif where.platform == "win32":
        found = [Path(where.env.get("APPDATA") or home / "AppData/Roaming") / "Cursor/User"]
    else:
        config = where.env.get("XDG_CONFIG_HOME")
        found = [Path(config) / "Cursor/User"] if config else []
        found += [home / ".config/Cursor/User", home / ".cursor-server/data/User"]
        if "WSL_DISTRO_NAME" in where.env:
            found += sorted(Path("/mnt/c/Users").glob("*/AppData/Roaming/Cursor/User"))
    return [folder for folder in dict.fromkeys(found) if folder.is_dir()]


def fold_directory(path: str) -> str:
    """Spell a directory as the name of its folder does, without case and repeated dashes."""
    return _OTHER.sub("-", path.casefold()).strip("-")


def folder_candidates(name: str, roots: Iterable[Path]) -> list[str]:
    """Directories that a project folder's name may stand for: the roots first, then what exists on disk."""
    wanted = fold_directory(name)
    named = [str(root) for root in roots if fold_directory(str(root)) == wanted]
    return list(dict.fromkeys([*named, *_existing(Path("/"), wanted)]))


def _existing(folder: Path, wanted: str) -> Iterator[str]:
    try:
        with os.scandir(folder) as entries:
            names = sorted(
                entry.name for entry in entries if wanted.startswith(fold_directory(entry.name)) and entry.is_dir()
            )
    except OSError:
        return
    for name in names:
        part = fold_directory(name)
        if part == wanted:
            yield str(folder / name)
        elif part and wanted.startswith(f"{part}-"):
            yield from _existing(folder / name, wanted[len(part) + 1 :])


def may_concern(name: str, roots: tuple[Path, ...]) -> bool:
    """True if a project folder's name can stand for one of ``roots``, a directory inside one or one above."""
    wanted = fold_directory(name)
    # The top of the file system has an empty name, and everything is inside it.
    if wanted in map(fold_directory, parents_upwards(roots)) or not all(map(fold_directory, map(str, roots))):
        return True
    inside = any(wanted.startswith(f"{fold_directory(str(root))}-") for root in roots)
    return inside and any(is_inside_roots(found, roots) for found in folder_candidates(name, ()))


def project_directory(name: str, roots: tuple[Path, ...], touched: Iterable[str]) -> str | None:
    """The one directory that a project folder stands for; the absolute paths ``touched`` break a tie."""
    found = folder_candidates(name, roots)
    if len(found) < 2:
        return found[0] if found else None
    paths = list(touched)
    scores = [sum(is_inside_roots(path, (Path(place),)) for path in paths) for place in found]
    best = max(scores)
    return found[scores.index(best)] if scores.count(best) == 1 else None


def project_of(path: Path) -> str | None:
    """The name of the project folder that a transcript lies in."""
    parts = path.parts
    return parts[parts.index(FOLDER) - 1] if FOLDER in parts[1:] else None


def transcript_files(where: Where) -> Iterator[Path]:
    """Transcripts of the projects that may concern the repository: parents, then their sub-agents."""
    for project in sorted((command_line_folder(where) / "projects").glob("*/")):
        folder = project / FOLDER
        if folder.is_dir() and may_concern(project.name, where.roots):
            yield from sorted(folder.glob("*.txt"))
            yield from sorted(folder.glob("*.jsonl"))
            yield from sorted(path for path in folder.glob("*/*.jsonl") if path.stem == path.parent.name)
            yield from sorted(folder.glob("*/subagents/*.jsonl"))


def chat_databases(where: Where) -> list[Path]:
    """All chats of the command line, editors' over ACP among them; which are the repository's, their contents say."""
    layouts = ("chats/*/*/store.db", "acp-sessions/*/store.db")
    return sorted(path for folder in data_folders(where) for layout in layouts for path in folder.glob(layout))


def chat_directory(path: Path, roots: Iterable[Path]) -> str | None:
    """The root whose MD5 names the chat's folder."""
    name = path.parents[1].name
    digests = {hashlib.md5(str(root).encode(), usedforsecurity=False).hexdigest(): str(root) for root in roots}
    return digests.get(name)


def workspace_folders(where: Where) -> Iterator[tuple[Path, str]]:
    """Databases of the IDE's workspaces that belong to the repository, with their directories."""
    for user in user_folders(where):
        for file in sorted((user / "workspaceStorage").glob("*/workspace.json")):
            database = file.with_name("state.vscdb")
            folder = workspace_of(database)
            if folder and concerns_roots(folder, where.roots) and database.is_file():
                yield database, folder


def workspace_of(database: Path) -> str | None:
    """The directory of the workspace whose database this is; None when it is no workspace's or another machine's."""
    if database.parents[1].name != "workspaceStorage":
        return None
    try:
        return uri_path(read_object(database.with_name("workspace.json")).get("folder"))
    except SourceError:
        return None


def workspace_composers(where: Where) -> dict[str, str]:
    """The directory of each composer that a workspace of the repository lists, as Cursor 2 and 3 do."""
    found: dict[str, str] = {}
    for database, folder in workspace_folders(where):
        try:
            found |= dict.fromkeys(_listed_in(database), folder)
        except SourceError:
            # Only a hint is lost: the bubbles name their directory too.
            continue
    return found


def _listed_in(path: Path) -> list[str]:
    with open_copy(path, ("ItemTable",)) as database:
        row = database.first(_ITEM, ("composer.composerData",))
        value = load_object(row[0]) if row else None
        names = [item.get("composerId") for item in objects_at(value, "allComposers")]
        selected = value.get("selectedComposerIds") if value else None
        names += selected if isinstance(selected, list) else []
        for key, pane in database.rows(_PANES, (_PANE, _PANE + "~")):
            words = pane.decode("utf-8", "replace") if isinstance(pane, bytes) else str(pane)
            names += _VIEW.findall(f"{key!s} {words}")
    return [name for name in names if isinstance(name, str)]
