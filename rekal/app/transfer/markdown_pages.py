"""A session or an answer as Markdown that a colleague can read without a store.

What people and agents wrote stands behind ``>``: none of it can pass for a heading of ours or end the page's structure.
"""

from __future__ import annotations

from collections.abc import Iterator
from datetime import datetime

from rekal.app.read_ledger import ShownSession
from rekal.app.transfer.markdown_words import escape_inline, mark_code, quote_text
from rekal.model import ToolCall, Turn
from rekal.plain_text import clean_line
from rekal.recall.answer import Answer, Hit


def write_session_page(shown: ShownSession) -> str:
    """Return a session with all its turns, commits and tool calls."""
    return "\n".join(_session_lines(shown)) + "\n"


def write_answer_page(answer: Answer, reason: str) -> str:
    """Return an answer with its sessions and passages; ``reason`` is the sentence for a silent one."""
    return "\n".join(_answer_lines(answer, reason)) + "\n"


def _session_lines(shown: ShownSession) -> Iterator[str]:
    one = shown.session
    yield f"# {escape_inline(one.title or one.id)}"
    yield ""
    whose = "" if one.origin == "local" else f", from {escape_inline(one.origin)}"
    who = f"{escape_inline(one.agent)} for {escape_inline(one.author_name)}"
    yield f"Session `{one.id}` of {who}, {_day(one.started_at)}{whose}."
    if shown.checkpoints:
        yield ""
        for commit in shown.checkpoints:
            yield f"- commit `{commit.git_sha[:10]}` {_day(commit.committed_at)}: {escape_inline(commit.subject or '')}"
    for turn in one.turns:
        yield from _turn_lines(turn, [call for call in one.tool_calls if call.turn_seq == turn.seq])


def _turn_lines(turn: Turn, calls: list[ToolCall]) -> Iterator[str]:
    yield ""
    when = f", {turn.occurred_at:%Y-%m-%d %H:%M} UTC" if turn.occurred_at else ""
    yield f"## {turn.seq} {turn.role}{when}"
    yield ""
    yield from quote_text(turn.content)
    if calls:
        yield ""
    for call in calls:
        about = " ".join(clean_line(call.command or call.path or "").split())
        yield f"- {escape_inline(call.tool)} {mark_code(about)}{' (error)' if call.outcome == 'error' else ''}".rstrip()


def _answer_lines(answer: Answer, reason: str) -> Iterator[str]:
    yield f"# {escape_inline(answer.question)}"
    yield ""
    yield f"**{answer.verdict}**{f': {escape_inline(reason)}' if answer.verdict == 'SILENCE' else ''}"
    for memory in answer.memories or ():
        because = f", because {escape_inline(memory.because)}" if memory.because else ""
        yield ""
        yield f"- {memory.label} {_day(memory.occurred_at)}: {escape_inline(memory.text)}{because}"
    for hit in answer.sessions:
        yield from _hit_lines(hit)
    for chunk in answer.documents or ():
        yield ""
        sender = f", from {escape_inline(chunk.sender)}" if chunk.sender else ""
        yield f"## {mark_code(chunk.location)}"
        yield ""
        yield f"Document, {_day(chunk.occurred_at)}{sender}."
        yield ""
        yield from quote_text(chunk.text)
    for passage in answer.knowledge:
        yield ""
        yield f"## {mark_code(f'{passage.path}:{passage.start}-{passage.end}')}"
        yield ""
        yield from quote_text(passage.text)


def _hit_lines(hit: Hit) -> Iterator[str]:
    yield ""
    yield f"## {escape_inline(hit.title or hit.session_id)}"
    yield ""
    led = f", led to `{hit.commit[:10]}` {escape_inline(hit.subject or '')}".rstrip() if hit.commit else ""
    whose = f"{escape_inline(hit.agent)} for {escape_inline(hit.author_name)}"
    yield f"Session `{hit.session_id[:10]}` of {whose}, {_day(hit.started_at)}{led}."
    for row in hit.rows:
        yield ""
        yield f"{row.role}, turn {row.seq}:"
        yield ""
        yield from quote_text(row.text)


def _day(when: datetime | None) -> str:
    return f"{when:%Y-%m-%d}" if when else "undated"
