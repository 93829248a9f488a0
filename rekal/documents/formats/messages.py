"""Messages in JSON: lists of our own plain shape, exports of Discord and of Slack; any other JSON is taken as text.

The plain shape is a list of ``{id, text, type?, ts?, thread?, from?, subject?}``, or an object with that list as its
``items``. Every message is a chunk of its own that begins with its sender's name, so that a question about a person
finds what that person said.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import datetime
from pathlib import Path
from typing import Any

from rekal.documents.document_dates import date_in_name, read_date
from rekal.documents.document_records import DocumentError, DocumentFormat, DocumentItem, ReadOptions
from rekal.documents.formats.decode import read_text

_LARGEST_JSON = 512 << 20
_SLACK_MENTION = re.compile(r"<@([A-Z0-9]+)(?:\|([^>]*))?>")
_SLACK_LINK = re.compile(r"<(?:https?|mailto)[^|>]*\|([^>]*)>|<((?:https?|mailto)[^|>]*)>")
_LONGEST_TEXT_JSON = 1 << 20


def read_message_json(path: Path, options: ReadOptions) -> Iterator[DocumentItem]:
    """Yield the messages of a JSON file. DocumentError for what is no JSON."""
    if path.stat().st_size > _LARGEST_JSON:
        raise DocumentError(f"{path.name} is larger than {_LARGEST_JSON >> 20} MiB", "split it")
    text = read_text(path).removeprefix("\ufeff")
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise DocumentError(f"{path.name} is not JSON that can be read ({str(error)[:80]})") from None
    shape = _shape_of(data)
    if shape == "discord":
        yield from _discord(data)
    elif shape == "slack":
        messages = data if isinstance(data, list) else data["messages"]
        yield from _slack(messages, _slack_users(path, data), _slack_channel(path, data))
    elif shape == "plain":
        yield from _plain_messages(data if isinstance(data, list) else data["items"], path)
    else:
        yield DocumentItem(options.scrub(text)[:_LONGEST_TEXT_JSON], scrubbed=True)


def read_json_lines(path: Path, options: ReadOptions) -> Iterator[DocumentItem]:
    """Yield messages of the plain shape, one a line; lines that are none are left out."""
    found = False
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            try:
                one = json.loads(line)
            except (ValueError, RecursionError):
                continue
            if isinstance(one, dict) and isinstance(one.get("text"), str):
                found = True
                yield from _plain_messages([one | {"id": one.get("id", number)}], path)
    if not found:
        raise DocumentError(f"{path.name} holds no messages", 'a message is {"text": …} on a line of its own')


def _shape_of(data: Any) -> str:
    if isinstance(data, Mapping):
        messages = data.get("messages")
        if isinstance(data.get("guild"), Mapping) and isinstance(messages, list):
            return "discord"
        if isinstance(messages, list) and any(_is_slack(one) for one in messages[:20]):
            return "slack"
        data = data.get("items")
    if isinstance(data, list) and data:
        first = [one for one in data[:20] if isinstance(one, Mapping)]
        if any(_is_slack(one) for one in first):
            return "slack"
        if any(isinstance(one.get("text"), str) for one in first):
            return "plain"
    return ""


def _is_slack(one: Any) -> bool:
    return (
        isinstance(one, Mapping)
        and isinstance(one.get("text"), str)
        and bool(re.fullmatch(r"\d{9,11}\.\d+", str(one.get("ts"))))
        and ("user" in one or "bot_id" in one or "username" in one)
    )


def _with_sender(sender: str | None, text: str) -> str:
    return f"{sender}: {text}" if sender and not text.startswith(f"{sender}:") else text


def _plain_messages(items: list[Any], path: Path) -> Iterator[DocumentItem]:
    for number, one in enumerate(items):
        if not isinstance(one, Mapping) or not isinstance(one.get("text"), str) or not one["text"].strip():
            continue
        sender = _clean_word(one.get("from"))
        subject = _clean_word(one.get("subject"))
        when = read_date(one.get("ts")) or date_in_name(path.name)
        thread = _clean_word(one.get("thread")) or (f"{when:%Y-%m-%d}" if when and sender else "")
        place = _clean_word(one.get("id")) or str(number)
        yield DocumentItem(_with_sender(sender, one["text"]), place, subject, when, sender, thread, whole=True)


def _clean_word(value: object) -> str | None:
    return str(value).strip() or None if isinstance(value, (str, int)) and not isinstance(value, bool) else None


def _discord(data: Mapping[str, Any]) -> Iterator[DocumentItem]:
    channel = data.get("channel")
    name = _clean_word(channel.get("name")) if isinstance(channel, Mapping) else None
    for one in data["messages"]:
        if not isinstance(one, Mapping) or not isinstance(one.get("author"), Mapping):
            continue
        author, text = one["author"], one.get("content")
        if author.get("isBot") or not isinstance(text, str) or not text.strip():
            continue
        sender = _clean_word(author.get("nickname")) or _clean_word(author.get("name"))
        when = read_date(one.get("timestamp"))
        yield DocumentItem(
            _with_sender(sender, text), _clean_word(one.get("id")) or "", name, when, sender, _day_key(when), whole=True
        )


def _day_key(when: datetime | None) -> str:
    """Key of the day's talk: a channel without threads would be one session of years."""
    return f"{when:%Y-%m-%d}" if when else ""


def _slack_users(path: Path, data: Any) -> dict[str, str]:
    """Names by user id: from the export itself, or from ``users.json`` beside the channel's folder."""
    listed: Any = data.get("users") if isinstance(data, Mapping) else None
    if listed is None:
        beside = path.parent.parent / "users.json"
        try:
            listed = json.loads(read_text(beside)) if beside.is_file() else None
        except (ValueError, OSError, RecursionError):
            listed = None
    if isinstance(listed, Mapping):
        return {str(key): name for key, value in listed.items() if (name := _slack_name(value))}
    entries = [one for one in listed or () if isinstance(one, Mapping)]
    return {str(one["id"]): name for one in entries if "id" in one and (name := _slack_name(one))}


def _slack_name(value: Any) -> str | None:
    if isinstance(value, str):
        return value or None
    if not isinstance(value, Mapping):
        return None
    profile = value.get("profile")
    names = (profile.get("real_name"), profile.get("display_name")) if isinstance(profile, Mapping) else ()
    return next(
        (found for one in (value.get("real_name"), *names, value.get("name")) if (found := _clean_word(one))), None
    )


def _slack_channel(path: Path, data: Any) -> str | None:
    channel = data.get("channel") if isinstance(data, Mapping) else None
    if isinstance(channel, Mapping):
        channel = channel.get("name")
    return _clean_word(channel) or path.parent.name or None


def _slack(messages: list[Any], users: dict[str, str], channel: str | None) -> Iterator[DocumentItem]:
    for one in messages:
        if not _is_slack(one) or one.get("bot_id") or one.get("subtype") in ("bot_message", "channel_join"):
            continue
        user = str(one.get("user") or "")
        if user == "USLACKBOT" or not one["text"].strip():
            continue
        sender = users.get(user) or _clean_word(one.get("username")) or user or None
        when = read_date(float(one["ts"]))
        thread = str(one.get("thread_ts") or "") or _day_key(when)
        text = _SLACK_MENTION.sub(lambda found: f"@{users.get(found[1]) or found[2] or found[1]}", one["text"])
        text = _SLACK_LINK.sub(lambda found: found[1] or found[2], text)
        text = text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&")
        yield DocumentItem(_with_sender(sender, text), str(one["ts"]), channel, when, sender, thread, whole=True)


MESSAGE_FORMATS = (
    DocumentFormat("messages", (".json",), read_message_json),
    DocumentFormat("messages", (".jsonl", ".ndjson"), read_json_lines),
)
