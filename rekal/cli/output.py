"""Printing: one record, as text for a person or as JSON for a program.

Everything that rekal shows leaves through :func:`print_line`, :func:`print_note` or :func:`print_json`. They take out
what could move a cursor, reverse a word or forge a line, so no verb has to think of it: recalled text, names of
teammates, branches and paths are whatever somebody else wrote.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import TypeVar

import click

from rekal.cli.look import LOOK
from rekal.errors import UsageError
from rekal.model import LOCAL, UNVERIFIED
from rekal.plain_text import clean_line, clean_text, escape_hidden

T = TypeVar("T")

_SPACE = re.compile(r"\s+")


def print_record(
    record: T, as_json: bool, lines: Callable[[T], Iterable[str]], notes: Iterable[str] = (), *, paged: bool = True
) -> int:
    """Print a record: as one JSON object, or as the ``lines`` made of it with ``notes`` on stderr.

    On a terminal lines are coloured and cut to fit, and ``paged`` ones go through the pager. Returns the number of
    characters of what went to stdout.
    """
    if as_json:
        return print_json(record)
    for note in notes:
        print_note(note)
    look = LOOK.get()
    if look.color == "always" or sys.stdout.isatty():
        from rekal.cli.terminal import show_lines  # an agent never gets here

        return show_lines(lines(record), look, paged=paged)
    count = 0
    for line in lines(record):
        print_line(line)
        count += len(line) + 1
    return count


def print_line(line: str = "", *, end: str = "\n", err: bool = False) -> None:
    """Print one line: hidden characters are left out, and what would break it becomes a space."""
    click.echo((clean_line(line) if line else "") + end, nl=False, err=err)


def print_note(message: str) -> None:
    """Print one line on stderr, where it is in nobody's way who reads the answer."""
    print_line(f"rekal: {message}", err=True)


def print_json(record: object) -> int:
    """Print one JSON object: structs by their fields, paths as text, times in ISO 8601, hidden characters escaped.

    Returns the number of characters printed.
    """
    import msgspec  # for the verbs that print no record, it is a tenth of their time

    text = escape_hidden(msgspec.json.encode(record, enc_hook=os.fspath).decode())
    click.echo(text)
    return len(text) + 1


def print_export(text: str) -> None:
    """Print a text that another program reads back: cleaned on a terminal, else as it is, to the byte."""
    click.echo(clean_text(text) if sys.stdout.isatty() else text, nl=False)


def print_block(text: str) -> None:
    """Print a text of several lines as it is, cleaned: for what a host or a page takes in as a whole."""
    click.echo(clean_text(text), nl=False)


def confirm(question: str) -> bool:
    """Ask a question on stderr. UsageError where there is nobody to answer it."""
    if not sys.stdin.isatty():
        raise UsageError("this needs a yes, and there is no terminal to ask on", "give --yes")
    return click.confirm(clean_line(question), default=False, err=True)


def ask_for(label: str, default: str | None = None) -> str:
    """Ask for a line of text."""
    return str(click.prompt(clean_line(label), default=default and clean_line(default), show_default=bool(default)))


def one_line(text: str, limit: int) -> str:
    """Return ``text`` on one line, at most ``limit`` characters, cut at a word where there is one near."""
    flat = _SPACE.sub(" ", clean_line(text)).strip()
    if len(flat) <= limit:
        return flat
    cut = flat[: limit - 1]
    space = cut.rfind(" ", limit - 20)
    return (cut[:space] if space > 0 else cut).rstrip() + "…"


def format_name(name: str | None) -> str:
    """Return the name of a person, an agent or a branch on one line: a dash for none, cut where it is a novel."""
    return one_line(name or "", 60) or "-"


def count_of(number: int, noun: str, plural: str = "") -> str:
    """Return ``1 turn``, ``2 turns``; ``plural`` where an s does not make it."""
    return f"{number:,} {noun if number == 1 else plural or noun + 's'}"


def format_day(when: datetime | None) -> str:
    """Return a date as the user counts days, or dashes of the same width."""
    return _in_zone(when).strftime("%Y-%m-%d") if when else "----------"


def format_minute(when: datetime | None) -> str:
    """Return a time to the minute with its distance from UTC, as git does, or dashes of the same width."""
    return _in_zone(when).strftime("%Y-%m-%d %H:%M %z") if when else "-" * 22


def _in_zone(when: datetime) -> datetime:
    """The time in the user's zone, or in UTC where the call asked for it; what has no zone is UTC."""
    when = when if when.tzinfo else when.replace(tzinfo=UTC)
    try:
        return when.astimezone(UTC if LOOK.get().utc else None)
    except (OverflowError, ValueError, OSError):  # a teammate's record may name the first or the last day there is
        return when.astimezone(UTC)


def short_id(identifier: str) -> str:
    """Return the first characters of an id, enough to tell sessions of one store apart."""
    return identifier[:10]


_SIGNED = {"good": "signed", "bad": "bad signature", "none": "not signed"}


def format_origin(origin: str, signatures: Mapping[str, str] | None = None) -> str:
    """Return where a record came from, in brackets behind two spaces; empty for one of this clone.

    ``signatures`` are the verdicts on refs' signatures by origin; None where they were not looked up. "unverified"
    says that the ref's owner is not the one whom the record names.
    """
    if origin == LOCAL:
        return ""
    words = [f"from {one_line(origin.removeprefix(UNVERIFIED), 80)}"]
    if signatures is not None:
        words.append(_SIGNED.get(signatures.get(origin, ""), "not checked"))
    if origin.startswith(UNVERIFIED):
        words.append("unverified")
    return f"  ({', '.join(words)})"


def format_source(source: str) -> str:
    """Return what a memory cites as `rekal show` takes it: the log keeps a turn as ``SESSION#TURN``."""
    name, mark, turn = source.rpartition("#")
    return f"{name}:{turn}" if mark and turn.isdigit() and name.isalnum() else source


class AgentName(click.ParamType):  # type: ignore[type-arg]  # generic in late releases of click alone
    """The name of an agent that some adapter reads; UsageError for another, so that a slip is no empty answer."""

    name = "text"

    def convert(self, value: str, param: click.Parameter | None, ctx: click.Context | None) -> str:
        from rekal.agents.registry import agent_names  # only where the option is given

        known = agent_names()
        if value not in known:
            raise UsageError(f"unknown agent {clean_line(value)[:60]}", f"known are {', '.join(known)}")
        return value


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
