"""A session or an answer as Markdown that a colleague can read without a store.

What people and agents wrote stands behind ``>``: none of it can pass for a heading of ours or end the page's structure.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import datetime

from rekal.app.read_ledger import ShownSession
from rekal.model import ToolCall, Turn
from rekal.plain_text import clean_line, clean_text
from rekal.recall.answer import Answer, Hit


def write_session_page(shown: ShownSession) -> str:
    """Return a session with all its turns, commits and tool calls."""
    return "\n".join(_session_lines(shown)) + "\n"


def write_answer_page(answer: Answer, reason: str) -> str:
    """Return an answer with its sessions and passages; ``reason`` is the sentence for a silent one."""
    return "\n".join(_answer_lines(answer, reason)) + "\n"


def _session_lines(shown: ShownSession) -> Iterator[str]:
    one = shown.session
    yield f"# {_inline(one.title or one.id)}"
    yield ""
    whose = "" if one.origin == "local" else f", from {_inline(one.origin)}"
    yield f"Session `{one.id}` of {_inline(one.agent)} for {_inline(one.author_name)}, {_day(one.started_at)}{whose}."
    if shown.checkpoints:
        yield ""
        for commit in shown.checkpoints:
            yield f"- commit `{commit.git_sha[:10]}` {_day(commit.committed_at)}: {_inline(commit.subject or '')}"
    for turn in one.turns:
        yield from _turn_lines(turn, [call for call in one.tool_calls if call.turn_seq == turn.seq])


def _turn_lines(turn: Turn, calls: list[ToolCall]) -> Iterator[str]:
    yield ""
    when = f", {turn.occurred_at:%Y-%m-%d %H:%M} UTC" if turn.occurred_at else ""
    yield f"## {turn.seq} {turn.role}{when}"
    yield ""
    yield from _quote(turn.content.split("\n"))
    if calls:
        yield ""
    for call in calls:
        about = " ".join(clean_line(call.command or call.path or "").split())
        yield f"- {_inline(call.tool)} {_code(about)}{' (error)' if call.outcome == 'error' else ''}".rstrip()


def _answer_lines(answer: Answer, reason: str) -> Iterator[str]:
    yield f"# {_inline(answer.question)}"
    yield ""
    yield f"**{answer.verdict}**{f': {_inline(reason)}' if answer.verdict == 'SILENCE' else ''}"
    for memory in answer.memories or ():
        because = f", because {_inline(memory.because)}" if memory.because else ""
        yield ""
        yield f"- {memory.label} {_day(memory.occurred_at)}: {_inline(memory.text)}{because}"
    for hit in answer.sessions:
        yield from _hit_lines(hit)
    for chunk in answer.documents or ():
        yield ""
        sender = f", from {_inline(chunk.sender)}" if chunk.sender else ""
        yield f"## {_code(chunk.location)}"
        yield ""
        yield f"Document, {_day(chunk.occurred_at)}{sender}."
        yield ""
        yield from _quote(chunk.text.split("\n"))
    for passage in answer.knowledge:
        yield ""
        yield f"## {_code(f'{passage.path}:{passage.start}-{passage.end}')}"
        yield ""
        yield from _quote(passage.text.split("\n"))


def _hit_lines(hit: Hit) -> Iterator[str]:
    yield ""
    yield f"## {_inline(hit.title or hit.session_id)}"
    yield ""
    led = f", led to `{hit.commit[:10]}` {_inline(hit.subject or '')}".rstrip() if hit.commit else ""
    whose = f"{_inline(hit.agent)} for {_inline(hit.author_name)}"
    yield f"Session `{hit.session_id[:10]}` of {whose}, {_day(hit.started_at)}{led}."
    for row in hit.rows:
        yield ""
        yield f"{row.role}, turn {row.seq}:"
        yield ""
        yield from _quote(row.text.split("\n"))


def _quote(lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        yield f"> {clean_text(line)}".rstrip()


def _code(text: str) -> str:
    """A text as code, whatever backquotes are in it."""
    if not text:
        return ""
    fence = "`" * (max(map(len, re.findall("`+", text)), default=0) + 1)
    return f"{fence} {text} {fence}" if "`" in text else f"`{text}`"


def _inline(text: str) -> str:
    """A text on one line in which nothing begins a link, an image or HTML."""
    flat = " ".join(clean_line(text).split())
    return "".join(f"\\{char}" if char in "\\`*_[]<>#|" else char for char in flat)


def _day(when: datetime | None) -> str:
    return f"{when:%Y-%m-%d}" if when else "undated"
