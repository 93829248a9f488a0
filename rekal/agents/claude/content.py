"""The content of Claude Code's records: what a person really said, and the tool calls with what came of them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from rekal.agents.formats.jsonl import Record, clean_text
from rekal.agents.formats.person_words import find_wrapper
from rekal.model import Outcome, RawCall
from rekal.plain_text import lazy_pattern

# What a person really said in a Claude Code record, apart from what the client wrapped around it.

# Only at the beginning of a line, as rekal writes it: a person may quote the tag within a sentence.
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


def is_readable_content(content: Any) -> bool:
    """True for a text, and for blocks each of which has what its type says: a text its words."""
    if not isinstance(content, list):
        return isinstance(content, str)
    return all(isinstance(b, dict) and (b.get("type") != "text" or isinstance(b.get("text"), str)) for b in content)


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
            # The exclamation mark is what the person typed to reach the shell; the client takes it off.
            kept.append(f"! {body}" if tag == "bash-input" else body)
            if tag == "command-args":
                kept[-1] = f"{command} {body}".strip()
    if interrupted := _INTERRUPTED.match(text):
        text = text[interrupted.end() :]
    return "\n".join([*kept, text.strip()]).strip()


def strip_machine_text(text: str) -> str:
    """Return the part of ``text`` that a person typed; empty when a machine wrote all of it."""
    text = without_reminders(without_injected(text)).strip()
    # The client sends Warmup to fill its cache before anybody has typed.
    if text.startswith(_MACHINE_OPENINGS) or text == "Warmup":
        return ""
    text = _unwrapped(text)
    return "" if _BARE_COMMAND.match(text) or find_wrapper(text) else text


def spoken_content(content: Any) -> str:
    """:func:`strip_machine_text` over all text blocks of a content, joined by newlines."""
    return "\n".join(filter(None, map(strip_machine_text, text_blocks(content))))


def agent_words(content: Any) -> str:
    """The assistant's own words in a content, without anything rekal had injected."""
    parts = (without_injected(text).strip() for text in text_blocks(content))
    return "\n".join(filter(None, parts))


# Claude Code's tool calls: what was called on which file, what came of it, and which lines it wrote.

# Characters that go on to the scrubber, which keeps 200: a secret that the later cut would split is still whole here.
_COMMAND = 4000
_PATH_KEYS = ("file_path", "notebook_path", "path")
# The tool was called Task before it was called Agent.
_DISPATCH = ("Task", "Agent")


class Call(msgspec.Struct):
    """A call that may still wait for its result. ``offset`` and ``order`` place the record that issued it."""

    tool: str
    input: Record
    offset: int
    order: int
    turn: int
    native_id: str
    shared: bool
    cwd: str | None
    occurred_at: datetime | None
    answered: bool = False
    outcome: Outcome | None = None
    excerpt: str | None = None
    wrote: tuple[str, ...] = ()

    def answer(self, block: Record, details: Any) -> None:
        """Take the ``tool_result`` block and the record's ``toolUseResult``."""
        self.answered = True
        self.outcome = "error" if block.get("is_error") is True else "ok"
        if self.outcome == "error":
            self.excerpt = _excerpt(block.get("content"))
        else:
            self.wrote = tuple(_written_lines(self.tool, self.input, details))
        # What was written is in `wrote` now: the texts of a long session would stay in memory otherwise.
        self.input = {key: self.input[key] for key in (*_PATH_KEYS, "command") if key in self.input}

    def finished(self) -> RawCall:
        path = next(filter(None, (_clean_string(self.input.get(key)) for key in _PATH_KEYS)), None)
        command = _clean_string(self.input.get("command"))
        return RawCall(
            tool=self.tool,
            turn=self.turn,
            native_id=self.native_id,
            shared=self.shared,
            path=path,
            command=command[:_COMMAND] if command else None,
            outcome=self.outcome,
            excerpt=self.excerpt,
            occurred_at=self.occurred_at,
            wrote=self.wrote,
            cwd=self.cwd,
        )

    def dispatched(self) -> tuple[str, str | None, str | None] | None:
        """``(prompt, agent type, description)`` of a call that started a sub-agent."""
        prompt = _clean_string(self.input.get("prompt"))
        if self.tool not in _DISPATCH or prompt is None:
            return None
        return prompt, _clean_string(self.input.get("subagent_type")), _clean_string(self.input.get("description"))


def _clean_string(value: Any) -> str | None:
    return clean_text(value) if isinstance(value, str) and value else None


def _excerpt(content: Any) -> str | None:
    text = without_reminders(without_injected("\n".join(text_blocks(content)))).strip()
    # The client's own wrapping, not a word of the tool.
    text = text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>").strip()
    return text or None


def _written_lines(tool: str, given: Record, details: Any) -> Iterator[str]:
    """The lines a successful call put into its file: those its patch added, else those its input adds."""
    if tool not in ("Edit", "MultiEdit", "Write", "NotebookEdit"):
        return
    patch = details.get("structuredPatch") if isinstance(details, dict) else None
    # The patch says what changed; the input of a Write repeats the whole file.
    if isinstance(patch, list) and patch:
        yield from _patch_lines(patch)
        return
    edits = given.get("edits")
    for edit in [given, *(edits if isinstance(edits, list) else [])]:
        if isinstance(edit, dict):
            yield from _lines_not_in(edit.get("old_string"), edit.get("new_string"))
    for key in ("content", "new_source"):
        yield from _lines_not_in(None, given.get(key))


def _patch_lines(patch: list[Any]) -> Iterator[str]:
    for hunk in patch:
        lines = hunk.get("lines") if isinstance(hunk, dict) else None
        for line in lines if isinstance(lines, list) else []:
            if isinstance(line, str) and line.startswith("+"):
                yield clean_text(line[1:])


def _lines_not_in(old: Any, new: Any) -> Iterator[str]:
    """The lines of ``new`` that ``old`` does not have; an edit repeats its surroundings on both sides."""
    if not isinstance(new, str):
        return
    # Counted and not a set: a line that stood there once and is written twice was added once.
    there = Counter(old.split("\n")) if isinstance(old, str) else Counter[str]()
    for line in new.split("\n"):
        if there[line] > 0:
            there[line] -= 1
        # An empty line tells nobody's work apart.
        elif line.strip():
            yield clean_text(line.rstrip("\r"))
