"""What a Codex tool call did: its files, its command and, from its output, how it went."""

from __future__ import annotations

import shlex
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

from msgspec.structs import replace

from rekal.agents.codex import code_mode
from rekal.agents.codex.code_mode import ScriptCall
from rekal.agents.formats.json_fields import first_text, load_object, object_at, objects_at, text_at, value_at
from rekal.agents.formats.jsonl import Record
from rekal.agents.formats.patches import BEGIN, FilePatch, added_lines, parse_patch, text_lines
from rekal.agents.formats.transcript_builder import fan_out
from rekal.model import Change, Outcome, RawCall
from rekal.plain_text import lazy_pattern

_EXIT = lazy_pattern(r"(?:^|\n)(?:Exit code: |Process exited with code )(-?\d+)(?=\n|$)")
_RUNNING = lazy_pattern(r"(?:^|\n)(?:Process running with session ID|Script running with cell ID)")
_FAILED = lazy_pattern(
    r"(?:apply_patch verification failed|exec_command failed|aborted by user|Script (?:failed|error|terminated)"
    r"|failed to parse function arguments|unsupported call|execution error|Error:)"
)
_HEAD = 2000
_HEADERS = ("Command: ", "Chunk ID: ", "Exit code: ", "Wall time: ")
_KINDS: dict[str, Change] = {"add": "A", "update": "M", "delete": "D"}


def read_call(call: RawCall, payload: Record, cwd: str | None) -> list[RawCall]:
    """The calls that a call record stands for: one, or one for each file it patches or each call of its program.

    ``call`` carries what is common to them (tool, id, time); ``cwd`` is the turn's working directory.
    """
    arguments = _arguments(payload)
    source = arguments if isinstance(arguments, str) else None
    if call.tool == "exec" and source is not None:
        return _read_script(call, source, cwd)
    command = source if source is not None and call.tool != "apply_patch" else command_of(arguments)
    home = first_text(arguments, "workdir", "working_directory", "cwd") or cwd
    patch = source or first_text(arguments, "patch", "input") or command or ""
    files = parse_patch(patch) if BEGIN in patch else ()
    if call.tool == "apply_patch" or files:
        return patch_calls(call_location(call, None, None, command), files, home)
    return [call_location(call, first_text(arguments, "path", "file_path"), home, command)]


def _arguments(payload: Record) -> Any:
    """The arguments of a call: an object, or the text itself when it is none (a patch, a program)."""
    raw = next((payload[name] for name in ("arguments", "input", "action") if payload.get(name)), None)
    return load_object(raw) or raw


def command_of(arguments: object) -> str | None:
    """The shell command among the arguments; of ``["bash", "-lc", COMMAND]`` the last part."""
    if (found := first_text(arguments, "cmd", "command", "chars")) is not None:
        return found
    parts = value_at(arguments, "command") or value_at(arguments, "cmd")
    if not isinstance(parts, list) or not all(isinstance(part, str) for part in parts):
        return None
    if len(parts) == 3 and parts[1] in ("-lc", "-c", "-Command"):
        return str(parts[2])
    return shlex.join(parts) or None


def _read_script(call: RawCall, source: str, cwd: str | None) -> list[RawCall]:
    found = [_script_call(call, part, source, cwd) for part in code_mode.script_calls(source)]
    for file in code_mode.script_patches(source):
        found += patch_calls(call_location(call, None, None, None, "apply_patch"), (file,), cwd)
    if not found:
        return [call_location(call, None, None, source)]
    return version_number(found)


def _script_call(call: RawCall, part: ScriptCall, source: str, cwd: str | None) -> RawCall:
    arguments = part.arguments
    command = command_of(arguments)
    if part.tool == "exec_command":
        command = command or source
    return call_location(call, first_text(arguments, "path"), arguments.get("workdir") or cwd, command, part.tool)


def call_location(call: RawCall, path: str | None, cwd: str | None, command: str | None, tool: str = "") -> RawCall:
    """``call`` with its path and command. ``cwd`` is kept when the path needs it."""
    home = cwd if path is not None and not is_absolute(path) else None
    return replace(call, tool=tool or call.tool, path=path, command=command, cwd=home)


def is_absolute(path: str) -> bool:
    """True if a path is absolute on the system it was recorded on, whichever that was."""
    return PurePosixPath(path).is_absolute() or PureWindowsPath(path).is_absolute()


def patch_calls(call: RawCall, files: tuple[FilePatch, ...], cwd: str | None) -> list[RawCall]:
    """One call for each file of a patch."""
    if any(not is_absolute(file.path) for file in files):
        call = replace(call, cwd=cwd)
    return fan_out(call, files)


def version_number(calls: list[RawCall]) -> list[RawCall]:
    """Number the ids of calls that came from one."""
    if len(calls) < 2:
        return calls
    return [replace(call, native_id=f"{call.native_id}#{place}") for place, call in enumerate(calls, 1)]


def applied_files(changes: object) -> tuple[FilePatch, ...]:
    """The files of a ``patch_apply_end``: ``{path: {type, content | unified_diff, move_path}}``."""
    files = []
    for path, change in changes.items() if isinstance(changes, dict) else ():
        kind = _KINDS.get(text_at(change, "type") or "", "M")
        diff, content = text_at(change, "unified_diff"), text_at(change, "content")
        if kind == "D":
            wrote: tuple[str, ...] = ()
        else:
            wrote = added_lines(diff) if diff is not None else text_lines(content or "")
        moved = text_at(change, "move_path")
        files.append(FilePatch(moved, "R", wrote, path) if moved else FilePatch(path, kind, wrote))
    return tuple(files)


def read_output(output: object) -> tuple[Outcome | None, str | None]:
    """Return how a call went and what it said. No outcome means that it still runs."""
    said = output_text(output)
    if isinstance(output, dict) and isinstance(success := output.get("success"), bool):
        return ("ok" if success else "error"), said
    wrapped = object_at(load_object(output))
    code = object_at(wrapped, "metadata").get("exit_code")
    if isinstance(code, int):
        return ("ok" if code == 0 else "error"), text_at(wrapped, "output")
    # The header echoes the command, which may be long; text without a header may quote anything.
    head = said if said.startswith(_HEADERS) else said[:_HEAD]
    if (exited := _EXIT.search(head)) is not None:
        return ("ok" if int(exited[1]) == 0 else "error"), said
    if _RUNNING.search(head):
        return None, said
    return ("error" if _FAILED.match(head) else "ok"), said


def output_text(output: object) -> str:
    """The text of an output: a string, a list of parts, or an object with its text inside."""
    if isinstance(output, str):
        return output
    if isinstance(output, list):
        return "\n".join(part for item in objects_at(output) if (part := text_at(item, "text")) is not None)
    return first_text(output, "content", "text", "output") or ""
