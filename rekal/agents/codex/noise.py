"""What a person typed, out of what Codex was sent as the user; what is a session's own, out of what it copied."""

from __future__ import annotations

import re

from rekal.agents.formats.json_fields import objects_at, text_at
from rekal.agents.formats.jsonl import Record
from rekal.plain_text import lazy_pattern

_MACHINE = (
    "<environment_context>",
    "# AGENTS.md instructions",
    "<INSTRUCTIONS>",
    "<user_instructions>",
    "<turn_aborted>",
    "<subagent_notification>",
    "<skill>",
    "<user_action>",
    "<user_shell_command>",
    "<recommended_plugins>",
    "<codex_internal_context",
    "<goal_context>",
    "<permissions instructions>",
    "<collaboration_mode>",
    "<hook_prompt",
)
_ROOT_AGENT = lazy_pattern(r"You are\b.{0,80}/root\b.{0,40}the primary agent", re.DOTALL)
_WRAPPER = lazy_pattern(
    r"# (?:Context from my IDE setup|Files mentioned by the user|In app browser|Diff comments"
    r"|Selected text|Applications mentioned by the user|Review findings)\b[^\n]*\n"
)
_REQUEST = lazy_pattern(r"^## My request for Codex:?[ \t]*$", re.MULTILINE)
_IMAGE = lazy_pattern(r"</?image\b[^>]*>\s*")
_UUID7 = lazy_pattern(r"[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-")
_CWD = lazy_pattern(r"<environment_context>.*?<cwd>\s*(.+?)\s*</cwd>", re.DOTALL)


def typed_text(message: str) -> str | None:
    """The part of a user message that a person wrote, or None for one that the program made up.

    The IDE and the desktop program put what they add in front and the person's request last.
    """
    words = message.strip()
    if words.startswith(_MACHINE) or _ROOT_AGENT.match(words):
        return None
    if _WRAPPER.match(words) and (request := _last_request(words)) is not None:
        words = words[request:]
    return _IMAGE.sub("", words).strip() or None


def _last_request(words: str) -> int | None:
    end = None
    for found in _REQUEST.finditer(words):
        end = found.end()
    return end


def context_cwd(message: str) -> str | None:
    """The working directory that an environment message names."""
    found = _CWD.search(message)
    return found[1] if found else None


def content_text(payload: Record) -> str | None:
    """The text of a message's parts, whatever each part is called."""
    content = payload.get("content")
    if isinstance(content, str):
        return content
    return "\n".join(part for item in objects_at(content) if (part := text_at(item, "text")) is not None) or None


def is_wordless(payload: Record) -> bool:
    """True if a message is empty by its own account: no content, or parts of which none is a text."""
    content = payload.get("content")
    if not isinstance(content, list):
        return content == ""
    return not any("text" in str(part.get("type")) for part in objects_at(content))


def is_own(turn_id: str | None, session_id: str | None) -> bool:
    """True if a turn is a session's own or copied from an older one: ids of version 7 sort by time of birth.

    Without such ids there is no telling, and the turn counts as its own.
    """
    if turn_id is None or session_id is None:
        return True
    comparable = _UUID7.match(turn_id) and _UUID7.match(session_id)
    return comparable is None or turn_id >= session_id
