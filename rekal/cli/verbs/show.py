"""``rekal show``."""

from __future__ import annotations

from collections.abc import Iterator

import click

from rekal.app import read_ledger
from rekal.app.context import find_app, is_for_agent, parse_handle
from rekal.app.read_ledger import ShownSession
from rekal.cli.output import (
    format_day,
    format_minute,
    format_name,
    format_origin,
    json_option,
    one_line,
    print_line,
    print_note,
    print_record,
    short_id,
)
from rekal.cli.verbs.hosts.web import page_path, show_page
from rekal.errors import FOUND, NOTHING_FOUND, UsageError
from rekal.plain_text import clean_text, fence_lines


@click.command("show")
@click.argument("handle")
@click.option("-n", "--limit", type=click.IntRange(1), default=40, show_default=True, help="Turns printed at most.")
@click.option("-o", "--offset", type=click.IntRange(0), default=0, show_default=True, help="First turn printed.")
@click.option(
    "--context",
    type=click.IntRange(0),
    default=3,
    show_default=True,
    help="Turns before and after a turn given as ID:TURN.",
)
@click.option("--full", is_flag=True, help="Whole turns, and the tool calls with them.")
@click.option("--web", is_flag=True, help="Print the address of its web page; the page is served when it is not yet.")
@json_option
def command(handle: str, limit: int, offset: int, context: int, full: bool, web: bool, as_json: bool) -> int:
    """A session, one turn of it with its neighbours, or the sessions of a commit.

    HANDLE is a session's id or the first characters of it, ID:TURN, or the name of a commit; of a commit's
    sessions the turns that led to it are shown.
    """
    app = find_app()
    name, marked = parse_handle(handle)
    if not name:
        raise UsageError("there is no session to show", "`rekal sessions` lists them; write ID, ID:TURN or a commit")
    if marked is not None:
        offset, limit = max(0, marked - context), 2 * context + 1
    answers = read_ledger.show_sessions(app, name, offset, limit)
    if web and answers:
        show_page(app, page_path(name, answers[0].session.id, marked))
        return FOUND
    if not answers:
        print_line(f"(there is no session or commit with a session called {name}; `rekal sessions` lists them)")
        return NOTHING_FOUND
    if marked is not None and marked >= answers[0].total_turns:
        total = answers[0].total_turns
        print_line(f"(session {short_id(answers[0].session.id)} has {total} turns, 0 to {total - 1})")
        return NOTHING_FOUND
    try:
        read_ledger.note_opened(app, answers)
    except OSError as error:  # a store that cannot be written is read, too
        print_note(f"this was not noted ({error.strerror})")
    agent = is_for_agent(app.env)

    def lines(shown: ShownSession) -> Iterator[str]:
        told = _lines(shown, marked, full)
        return fence_lines(told, "words of a past session") if agent else told

    for answer in answers:
        print_record(answer, as_json, lines)
    return FOUND


def _lines(answer: ShownSession, marked: int | None, full: bool) -> Iterator[str]:
    s = answer.session
    whose = format_origin(s.origin, answer.signatures)
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
        head = f"{mark} {short_id(s.id)}:{turn.seq} {format_minute(turn.occurred_at)} {turn.role}:"
        if not full:
            yield f"{head} {one_line(turn.content, 400)}"
            continue
        yield head
        yield from _body_lines(turn.content)
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


def _body_lines(text: str) -> Iterator[str]:
    """Yield a text of several lines behind a gutter: none of its lines can be taken for one of ours."""
    for line in clean_text(text).split("\n"):
        yield f"    | {line}".rstrip()
