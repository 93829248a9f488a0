"""Have agents' hosts start ``rekal mcp``: an entry in the settings file that a project has for each of them.

Put in and taken out as hooks are (:mod:`rekal.install.host_hooks`), in the same record.
"""

from __future__ import annotations

import functools
import json
import re
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from rekal.errors import Refused
from rekal.git import Repo
from rekal.install import host_hooks, json_text
from rekal.install.json_text import Insert

_RECORD = "mcp "  # before a host's name in the record, where hooks stand under the name alone
_TABLE = re.compile(r"^[ \t]*\[[ \t]*mcp_servers[ \t]*\.[ \t]*[\"']?rekal[\"']?[ \t]*\]", re.M)


class McpPlace(msgspec.Struct, frozen=True):
    """The file of a host and the key under which it keeps servers; ``form`` is how it writes one."""

    file: str
    key: str
    form: str = "plain"


MCP_PLACES: Mapping[str, McpPlace] = {
    "claude": McpPlace(".mcp.json", "mcpServers"),
    "codex": McpPlace(".codex/config.toml", "mcp_servers", "toml"),
    "gemini": McpPlace(".gemini/settings.json", "mcpServers"),
    "cursor": McpPlace(".cursor/mcp.json", "mcpServers"),
    "copilot": McpPlace(".github/mcp.json", "mcpServers"),
    "vscode": McpPlace(".vscode/mcp.json", "servers", "typed"),
    "kiro": McpPlace(".kiro/settings/mcp.json", "mcpServers"),
    "opencode": McpPlace("opencode.json", "mcp", "local"),
}


def server_entry(form: str, executable: Path) -> dict[str, Any]:
    """The entry of the server as a host writes it. A ``rekal`` on the PATH is named as such, so that a team can share
    the file.
    """
    found = shutil.which("rekal")
    command = "rekal" if found and Path(found).resolve() == executable.resolve() else str(executable)
    if form == "local":
        return {"type": "local", "command": [command, "mcp"]}
    plain = {"command": command, "args": ["mcp"]}
    return {"type": "stdio", **plain} if form == "typed" else plain


def write_servers(repo: Repo, hosts: Sequence[str], executable: Path) -> tuple[list[str], list[str]]:
    """Write the entry for each of ``hosts``. Returns the files, and sentences on those that were left alone."""
    done, notes = [], []
    for name in hosts:
        place = MCP_PLACES[name]
        # Copilot reads Claude Code's file as well: a second entry would start a second server.
        if name == "copilot" and "claude" in hosts:
            continue
        try:
            host_hooks.take_out_entries(repo, [_RECORD + name])
            change = functools.partial(_with_server, place, executable)
            host_hooks.put_entries(repo, _RECORD + name, place.file, change)
            done.append(place.file)
        except Refused as error:
            notes.append(f"{place.file}: {error}")
        except OSError as error:
            notes.append(f"{place.file} cannot be written ({error.strerror})")
    return done, notes


def _with_server(place: McpPlace, executable: Path, before: str, created: bool) -> tuple[str, list[Insert]]:
    entry = server_entry(place.form, executable)
    if place.form == "toml":
        return _with_table(entry, before, created)
    if created or not before.strip():
        text = json.dumps({place.key: {"rekal": entry}}, indent=2) + "\n"
        return (text, []) if created else (before + text, [Insert(len(before), text)])
    mark = "\ufeff" if before.startswith("\ufeff") else ""
    text = before.removeprefix(mark)
    held = json_text.read_json(text)
    servers = held.get(place.key) if isinstance(held, dict) else None
    if isinstance(servers, dict) and "rekal" in servers:
        raise Refused("it has a server called rekal already", "it was left alone")
    inserts = json_text.add_entries(text, [place.key], {"rekal": entry})
    return mark + json_text.apply_inserts(text, inserts), inserts


def _with_table(entry: Mapping[str, Any], before: str, created: bool) -> tuple[str, list[Insert]]:
    """Codex's TOML: a table at the end belongs to nothing that stands before it."""
    if _TABLE.search(before):
        raise Refused("it has a server called rekal already", "it was left alone")
    end = "\r\n" if "\r\n" in before else "\n"
    # JSON's quoting of a text is TOML's, too.
    lines = ["[mcp_servers.rekal]", f"command = {json.dumps(entry['command'])}", f"args = {json.dumps(entry['args'])}"]
    gap = "" if created else end if before.endswith("\n") else end + end
    text = gap + "".join(line + end for line in lines)
    return before + text, [] if created else [Insert(len(before), text)]
