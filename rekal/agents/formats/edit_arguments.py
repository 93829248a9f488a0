"""What the arguments of an editing, reading or shell tool say: which file, what was written, which command.

Covers the tool names that Copilot and Gemini CLI use; they share most of their spelling.
"""

from __future__ import annotations

from collections.abc import Iterator

from msgspec.structs import replace

from rekal.agents.formats.json_fields import first_text, load_object, object_at, objects_at
from rekal.agents.formats.jsonl import Record
from rekal.agents.formats.patches import FilePatch, parse_patch, text_lines
from rekal.agents.formats.transcript_builder import fan_out, new_lines
from rekal.model import RawCall

# By the tool's name: the arguments alone do not tell a write from a read of the same path.
_SHELLS = {"bash", "powershell", "shell", "run_in_terminal", "run_shell_command", "run_command"}
_WRITES = {"create", "create_file", "write_file", "insert_edit_into_file", "edit_notebook_file"}
_REPLACES = {"edit", "str_replace", "str_replace_editor", "replace", "replace_string_in_file"}
_MANY = {"multi_replace_string_in_file": "replacements", "multi_edit": "edits"}
_PATCHES = {"apply_patch"}


def read_tool(call: RawCall, arguments: object, cwd: str | None = None) -> list[RawCall]:
    """``call`` with its path, command and written lines: one call, or one for each file that it edits.

    ``arguments`` is an object, the JSON text of one, or the bare text of a patch. ``cwd`` is kept with the calls.
    """
    known = arguments if isinstance(arguments, dict) else load_object(arguments)
    call = replace(call, cwd=cwd)
    if call.tool in _PATCHES:
        # Codex-like tools hand over the patch bare, others inside an object.
        text = first_text(known, "input", "patch", "patchText") if known is not None else arguments
        return fan_out(call, parse_patch(text) if isinstance(text, str) else ())
    known = known or {}
    if call.tool in _MANY:
        return fan_out(call, list(_many(known, _MANY[call.tool])))
    path = _path_argument(known)
    if call.tool in _SHELLS:
        return [replace(call, command=first_text(known, "command"))]
    if call.tool in _WRITES:
        body = first_text(known, "file_text", "content", "code", "newCode")
        return [replace(call, path=path, wrote=text_lines(body or ""))]
    if call.tool in _REPLACES:
        return [replace(call, path=path, wrote=_replaced(known))]
    return [replace(call, path=path)]


def _path_argument(arguments: Record) -> str | None:
    return first_text(arguments, "path", "filePath", "file_path", "absolute_path", "dir_path")


def _replaced(arguments: Record) -> tuple[str, ...]:
    old = first_text(arguments, "old_str", "oldString", "old_string")
    new = first_text(arguments, "new_str", "newString", "new_string", "insert_text", "file_text")
    return new_lines(old, new)


def _many(arguments: Record, key: str) -> Iterator[FilePatch]:
    """The files of a call that makes several replacements, each file once."""
    wrote: dict[str, tuple[str, ...]] = {}
    for part in objects_at(object_at(arguments), key):
        path = _path_argument(part) or _path_argument(arguments)
        if path is not None:
            # Several replacements in one file are one edit: a line is counted once for its file.
            wrote[path] = wrote.get(path, ()) + _replaced(part)
    for path, lines in wrote.items():
        yield FilePatch(path, "M", lines)
