"""What Kiro puts around the words, and how its tools say that they failed."""

from __future__ import annotations

import re
from collections.abc import Iterable

from rekal.agents.formats.json_fields import first_text, load_object, text_at
from rekal.agents.formats.jsonl import clean_text
from rekal.agents.formats.person_words import find_wrapper, name_wrapper
from rekal.plain_text import lazy_pattern

_WRAPPER = lazy_pattern(r"<(EnvironmentContext|steering-reminder)\b[^>]*>.*?</\1>", re.DOTALL)
_INJECTED = ("# System Prompt", "<identity>", "## Included Rules", "You are operating in a workspace")
_NO_TITLE = frozenset({"new session", "untitled"})
_GOOD = frozenset({"success", "ok", "completed"})


def strip_wrapper(raw: str) -> str | None:
    """The person's part of a message; None when Kiro wrote all of it."""
    words = clean_text(_WRAPPER.sub("", raw)).strip()
    return None if not words or words.startswith(_INJECTED) or find_wrapper(words) else words


def find_odd_prompt(raw: str) -> str | None:
    """Name the unknown element that a whole message is in: such a message is no person's, and is shown as drift."""
    words = clean_text(_WRAPPER.sub("", raw)).strip()
    return name_wrapper(words) if find_wrapper(words) else None


def model_name(name: str | None) -> str | None:
    """``auto`` leaves the choice to Kiro and names no model."""
    return name if name != "auto" else None


def title_name(title: str | None) -> str | None:
    """A title that somebody or something chose."""
    return title if title and title.casefold() not in _NO_TITLE else None


def result_failed(status: str | None, said: Iterable[object]) -> bool:
    """True if a tool failed: by its status, or by the exit status of the command it ran."""
    if status is not None and status.casefold() not in _GOOD:
        return True
    codes = [item.get("exit_status") for item in said if isinstance(item, dict)]
    return any(code is not None and str(code) not in ("0", "exit status: 0") for code in codes)


def result_words(said: Iterable[object]) -> str | None:
    """The words of a result: texts as they are, of a command what it printed."""
    found = [item if isinstance(item, str) else first_text(item, "stderr", "stdout", "error") for item in said]
    return "\n".join(words for words in found if words) or None


def is_classifier(answer: str) -> bool:
    """True if an answer is that of Kiro's own model for sorting prompts into chat, do and spec."""
    value = load_object(answer)
    return value is not None and {"chat", "do", "spec"} <= set(value) and text_at(value, "message") is None
