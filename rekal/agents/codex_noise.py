"""What a person typed, out of what Codex was sent as the user."""

from __future__ import annotations

import re

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
_ROOT_AGENT = re.compile(r"You are\b.{0,80}/root\b.{0,40}the primary agent", re.DOTALL)
_WRAPPER = re.compile(
    r"# (?:Context from my IDE setup|Files mentioned by the user|In app browser|Diff comments"
    r"|Selected text|Applications mentioned by the user|Review findings)\b[^\n]*\n"
)
_REQUEST = re.compile(r"^## My request for Codex:?[ \t]*$", re.MULTILINE)
_IMAGE = re.compile(r"</?image\b[^>]*>\s*")
_CWD = re.compile(r"<environment_context>.*?<cwd>\s*(.+?)\s*</cwd>", re.DOTALL)


def typed_text(message: str) -> str | None:
    """The part of a user message that a person wrote, or None for one that the program made up.

    The IDE and the desktop program put what they add in front and the person's request last.
    """
    text = message.strip()
    if text.startswith(_MACHINE) or _ROOT_AGENT.match(text):
        return None
    if _WRAPPER.match(text) and (request := _last_request(text)) is not None:
        text = text[request:]
    return _IMAGE.sub("", text).strip() or None


def _last_request(text: str) -> int | None:
    end = None
    for found in _REQUEST.finditer(text):
        end = found.end()
    return end


def context_cwd(message: str) -> str | None:
    """The working directory that an environment message names."""
    found = _CWD.search(message)
    return found[1] if found else None
