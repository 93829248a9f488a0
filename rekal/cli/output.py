"""Printing: one record, as text for a person or as JSON for a program."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from datetime import datetime
from typing import TypeVar

import click
import msgspec

T = TypeVar("T")

# Terminal escapes and other control characters have no business in recalled text; newline and tab stay.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SPACE = re.compile(r"\s+")


def print_record(record: T, as_json: bool, lines: Callable[[T], Iterable[str]], notes: Iterable[str] = ()) -> None:
    """Print a record: as one JSON object, or as the ``lines`` made of it with ``notes`` on stderr."""
    if as_json:
        print_json(record)
        return
    for note in notes:
        print_note(note)
    for line in lines(record):
        click.echo(line)


def print_json(record: object) -> None:
    """Print one JSON object: structs by their fields, times in ISO 8601."""
    click.echo(msgspec.json.encode(record).decode())


def print_note(message: str) -> None:
    """Print one line on stderr, where it is in nobody's way who reads the answer."""
    click.echo(f"rekal: {message}", err=True)


def strip_controls(text: str) -> str:
    """Return ``text`` without control characters and direction overrides."""
    return _CONTROL.sub("", text)


def one_line(text: str, limit: int) -> str:
    """Return ``text`` on one line, at most ``limit`` characters, cut at a word where there is one near."""
    flat = _SPACE.sub(" ", strip_controls(text)).strip()
    if len(flat) <= limit:
        return flat
    cut = flat[: limit - 1]
    space = cut.rfind(" ", limit - 20)
    return (cut[:space] if space > 0 else cut).rstrip() + "…"


def format_day(when: datetime | None) -> str:
    """Return a date, or dashes of the same width."""
    return when.strftime("%Y-%m-%d") if when else "----------"


def format_minute(when: datetime | None) -> str:
    """Return a time to the minute, UTC, or dashes of the same width."""
    return when.strftime("%Y-%m-%dT%H:%M") if when else "----------------"


def short_id(identifier: str) -> str:
    """Return the first characters of an id, enough to tell sessions of one store apart."""
    return identifier[:10]


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
