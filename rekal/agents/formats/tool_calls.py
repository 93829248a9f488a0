"""What a tool call touches, told from its arguments.

Cursor and Kiro renamed their tools and arguments with every generation but kept to a few shapes: a path, a command,
a whole text, an old and a new text, a patch. Names are compared without case and punctuation.
"""

from __future__ import annotations

from msgspec.structs import replace

from rekal.agents.formats.json_fields import first_text, objects_at, text_at
from rekal.agents.formats.jsonl import Record
from rekal.agents.formats.patches import BEGIN, FilePatch, parse_patch, text_lines
from rekal.agents.formats.transcript_builder import fan_out, new_lines
from rekal.model import RawCall

_PATHS = (
    "path", "file_path", "filePath", "target_file", "targetFile", "relativeWorkspacePath", "file", "notebook_path",
    "target_notebook", "targetNotebook",
)  # fmt: skip
_OLD = ("old_string", "oldString", "old_str", "oldStr", "originalContent")
_NEW = ("new_string", "newString", "new_str", "newStr", "modifiedContent")
_WHOLE = ("contents", "content", "file_text", "fileText", "text")
_PATCH = ("patch", "input", "patchText", "diff")
_SHELLS = frozenset({
    "shell", "bash", "terminal", "runterminalcmd", "runterminalcommand", "runterminalcommandv2", "executebash",
    "executepwsh", "executecmd", "runcommand", "controlbashprocess", "controlpwshprocess",
})  # fmt: skip
_EDITORS = frozenset({
    "write", "edit", "strreplace", "searchreplace", "multiedit", "multistrreplace", "editfile", "editfilev2",
    "applypatch", "editnotebook", "notebookedit", "fswrite", "fsappend", "fsreplace", "replace", "create", "append",
    "writefile", "createfile", "insert", "smartrelocate", "delete", "deletefile",
})  # fmt: skip


def fold_arguments(tool: str) -> str:
    """A tool's name without case and punctuation."""
    return "".join(ch for ch in tool.casefold() if ch.isalnum())


def is_shell(tool: str) -> bool:
    """True if a tool runs a command line."""
    return fold_arguments(tool) in _SHELLS


def describe_call(call: RawCall, given: Record, applied: tuple[str, ...] = ()) -> list[RawCall]:
    """``call`` with its path, command and written lines; one call a file when the arguments hold a patch.

    ``applied`` are the lines that the tool reports to have written, which beat what its arguments asked for.
    """
    path = first_text(given, *_PATHS)
    cwd = first_text(given, "working_dir", "working_directory", "workingDirectory", "cwd", "workdir") or call.cwd
    command = text_at(given, "command") if is_shell(call.tool) else None
    placed = replace(call, path=path, command=command, cwd=cwd)
    if fold_arguments(call.tool) not in _EDITORS:
        return [placed]
    patches = _patches_given(given)
    if len(patches) > 1:
        return fan_out(placed, patches)
    wrote = applied or (patches[0].wrote if patches else _lines_given(given))
    return [replace(placed, path=path or (patches[0].path if patches else None), wrote=wrote)]


def _patches_given(given: Record) -> tuple[FilePatch, ...]:
    asked = next((found for name in _PATCH if (found := text_at(given, name)) and BEGIN in found), None)
    return parse_patch(asked) if asked else ()


def _lines_given(given: Record) -> tuple[str, ...]:
    if sketch := first_text(given, "code_edit", "codeEdit"):
        return tuple(line for line in text_lines(sketch) if "existing code" not in line)
    if any(name in given for name in (*_OLD, *_NEW)) or "edits" in given:
        edits = [given, *objects_at(given, "edits")]
        return tuple(line for edit in edits for line in new_lines(first_text(edit, *_OLD), first_text(edit, *_NEW)))
    return text_lines(first_text(given, *_WHOLE) or "")
