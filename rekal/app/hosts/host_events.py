"""What hosts of agents tell their hooks, and the shape in which they take an answer."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import msgspec

from rekal.install.host_hooks import HOSTS

_LONGEST_PROMPT = 4_000  # characters: a question stands in fewer
_LONGEST_EDIT = 64 << 10


class HostEvent(msgspec.Struct, frozen=True):
    """One call of a hook. ``host`` is the program that really called; ``configured`` the one whose settings it read.

    ``moment`` is ours (``start``, ``prompt``, ``tool``, ``compact``, ``end``), ``event`` the host's name for it.
    ``cwd`` is empty where the host gave none. ``added`` is the text that an edit of ``path`` would write.
    """

    host: str
    configured: str
    moment: str
    event: str
    session: str = ""
    cwd: str = ""
    source: str = ""
    prompt: str = ""
    path: str = ""
    command: str = ""
    added: str = ""


def read_host_event(moment: str, configured: str, data: str, env: Mapping[str, str]) -> HostEvent:
    """Read a host's payload; a field that is missing or of another type is empty. Never raises."""
    try:
        payload = msgspec.json.decode(data.encode("utf-8", "replace"))
    except msgspec.DecodeError:
        payload = {}
    if not isinstance(payload, dict):
        payload = {}
    roots = payload.get("workspace_roots")
    root = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
    tool = _tool_input(payload)
    host = _calling_host(payload, configured, env)
    known = next((own for ours, own in HOSTS[host].events.items() if ours == moment), "") if host in HOSTS else ""
    return HostEvent(
        host=host,
        configured=configured,
        moment=moment,
        event=_host_text(payload, "hook_event_name", "hookEventName") or known,
        session=_host_text(payload, "session_id", "sessionId", "conversation_id")[:200],
        cwd=_host_text(payload, "cwd") or root,
        source=_host_text(payload, "source"),
        prompt=_host_text(payload, "prompt", "initialPrompt")[:_LONGEST_PROMPT],
        path=_host_text(tool, "file_path", "path", "filePath", "notebook_path", "target_file"),
        command=_host_text(tool, "command", "cmd")[:_LONGEST_PROMPT],
        added=_host_added(tool)[:_LONGEST_EDIT],
    )


def _calling_host(payload: Mapping[str, Any], configured: str, env: Mapping[str, str]) -> str:
    """Four hosts read Claude Code's settings: the environment and the names of the fields say which one this is."""
    if "cursor_version" in payload or "conversation_id" in payload or env.get("CURSOR_VERSION"):
        return "cursor"
    if env.get("GEMINI_SESSION_ID"):
        return "gemini"
    if "hookEventName" in payload:
        return "vscode"
    # With the events' names as Claude Code spells them Copilot spells its fields so, too; but it tells the time, and no
    # transcript where a session or a prompt begins.
    like_claude = configured == "claude" and "timestamp" in payload and "transcript_path" not in payload
    if "sessionId" in payload or like_claude:
        return "copilot"
    return configured


def _host_text(fields: Mapping[str, Any], *names: str) -> str:
    return next((fields[name] for name in names if isinstance(fields.get(name), str) and fields[name]), "")


def _tool_input(payload: Mapping[str, Any]) -> Mapping[str, Any]:
    found = payload.get("tool_input", payload.get("toolArgs", {}))
    if isinstance(found, str):  # Copilot gives it as JSON in a string
        try:
            found = msgspec.json.decode(found.encode("utf-8", "replace"))
        except msgspec.DecodeError:
            return {}
    return found if isinstance(found, dict) else {}


def _host_added(tool: Mapping[str, Any]) -> str:
    parts = [_host_text(tool, "content", "new_string", "new_source", "newText", "contents")]
    edits = tool.get("edits")
    if isinstance(edits, list):
        parts += [_host_text(one, "new_string", "newText") for one in edits if isinstance(one, dict)]
    return "\n".join(part for part in parts if part)


def host_answer(event: HostEvent, text: str) -> str:
    """``text`` as the calling host wants it on stdout; empty for no text, which every host takes for nothing."""
    if not text:
        return ""
    if event.host in ("kiro", "opencode"):
        return text + "\n"
    if event.host == "cursor":
        answer: dict[str, Any] = {"additional_context": text}
    elif event.host == "copilot":
        answer = {"additionalContext": text}
    else:
        answer = {"hookSpecificOutput": {"hookEventName": event.event, "additionalContext": text}}
    return msgspec.json.encode(answer).decode() + "\n"
