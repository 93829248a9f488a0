"""Code mode: the tool calls inside the JavaScript that an ``exec`` call runs.

The program is never run. Its text is split into strings and the code between them; ``tools.NAME(`` in the code is a
call, and the strings that follow hold its command or its patch.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import msgspec

from rekal.agents.formats.jsonl import clean_text
from rekal.agents.formats.patches import BEGIN, FilePatch, parse_patch
from rekal.plain_text import lazy_pattern

_CALL = lazy_pattern(r"\btools\.([A-Za-z_]\w*)\s*\(")
_KEY = lazy_pattern(r"(?:^|[{,\s])(\w+)\s*:\s*(?:String\.raw)?$|^\s*:\s*(?:String\.raw)?$")
_SKIP = lazy_pattern(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_ESCAPE = lazy_pattern(r"\\(u\{[0-9A-Fa-f]{1,6}\}|u[0-9A-Fa-f]{4}|x[0-9A-Fa-f]{2}|\r?\n|.)", re.DOTALL)
_SIMPLE = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "\0", "\n": "", "\r\n": ""}
# One expression a quote: it runs in C, where a loop over the characters would not.
_CLOSING = {quote: lazy_pattern(rf"(?:[^\\{quote}]|\\.)*", re.DOTALL) for quote in "\"'`"}
# A key stands directly before its string; looking further back would cost the length of the program each time.
_KEY_REACH = 80
_MARK = lazy_pattern(r"[\"'`/]")
_GLUE = lazy_pattern(r"\s*[+,]\s*$")


class ScriptCall(msgspec.Struct, frozen=True):
    """One ``tools.NAME(...)``: its name and the string arguments that stand in the text, by key."""

    tool: str
    arguments: dict[str, str]


class _Piece(msgspec.Struct, frozen=True):
    """A stretch of code, or (``string`` set) the value of a string literal that starts at ``at``."""

    at: int
    code: str = ""
    string: str | None = None


def script_calls(source: str) -> list[ScriptCall]:
    """The calls of a program in order. A call in a loop is one call; ``apply_patch`` is read by :func:`script_patches`.

    Commands handed over in variables (``{cmd: "..."}`` in a list) are calls of ``exec_command`` of their own.
    """
    calls: list[tuple[str, dict[str, str]]] = []
    key: str | None = None
    for piece in _pieces(source):
        if piece.string is None:
            calls.extend((found[1], {}) for found in _CALL.finditer(piece.code))
            key = _key_of(piece.code, key)
            continue
        if key == "cmd" and (not calls or calls[-1][0] != "exec_command" or "cmd" in calls[-1][1]):
            calls.append(("exec_command", {}))
        if key is not None and calls:
            # The first string of a key is the argument; later ones belong to expressions within it.
            calls[-1][1].setdefault(key, piece.string)
        key = piece.string if re.fullmatch(r"\w+", piece.string) else None
    # A loop over commands has both the commands and a call without one: the latter says nothing more.
    bare = any(tool == "exec_command" and "cmd" in arguments for tool, arguments in calls)
    return [
        ScriptCall(tool, arguments)
        for tool, arguments in calls
        if tool != "apply_patch" and not (bare and tool == "exec_command" and "cmd" not in arguments)
    ]


def _key_of(code: str, quoted: str | None) -> str | None:
    """The object key that ``code`` ends with, the quoted one before it when it is just a colon."""
    found = _KEY.search(code[-_KEY_REACH:])
    if found is None:
        return None
    return found[1] or quoted


def script_patches(source: str) -> tuple[FilePatch, ...]:
    """The patches among the strings of a program; one that is put together from neighbouring strings counts."""
    files: list[FilePatch] = []
    text, glue = "", ""
    for piece in _pieces(source):
        if piece.string is None:
            # Patches are written as lists of lines as well, which the program joins with line feeds.
            glue = "\n" if piece.code.strip() == "," else ""
            if text and not _GLUE.fullmatch(piece.code):
                files.extend(parse_patch(text))
                text = ""
        elif text:
            text += glue + piece.string
        elif BEGIN in piece.string:
            text = piece.string
    files.extend(parse_patch(text))
    return tuple(files)


def _pieces(source: str) -> Iterator[_Piece]:
    """Split a program into code and strings; comments are dropped. ``${...}`` in a template stays as written."""
    at = begin = 0
    while (mark := _MARK.search(source, at)) is not None:
        at = mark.start()
        if mark[0] != "/":
            yield _Piece(begin, source[begin:at])
            end = _string_end(source, at)
            raw = mark[0] == "`" and source.endswith("String.raw", 0, at)
            value = source[at + 1 : end]
            yield _Piece(at, string=value if raw else clean_text(_ESCAPE.sub(_unescape, value)))
            at = begin = end + 1
        elif comment := _SKIP.match(source, at):
            yield _Piece(begin, source[begin:at])
            at = begin = comment.end()
        else:
            at += 1
    yield _Piece(begin, source[begin:])


def _string_end(source: str, at: int) -> int:
    """Place where the string literal that opens at ``at`` closes: at its quote, else at the end of the text."""
    closing = _CLOSING[source[at]].match(source, at + 1)
    return closing.end() if closing else len(source)


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "ux" and len(code) > 1:
        point = int(code[1:].strip("{}"), 16)
        return chr(point) if point < 0x110000 else "\ufffd"
    return _SIMPLE.get(code, code)
