"""``rekal show``."""

from __future__ import annotations

from collections.abc import Iterator

import click

from rekal.app import read_ledger
from rekal.app.context import find_app
from rekal.app.desk import is_for_agent
from rekal.app.read_ledger import ShownSession
from rekal.cli.output import (
    body_lines,
    fence_lines,
    format_day,
    format_minute,
    format_name,
    json_option,
    one_line,
    print_line,
    print_record,
    short_id,
)
from rekal.errors import FOUND, NOTHING_FOUND, UsageError


@click.command("show")
@click.argument("handle")
@click.option("-n", "--limit", default=40, show_default=True, help="Turns printed at most.")
@click.option("-o", "--offset", default=0, show_default=True, help="First turn printed.")
@click.option("--context", default=3, show_default=True, help="Turns before and after a turn given as SESSION#TURN.")
@click.option("--full", is_flag=True, help="Whole turns, and the tool calls with them.")
@json_option
def command(handle: str, limit: int, offset: int, context: int, full: bool, as_json: bool) -> int:
    """A session, one turn of it with its neighbours, or the sessions of a commit.

    HANDLE is a session's id or the first characters of it, SESSION#TURN, or the name of a commit.
    """
    app = find_app()
    name, _, turn = handle.partition("#")
    if turn and not turn.isdigit():
        raise UsageError(f"{handle} is not a session and a turn", "write SESSION#TURN, for example 7f3a9c#41")
    if turn:
        offset, limit = max(0, int(turn) - context), 2 * context + 1
    answers = read_ledger.show_sessions(app, name, offset, limit)
    if not answers:
        print_line(f"(nothing is known as {name})")
        return NOTHING_FOUND
    marked = int(turn) if turn else None
    agent = is_for_agent(app)

    def lines(shown: ShownSession) -> Iterator[str]:
        told = _lines(shown, marked, full)
        return fence_lines(told, "words of a past session") if agent else told

    for answer in answers:
        print_record(answer, as_json, lines)
    return FOUND


def _lines(answer: ShownSession, marked: int | None, full: bool) -> Iterator[str]:
    s = answer.session
    whose = "" if s.origin == "local" else f"  from {s.origin}"
    who = f"{format_name(s.agent)}  {format_day(s.started_at)}  {format_name(s.author_name)}"
    yield f"{s.id}  {who}  {format_name(s.branch)}{whose}"
    if s.title:
        yield f"  {one_line(s.title, 100)}"
    for c in answer.checkpoints[:10]:
        yield f"  commit {c.git_sha[:10]}  {format_day(c.committed_at)}  {one_line(c.subject or '', 80)}"
    if len(answer.checkpoints) > 10:
        yield f"  (+{len(answer.checkpoints) - 10} more commits)"
    for turn in s.turns:
        mark = ">" if turn.seq == marked else " "
        head = f"{mark} t{turn.seq} {format_minute(turn.occurred_at)} {turn.role}:"
        if not full:
            yield f"{head} {one_line(turn.content, 400)}"
            continue
        yield head
        yield from body_lines(turn.content)
        for call in s.tool_calls:
            if call.turn_seq == turn.seq:
                failed = "  (error)" if call.outcome == "error" else ""
                yield f"      {format_name(call.tool)} {one_line(call.command or call.path or '', 160)}{failed}"
    for child in answer.children[:20]:
        yield f"  sub-agent {short_id(child)}"
    if len(answer.children) > 20:
        yield f"  (+{len(answer.children) - 20} more sub-agents)"
    if answer.truncated:
        after = (s.turns[-1].seq + 1) if s.turns else 0
        yield f"({answer.total_turns} turns in all; rekal show {short_id(s.id)} -o {after} goes on)"
