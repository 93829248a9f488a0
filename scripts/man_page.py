"""The manual page as roff, from the same commands that ``--help`` prints."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

import click

from rekal import __version__
from rekal.cli.main import Verbs, root_command
from rekal.cli.verb_table import GROUPS
from rekal.config import ENVIRONMENT, OTHER_VARIABLES

_FILES = {
    ".rekal/": "the store of a repository: data.db, and what is derived from it",
    ".git/rekal/": "this clone's settings, locks, logs and waiting events",
    "~/.config/rekal/config.yml": "your own settings, for all repositories",
}


def write_man_page(exit_codes: Mapping[int, str]) -> str:
    """Return git-rekal.1; ``exit_codes`` are meanings by code."""
    return "\n".join(_lines(exit_codes)) + "\n"


def _lines(exit_codes: Mapping[int, str]) -> Iterator[str]:
    yield ".\\\" Generated from the commands' own help by `make docs`."
    yield f'.TH GIT\\-REKAL 1 "" "rekal {__version__}" "Rekal Manual"'
    yield from (".SH NAME", "git\\-rekal, rekal \\- memory for coding agents that lives in git")
    yield from (
        ".SH SYNOPSIS",
        ".nf",
        '\\fBrekal\\fR "\\fIquestion\\fR"',
        "\\fBrekal\\fR \\fIVERB\\fR [\\fIoptions\\fR]",
    )
    yield from ("\\fBgit rekal\\fR \\fIVERB\\fR [\\fIoptions\\fR]", ".fi", ".SH DESCRIPTION")
    yield from _paragraphs(root_command.help or "")
    assert isinstance(root_command, Verbs)
    for group, names in GROUPS.items():
        yield f'.SH "{group.upper()}"'
        for name in names:
            command = root_command.get_command(click.Context(root_command), name)
            assert command is not None
            yield from _verb_lines(name, command)
    yield ".SH EXIT STATUS"
    for code, meaning in exit_codes.items():
        yield from (".TP", f".B {code}", _text(meaning.replace("`", "")))
    yield ".SH ENVIRONMENT"
    settings = {name: f"the setting {'.'.join(key)}" for name, key in ENVIRONMENT.items()}
    for name, meaning in (settings | dict(OTHER_VARIABLES)).items():
        yield from (".TP", f".B {name}", _text(meaning.replace("`", "")))
    yield ".SH FILES"
    for name, meaning in _FILES.items():
        yield from (".TP", f".I {_text(name)}", _text(meaning))
    yield from (".SH SEE ALSO", "\\fBgit\\fR(1), \\fBgit\\-log\\fR(1), \\fBgit\\-blame\\fR(1)")


def _verb_lines(name: str, command: click.Command) -> Iterator[str]:
    context = click.Context(command, info_name=f"rekal {name}", terminal_width=10_000, max_content_width=10_000)
    usage = " ".join(command.collect_usage_pieces(context))
    yield from (f".SS rekal {_text(name)} {_text(usage)}".rstrip(),)
    yield from _paragraphs(command.help or "")
    for parameter in command.get_params(context):
        record = parameter.get_help_record(context)
        if record and record[0] != "--help" and "-h, --help" not in record[0]:
            yield from (".TP", f".B {_text(record[0])}", _text(record[1] or ""))


def _paragraphs(text: str) -> Iterator[str]:
    """Yield a help text as paragraphs; one behind ``\\b`` keeps its lines."""
    for number, part in enumerate(re.split(r"\n\s*\n", text.strip())):
        if number:
            yield ".PP"
        lines = [line.strip() for line in part.splitlines()]
        if lines[0] == "\b":
            yield ".nf"
            yield from map(_text, lines[1:])
            yield ".fi"
        else:
            yield _text(" ".join(lines).replace("\b", "").strip())


def _text(text: str) -> str:
    """Return words as roff takes them for words."""
    text = text.replace("\\", "\\e").replace("-", "\\-").replace("\f", "")
    text = text.replace("`", "'")
    return f"\\&{text}" if text.startswith((".", "'")) else text
