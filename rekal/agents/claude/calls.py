"""Claude Code's tool calls: what was called on which file, what came of it, and which lines it wrote."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from datetime import datetime
from typing import Any

import msgspec

from rekal.agents.claude.text import text_blocks, without_injected, without_reminders
from rekal.agents.formats.jsonl import Record, clean_text
from rekal.model import Outcome, RawCall

_COMMAND = 4000
_PATH_KEYS = ("file_path", "notebook_path", "path")
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
            self.wrote = tuple(_wrote(self.tool, self.input, details))
        self.input = {key: self.input[key] for key in (*_PATH_KEYS, "command") if key in self.input}

    def finished(self) -> RawCall:
        path = next(filter(None, (_string(self.input.get(key)) for key in _PATH_KEYS)), None)
        command = _string(self.input.get("command"))
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
        prompt = _string(self.input.get("prompt"))
        if self.tool not in _DISPATCH or prompt is None:
            return None
        return prompt, _string(self.input.get("subagent_type")), _string(self.input.get("description"))


def _string(value: Any) -> str | None:
    return clean_text(value) if isinstance(value, str) and value else None


def _excerpt(content: Any) -> str | None:
    text = without_reminders(without_injected("\n".join(text_blocks(content)))).strip()
    text = text.removeprefix("<tool_use_error>").removesuffix("</tool_use_error>").strip()
    return text or None


def _wrote(tool: str, given: Record, details: Any) -> Iterator[str]:
    """The lines a successful call put into its file: those its patch added, else those its input adds."""
    if tool not in ("Edit", "MultiEdit", "Write", "NotebookEdit"):
        return
    patch = details.get("structuredPatch") if isinstance(details, dict) else None
    if isinstance(patch, list) and patch:
        yield from _patch_lines(patch)
        return
    edits = given.get("edits")
    for edit in [given, *(edits if isinstance(edits, list) else [])]:
        if isinstance(edit, dict):
            yield from _added(edit.get("old_string"), edit.get("new_string"))
    for key in ("content", "new_source"):
        yield from _added(None, given.get(key))


def _patch_lines(patch: list[Any]) -> Iterator[str]:
    for hunk in patch:
        lines = hunk.get("lines") if isinstance(hunk, dict) else None
        for line in lines if isinstance(lines, list) else []:
            if isinstance(line, str) and line.startswith("+"):
                yield clean_text(line[1:])


def _added(old: Any, new: Any) -> Iterator[str]:
    """The lines of ``new`` that ``old`` does not have; an edit repeats its surroundings on both sides."""
    if not isinstance(new, str):
        return
    there = Counter(old.split("\n")) if isinstance(old, str) else Counter[str]()
    for line in new.split("\n"):
        if there[line] > 0:
            there[line] -= 1
        elif line.strip():
            yield clean_text(line.rstrip("\r"))
