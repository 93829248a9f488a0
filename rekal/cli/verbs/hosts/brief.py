"""``rekal brief``."""

from __future__ import annotations

from collections.abc import Iterator

import click

from rekal.app.context import find_app
from rekal.app.hosts.brief import Brief, BriefMemory, BriefSession, make_brief
from rekal.cli.output import format_day, json_option, one_line, print_record, short_id
from rekal.errors import FOUND, NOTHING_FOUND


@click.command("brief")
@click.option("-n", "--limit", type=click.IntRange(1, 50), default=3, show_default=True, help="Sessions shown at most.")
@json_option
def command(limit: int, as_json: bool) -> int:
    """Hand over: what the last sessions on this branch did, what was decided, what is open.

    A branch without a session yet shows those of all branches.
    """
    app = find_app()
    app.require_store()
    brief = make_brief(app, sessions=limit)
    print_record(brief, as_json, brief_lines)
    return FOUND if brief.did or brief.decided else NOTHING_FOUND


def brief_lines(brief: Brief) -> Iterator[str]:
    """Lines of a hand-over."""
    yield f"on {brief.branch or 'a detached HEAD'}"
    if not brief.did and not brief.decided:
        yield "nothing is known yet"
    for session in brief.did:
        yield from _session_lines(session)
    for memory in brief.decided:
        yield from _memory_lines(memory)
    for sentence in brief.open:
        yield f"open: {sentence}"


def _session_lines(one: BriefSession) -> Iterator[str]:
    who = one.author_name if one.origin == "local" else f"{one.author_name}, teammate"
    yield (
        f"{format_day(one.last_at)}  {short_id(one.session_id)}  {one.agent} for {who}  "
        f"{one.branch or '-'}  {one.turns} turns"
    )
    yield f'  asked: "{one_line(one.asked, 220)}"'
    if one.came_to:
        yield f'  came to: "{one_line(one.came_to, 220)}"'
    for commit in one.commits:
        yield f"  commit {one_line(commit, 90)}"


def _memory_lines(one: BriefMemory) -> Iterator[str]:
    label = "RULED-OUT" if one.type == "dead_end" else "DECIDED"
    state = "" if one.state == "accepted" else f", {one.state}"
    yield f"{label} {one.id[:10]} ({one.actor}, {format_day(one.said_at)}{state}): {one_line(one.text, 220)}"
    for name, text in (("because", one.because), ("instead", one.instead), ("but", one.grounds)):
        if text:
            yield f"  {name}: {one_line(text, 220)}"
