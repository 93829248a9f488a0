"""Add entries to a JSON file of another program and take them out again, with every other byte left as it is.

Settings of agents are JSON with comments and trailing commas, in any indentation, with either line end. Nothing is
decoded and written anew: an entry is text that is inserted after an opening bracket, and taken out as that text.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from rekal.errors import Refused

# White space and comments: between any two parts of the text either may stand.
_SKIP = re.compile(r"(?:\s|//[^\n]*|/\*.*?\*/)*", re.S)
_STRING = re.compile(r'"(?:[^"\\]|\\.)*"', re.S)
_ATOM = re.compile(r"[^\s,:\[\]{}\"/]+")


class Insert(msgspec.Struct, frozen=True):
    """``text`` was inserted at ``place``, a position in characters of the file as it was before."""

    place: int
    text: str


def add_entries(text: str, path: Sequence[str], entries: Mapping[str, Any] | Sequence[Any]) -> list[Insert]:
    """Return what to insert so that the container at ``path`` gets ``entries``: members of an object, items of a list.

    Missing objects on the way are made. Raises :class:`Refused` for a text that is no JSON, or has something else
    where a container is wanted.
    """
    start = _skip(text, 0)
    if text[start : start + 1] != "{":
        raise Refused("the file does not hold a JSON object", "mend it, or put the lines in by hand")
    end = _value_end(text, start)
    # A second value behind the first would make the host read another file than we changed.
    if _skip(text, end) != len(text):
        raise Refused("the file does not hold one JSON object", "mend it, or put the lines in by hand")
    for depth, name in enumerate(path):
        found = _members(text, start).get(name)
        if found is None:
            value: Any = entries
            for missing in reversed(path[depth + 1 :]):
                value = {missing: value}
            return [_json_insert(text, start, f"{json.dumps(name)}: {json.dumps(value)}")]
        start = found
    wanted = "{" if isinstance(entries, Mapping) else "["
    if text[start] != wanted:
        raise Refused(f"{'.'.join(path)} is not what the program expects there", "mend the file, or remove it")
    items = (
        [f"{json.dumps(k)}: {json.dumps(v)}" for k, v in entries.items()]
        if isinstance(entries, Mapping)
        else [json.dumps(v) for v in entries]
    )
    return [_json_insert(text, start, ", ".join(items))] if items else []


def _json_insert(text: str, opening: int, entry: str) -> Insert:
    inside = _skip(text, opening + 1)
    empty = text[inside] in "}]"
    # On a line of its own where the container's next line is one, so that a person finds it.
    line = re.match(r"[ \t]*(\r?\n[ \t]*)", text[opening + 1 :])
    return Insert(opening + 1, f"{line[1] if line and not empty else ''}{entry}{'' if empty else ','}")


def apply_inserts(text: str, inserts: Sequence[Insert]) -> str:
    """``text`` with the inserts made, each at its place in the original."""
    # From the end, so that an insert does not move the places of those before it.
    for one in sorted(inserts, key=lambda one: one.place, reverse=True):
        text = text[: one.place] + one.text + text[one.place :]
    return text


def remove_inserts(text: str, inserts: Sequence[Insert]) -> str | None:
    """``text`` without what was inserted; None when it does not stand there word for word, once, any more."""
    left = remove_texts(text, inserts)
    return left if left is not None and (is_json(left) or not left.strip()) else None


def remove_texts(text: str, inserts: Sequence[Insert]) -> str | None:
    """The same for a text that is no JSON."""
    for one in reversed(inserts):
        # Twice means that somebody copied our entry: which of the two is ours cannot be told.
        if text.count(one.text) != 1:
            return None
        text = text.replace(one.text, "")
    return text


def is_json(text: str) -> bool:
    """True if ``text`` is one JSON value, comments and trailing commas allowed."""
    try:
        start = _skip(text, int(text.startswith("\ufeff")))
        return start < len(text) and _skip(text, _value_end(text, start)) == len(text)
    except Refused:
        return False


def read_json(text: str) -> Any:
    """The value that ``text`` is, comments and trailing commas allowed. Raises :class:`Refused`."""
    bare, at = [], 0
    while at < len(text):
        if text[at] == '"' and (match := _STRING.match(text, at)):
            bare.append(match[0])
            at = match.end()
        elif text[at] == "/":
            after = _skip(text, at)
            if after == at:
                raise Refused("the file is no JSON", "mend it")
            at = after
        # A trailing comma, which the json module refuses.
        elif text[at] == "," and text[_skip(text, at + 1) :][:1] in ("}", "]"):
            at += 1
        else:
            bare.append(text[at])
            at += 1
    try:
        return json.loads("".join(bare))
    except ValueError:
        raise Refused("the file is no JSON", "mend it") from None


def _skip(text: str, at: int) -> int:
    match = _SKIP.match(text, at)
    return match.end() if match else at


def _members(text: str, start: int) -> dict[str, int]:
    """Places at which the values of the object at ``start`` begin, by name."""
    found: dict[str, int] = {}
    if text[start] != "{":
        return found
    at = _skip(text, start + 1)
    while text[at] != "}":
        match = _STRING.match(text, at)
        if match is None:
            raise Refused("the file is no JSON", "mend it, or put the lines in by hand")
        value = _skip(text, _expect(text, _skip(text, match.end()), ":"))
        found[json.loads(match[0])] = value
        at = _after_item(text, _value_end(text, value), "}")
    return found


def _value_end(text: str, start: int) -> int:
    opening = text[start : start + 1]
    if opening in ("{", "["):
        closing = "}" if opening == "{" else "]"
        at = _skip(text, start + 1)
        while text[at : at + 1] != closing:
            if opening == "{":
                match = _STRING.match(text, at)
                if match is None:
                    raise Refused("the file is no JSON", "mend it, or put the lines in by hand")
                at = _skip(text, _expect(text, _skip(text, match.end()), ":"))
            at = _after_item(text, _value_end(text, at), closing)
        return at + 1
    match = (_STRING if opening == '"' else _ATOM).match(text, start)
    if match is None:
        raise Refused("the file is no JSON", "mend it, or put the lines in by hand")
    return match.end()


def _after_item(text: str, at: int, closing: str) -> int:
    at = _skip(text, at)
    return at if text[at : at + 1] == closing else _skip(text, _expect(text, at, ","))


def _expect(text: str, at: int, sign: str) -> int:
    if text[at : at + 1] != sign:
        raise Refused("the file is no JSON", "mend it, or put the lines in by hand")
    return at + 1
