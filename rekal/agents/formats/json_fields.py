"""Reach into decoded JSON whose shape nobody promises: a field of another type reads as an absent one."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import msgspec

from rekal.agents.contract import refuse_source
from rekal.agents.formats.jsonl import Record, clean_tree
from rekal.errors import SourceError


def load_object(raw: object) -> Record | None:
    """The JSON object that ``raw`` holds, its strings clean; None when it holds none."""
    if not isinstance(raw, str | bytes):
        return None
    try:
        value = msgspec.json.decode(raw)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        # The fast decoder refuses NUL bytes, raw line feeds in strings and a byte order mark, all of which files have.
        value = _load_odd(raw)
    # A bare list or number is JSON, too, but no record.
    return value if isinstance(value, dict) else None


def _load_odd(raw: str | bytes) -> Any:
    text = raw.decode("utf-8", "replace") if isinstance(raw, bytes) else raw
    try:
        return clean_tree(json.loads(text.removeprefix("\ufeff").replace("\0", ""), strict=False))
    except (ValueError, RecursionError):
        return None


def read_object(path: Path) -> Record:
    """The JSON object a file holds. Raises SourceError when it cannot be read or holds none."""
    try:
        value = load_object(path.read_bytes())
    except OSError as error:
        raise refuse_source(path, error) from error
    if value is None:
        raise SourceError(f"{path} holds no JSON object")
    return value


def value_at(value: object, *keys: str) -> Any:
    """Value under ``keys``, or None."""
    for key in keys:
        if not isinstance(value, dict):
            return None
        value = value.get(key)
    return value


def object_at(value: object, *keys: str) -> Record:
    """The object under ``keys``, or an empty one."""
    found = value_at(value, *keys)
    return found if isinstance(found, dict) else {}


def objects_at(value: object, *keys: str) -> list[Record]:
    """The objects of the list under ``keys``; its other items are left out."""
    found = value_at(value, *keys)
    return [item for item in found if isinstance(item, dict)] if isinstance(found, list) else []


def text_at(value: object, *keys: str) -> str | None:
    """The string under ``keys``, or None when it is absent or blank."""
    found = value_at(value, *keys)
    # Not strip(): it would copy a long text to learn that it has something in it.
    return found if isinstance(found, str) and found and not found.isspace() else None


def first_text(value: object, *names: str) -> str | None:
    """The first of several fields that holds a string which is not blank."""
    return next((found for name in names if (found := text_at(value, name)) is not None), None)


def number_at(value: object, *keys: str) -> int | None:
    """The number under ``keys`` as an integer that fits 64 bits, or None."""
    found = value_at(value, *keys)
    # True would be read as the number 1.
    if isinstance(found, bool) or not isinstance(found, int | float):
        return None
    if isinstance(found, float) and not math.isfinite(found):
        return None
    whole = int(found)
    return whole if -(1 << 63) <= whole < 1 << 63 else None
