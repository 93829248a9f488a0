"""What a person really said in a Claude Code record, apart from what the client wrapped around it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from rekal.agents.formats.jsonl import clean_text
from rekal.plain_text import lazy_pattern

_INJECTED = lazy_pattern(r"(?ms)^[ \t]*<rekal-memory\b.*?</rekal-memory>[ \t]*(?:\n|\Z)")
_REMINDER = lazy_pattern(r"(?s)<system-reminder>.*?(?:</system-reminder>\s*|\Z)")
_SPOKEN_TAGS = ("command-args", "bash-input", "channel")  # a channel brings what a person wrote elsewhere
_MACHINE_TAGS = (
    "local-command-caveat", "local-command-stdout", "local-command-stderr", "bash-stdout", "bash-stderr",
    "command-name", "command-message", "command-contents", "task-notification", "agent-notification",
    "teammate-message", "cross-session-message", "ide_opened_file", "ide_selection", "ide_diagnostics",
    "user-prompt-submit-hook",
)  # fmt: skip
_WRAPPER = lazy_pattern(
    rf"(?s)\s*<(?P<tag>{'|'.join(_SPOKEN_TAGS + _MACHINE_TAGS)})\b[^>]*>(?P<body>.*?)(?:</(?P=tag)>|\Z)"
)
# A message that is wholly inside one element whose name has a hyphen: clients wrap like that what no person typed, and
# each version brings new names. Elements of HTML have none.
_WRAPPED_WHOLE = lazy_pattern(r"(?s)\s*<([a-z][a-z0-9]*(?:-[a-z0-9]+)+)\b[^>]*>.*</\1>\s*\Z")
_INTERRUPTED = lazy_pattern(r"\s*\[Request interrupted by user[^\]\n]*\]")
_BARE_COMMAND = lazy_pattern(r"/[\w:.-]+\Z")
_MACHINE_OPENINGS = (
    "Base directory for this skill:",
    "Caveat: The messages below",
    "Stop hook feedback:",
    '{"task_id":',
)
SUMMARY_OPENING = "This session is being continued from a previous conversation"
PLAN_OPENING = "Implement the following plan:"


def text_blocks(content: Any) -> Iterator[str]:
    """The text blocks of a message's content, which is a string or a list of blocks."""
    if isinstance(content, str):
        yield clean_text(content)
    elif isinstance(content, list):
        for block in content:
            if isinstance(block, dict) and block.get("type") == "text" and isinstance(block.get("text"), str):
                yield clean_text(block["text"])


def without_injected(text: str) -> str:
    """``text`` without the blocks that rekal itself put there: its own answers are no new evidence."""
    return _INJECTED.sub("", text) if "<rekal-memory" in text else text


def without_reminders(text: str) -> str:
    """``text`` without the client's reminders, which stand anywhere in prompts and results."""
    return _REMINDER.sub("", text) if "<system-reminder>" in text else text


def _unwrapped(text: str) -> str:
    """Take the wrappers off the front of ``text``; what a person typed inside one stays."""
    command, kept = "", []
    while match := _WRAPPER.match(text):
        tag, body = match["tag"], match["body"].strip()
        text = text[match.end() :]
        if tag == "command-name":
            command = body
        elif tag in _SPOKEN_TAGS and body:
            kept.append(f"! {body}" if tag == "bash-input" else body)
            if tag == "command-args":
                kept[-1] = f"{command} {body}".strip()
    if interrupted := _INTERRUPTED.match(text):
        text = text[interrupted.end() :]
    return "\n".join([*kept, text.strip()]).strip()


def strip_machine_text(text: str) -> str:
    """Return the part of ``text`` that a person typed; empty when a machine wrote all of it."""
    text = without_reminders(without_injected(text)).strip()
    if text.startswith(_MACHINE_OPENINGS) or text == "Warmup":
        return ""
    text = _unwrapped(text)
    return "" if _BARE_COMMAND.match(text) or _WRAPPED_WHOLE.match(text) else text


def spoken_content(content: Any) -> str:
    """:func:`strip_machine_text` over all text blocks of a content, joined by newlines."""
    return "\n".join(filter(None, map(strip_machine_text, text_blocks(content))))


def said_by_agent(content: Any) -> str:
    """The assistant's own words in a content, without anything rekal had injected."""
    parts = (without_injected(text).strip() for text in text_blocks(content))
    return "\n".join(filter(None, parts))
