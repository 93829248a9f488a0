"""What a person at a terminal gets besides the words: colour, lines that fit, a pager.

Loaded only where stdout is a terminal or colour was asked for: an agent gets plain lines. Colour and pager follow git's
own settings (``color.rekal``, ``color.ui``, ``core.pager``), ``NO_COLOR``, ``GIT_PAGER`` and ``PAGER``.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
import sys
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from rekal.cli.look import Appearance
from rekal.errors import GitError
from rekal.git import decode_bytes, run_bytes
from rekal.plain_text import clean_line

_LEAST_WIDTH = 20  # below it, wrapping does more harm than good
_HANG = 4  # columns by which a line that goes on stands further in
_SETTINGS = r"^(color\.(rekal|ui)|core\.pager|pager\.rekal)$"
_GUTTER = re.compile(r" *\| ?")
_BLUE, _CYAN, _DIM, _GREEN, _RED, _YELLOW = "34", "36", "2", "32", "31", "33"
_WORDS = {
    "INJECT": _GREEN, "KNOWLEDGE": _CYAN, "SILENCE": _YELLOW, "PERHAPS": _YELLOW, "RULED-OUT": _RED, "DECIDED": _GREEN,
    "CONSULT": _YELLOW, "CLEAR": _GREEN, "ok": _GREEN, "wrong": _RED, "mended": _CYAN, "note": _YELLOW,
}  # fmt: skip
_STYLES = re.compile(
    r"(?P<remark>^\(.*\)$)"
    rf"|(?P<word>^(?:{'|'.join(_WORDS)})(?= |$))"
    r"|(?P<handle>^ *>? ?[0-9a-z]{10}(?::\d+(?:-\d+)?)?(?=  | |$))"
    r"|(?P<day>(?<=  )\d{4}-\d\d-\d\d(?: \d\d:\d\d [+-]\d{4})?(?=  | |$))"
)


def read_git_settings() -> dict[str, str]:
    """Return git's settings of colour and pager, by name; none where git cannot be asked."""
    try:
        done = run_bytes(("config", "-z", "--get-regexp", _SETTINGS), Path.cwd())
    except GitError:
        return {}
    pairs = (entry.partition("\n") for entry in decode_bytes(done.stdout).split("\0") if entry)
    return {name: value for name, _, value in pairs}


def wants_color(look: Appearance, settings: Mapping[str, str], *, terminal: bool) -> bool:
    """True if the answer is coloured."""
    if look.color != "auto":
        return look.color == "always"
    if not terminal or os.environ.get("NO_COLOR") or os.environ.get("TERM", "dumb") == "dumb":
        return False
    return settings.get("color.rekal", settings.get("color.ui", "auto")) not in ("never", "false", "no", "off", "0")


def find_pager(look: Appearance, settings: Mapping[str, str]) -> str | None:
    """Return the shell's command for the pager as git finds it; None for none."""
    chosen = os.environ.get("GIT_PAGER")
    if chosen is None:
        chosen = settings.get("core.pager")
    if chosen is None:
        chosen = os.environ.get("PAGER", "less")
    off = settings.get("pager.rekal") in ("false", "no", "off", "0")
    if not look.pager or off or chosen in ("", "cat") or os.environ.get("TERM", "dumb") == "dumb":
        return None
    return chosen if shutil.which(chosen.split()[0]) else None


def paint_line(line: str) -> str:
    """Return a line with its handle, day, verdict or remark in colour."""

    def paint(found: re.Match[str]) -> str:
        text, kind = found[0], found.lastgroup
        code = {"remark": _DIM, "handle": _YELLOW, "day": _BLUE}.get(kind or "") or _WORDS[text]
        lead = len(text) - len(text.lstrip())
        return f"{text[:lead]}\x1b[{code}m{text[lead:]}\x1b[m"

    return _STYLES.sub(paint, line)


def wrap_line(line: str, width: int) -> list[str]:
    """Cut a line at spaces so that it fits; what goes on stands further in, quoted text behind its gutter."""
    if width < _LEAST_WIDTH or measure_width(line) <= width:
        return [line]
    gutter = _GUTTER.match(line)
    indent = len(line) - len(line.lstrip(" "))
    lead = gutter[0] if gutter else " " * min(indent + _HANG, width // 2)
    out: list[str] = []
    rest = line
    while measure_width(rest) > width:
        cut = _find_cut(rest, width, len(lead) if out else indent)
        out.append(rest[:cut].rstrip(" "))
        rest = lead + rest[cut:].lstrip(" ")
    return [*out, rest]


def measure_width(text: str) -> int:
    """Return the columns that a text takes."""
    if text.isascii():
        return len(text)
    return sum(_columns(char) for char in text)


def _columns(char: str) -> int:
    if unicodedata.combining(char):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def _find_cut(line: str, width: int, least: int) -> int:
    """Where a line is cut: behind the last space that fits, or within a word that is longer than the line."""
    used, at = 0, 0
    while at < len(line) and used + _columns(line[at]) <= width:
        used += _columns(line[at])
        at += 1
    space = line.rfind(" ", least + 1, at + 1)
    return space if space > least else max(at, least + 1)


def show_lines(lines: Iterable[str], look: Appearance, *, paged: bool) -> int:
    """Print lines as a person's terminal wants them; returns the characters of the lines themselves.

    ``paged``: through the pager, which shows what fits on the screen without being asked. Not in the daemon, which has
    no terminal.
    """
    terminal = sys.stdout.isatty()
    settings = read_git_settings() if terminal else {}
    color = wants_color(look, settings, terminal=terminal)
    width = shutil.get_terminal_size().columns if terminal else 0
    count = 0

    def finished() -> Iterator[str]:
        nonlocal count
        for line in lines:
            count += len(line) + 1
            line = clean_line(line)
            parts = wrap_line(line, width) if width else [line]
            # Painted before it was cut, a colour would reach over the end of a line.
            yield from (map(paint_line, parts) if color else parts)

    pager = find_pager(look, settings) if paged and terminal else None
    if pager is None:
        for one in finished():
            sys.stdout.write(one + "\n")
    else:
        _page(finished(), pager)
    return count


def _page(lines: Iterable[str], pager: str) -> None:
    # F: quit where it fits on one screen; R: show colours; X: leave it there afterwards. As git does.
    env = {"LESS": "FRX", "LV": "-c", "LESSCHARSET": "utf-8", **os.environ}
    sys.stdout.flush()
    process = subprocess.Popen(pager, shell=True, stdin=subprocess.PIPE, env=env)
    assert process.stdin is not None
    with contextlib.suppress(BrokenPipeError):  # it was left before the end
        try:
            for line in lines:
                process.stdin.write(f"{line}\n".encode("utf-8", "replace"))
        finally:
            process.stdin.close()
    while True:
        try:
            process.wait()
            return
        except KeyboardInterrupt:  # a key for the pager, which stays until it is left
            continue
