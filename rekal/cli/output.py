"""Printing: one record, as text for a person or as JSON for a program."""

from __future__ import annotations

import re
from datetime import datetime
from typing import Any

import click
import msgspec

# Terminal escapes and other control characters have no business in recalled text; newline and tab stay.
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_SPACE = re.compile(r"\s+")


def printable(text: str) -> str:
    """``text`` without control characters and direction overrides."""
    return _CONTROL.sub("", text)


def one_line(text: str, limit: int) -> str:
    """``text`` on one line, at most ``limit`` characters, cut at a word where there is one near."""
    flat = _SPACE.sub(" ", printable(text)).strip()
    if len(flat) <= limit:
        return flat
    cut = flat[: limit - 1]
    space = cut.rfind(" ", limit - 20)
    return (cut[:space] if space > 0 else cut).rstrip() + "…"


def day(when: datetime | None) -> str:
    """A date, or dashes of the same width."""
    return when.strftime("%Y-%m-%d") if when else "----------"


def minute(when: datetime | None) -> str:
    """A time to the minute, UTC."""
    return when.strftime("%Y-%m-%dT%H:%M") if when else "----------------"


def emit_json(value: Any) -> None:
    """One JSON object on stdout; structs by their fields, times in ISO 8601."""
    click.echo(msgspec.json.encode(value).decode())


def short(identifier: str) -> str:
    """A handle: the first characters of an id, enough to tell sessions of one store apart."""
    return identifier[:10]


json_option = click.option("--json", "as_json", is_flag=True, help="Print one JSON object.")
