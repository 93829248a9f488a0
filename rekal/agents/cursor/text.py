"""What Cursor wraps around the words: the typed text, its time, the answer without placeholders."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

from rekal.agents.formats.json_fields import first_text, text_at
from rekal.agents.formats.jsonl import clean_text
from rekal.agents.formats.person_words import find_wrapper, name_wrapper
from rekal.plain_text import lazy_pattern

_CONTEXT = (
    "timestamp", "external_links", "user_info", "attached_files", "open_and_recently_viewed_files", "system_reminder",
    "system-reminder", "project_layout", "git_status", "rules", "agent_skills", "agent_transcripts", "additional_data",
    "manually_attached_skills", "mcp_file_system", "cursor_commands", "image_files",
)  # fmt: skip
_WRAPPER = lazy_pattern(rf"<({'|'.join(_CONTEXT)})\b[^>]*>.*?</\1>", re.DOTALL)
_QUERY = lazy_pattern(r"<user_query>(.*)</user_query>", re.DOTALL)
_STAMP = lazy_pattern(
    r"<timestamp>[^<]*?(?P<month>[A-Z][a-z]{2})[a-z]* (?P<day>\d{1,2}), (?P<year>\d{4}),? "
    r"(?P<hour>\d{1,2}):(?P<minute>\d\d)\s?(?P<half>[AP]M)"
    r"(?: \(UTC(?P<shift>[+-]\d{1,2})?(?::?(?P<shift_minutes>\d\d))?\))?"
)
_MONTHS = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
_WORKSPACE = lazy_pattern(r"^Workspace Path: (\S.*?)\s*$", re.MULTILINE)


class Typed(NamedTuple):
    """A person's words and their time, and the working directory that the text around it names.

    ``odd`` names what is wrapped in a way not known, and so is no person's.
    """

    words: str | None
    at: datetime | None = None
    cwd: str | None = None
    odd: str | None = None


def split_typed(raw: str) -> Typed:
    """Take a user message apart. ``words`` is None when nothing of it was typed."""
    query = _QUERY.search(raw)
    around = raw[: query.start()] + raw[query.end() :] if query else raw
    words = query[1] if query else _WRAPPER.sub("", raw)
    home = _WORKSPACE.search(around) if "<user_info>" in around else None
    plain = clean_text(words).strip()
    odd = name_wrapper(plain) if query is None and find_wrapper(plain) else None
    return Typed(plain if plain and not odd else None, _moment(around), clean_text(home[1]) if home else None, odd)


def _moment(around: str) -> datetime | None:
    found = _STAMP.search(around)
    if found is None or found["month"] not in _MONTHS:
        return None
    hour = int(found["hour"]) % 12 + (12 if found["half"] == "PM" else 0)
    shift = int(found["shift"] or 0)
    minutes = int(found["shift_minutes"] or 0) * (-1 if shift < 0 else 1)
    try:
        month = _MONTHS.index(found["month"]) + 1
        local = datetime(int(found["year"]), month, int(found["day"]), hour, int(found["minute"]), tzinfo=UTC)
        return local - timedelta(hours=shift, minutes=minutes)
    except (ValueError, OverflowError):
        return None


def strip_answer(raw: str | None) -> str | None:
    """An assistant's text without the placeholder that stands for its thinking."""
    words = "\n".join(line for line in clean_text(raw or "").split("\n") if line.strip() != "[REDACTED]")
    return words.removesuffix("[REDACTED]").strip() or None


def uri_path(value: object) -> str | None:
    """The local path of a VS Code URI, given as text or as an object; None for another machine's."""
    if isinstance(value, dict):
        return text_at(value, "fsPath") or uri_path(first_text(value, "external", "path"))
    if not isinstance(value, str) or not value.strip():
        return None
    if "://" not in value:
        return clean_text(value)
    try:
        parts = urlsplit(value)
    except ValueError:
        return None
    # A WSL folder is reachable from here and has the same path; one behind SSH or in a container is not.
    local = parts.scheme == "file" or (parts.scheme == "vscode-remote" and unquote(parts.netloc).startswith("wsl+"))
    path = unquote(parts.path)
    if not local or not path:
        return None
    return clean_text(path[1:] if re.match(r"/[A-Za-z]:", path) else path)
